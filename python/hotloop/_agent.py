"""A trained agent: observations in, actions out, as NumPy arrays."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np

from . import _hotloop
from ._encoding import box, combination, encode
from ._errors import UsageError


@dataclass(frozen=True)
class Evaluation:
    """Episodes that an agent played."""

    returns: np.ndarray  # of each episode
    lengths: np.ndarray
    finished: np.ndarray  # False where evaluation.max_steps cut it short
    measures: dict[str, float]  # means of the environment's measures, by name

    @property
    def mean(self) -> float:
        return float(self.returns.mean())

    @property
    def std(self) -> float:
        return float(self.returns.std())

    @property
    def interval(self) -> tuple[float, float]:
        """A 95 % confidence interval of the mean, assuming normal returns."""
        n = len(self.returns)
        half = 1.96 * float(self.returns.std(ddof=1)) / n**0.5 if n > 1 else float("inf")
        return self.mean - half, self.mean + half

    def __repr__(self) -> str:
        return (
            f"Evaluation(mean={self.mean:.4g}, std={self.std:.4g}, episodes={len(self.returns)}, "
            f"mean_length={self.lengths.mean():.4g})"
        )


@dataclass(frozen=True)
class Categorical:
    """A policy over discrete actions: p(a | s), [N, actions] or, for one observation, [actions]."""

    probabilities: np.ndarray
    log_probabilities: np.ndarray


@dataclass(frozen=True)
class Gaussian:
    """A policy over continuous actions, before they are squashed into their bounds: [N, size] or, for one
    observation, [size]."""

    mean: np.ndarray
    std: np.ndarray


class Agent:
    """A trained model. All methods are thread-safe.

    Observations are what the environment returns, one or a batch of them. For the engine's environments that
    is [inputs] or [N, inputs], or a dict of their named parts; for Gymnasium environments, whatever their
    space defines. Results have the same number of rows, and no row axis for a single observation.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], which: str = "best") -> None:
        if which not in ("best", "latest"):
            raise UsageError(f"which is {which!r}; allowed: 'best', 'latest'")
        self._agent = _hotloop.Agent(os.fspath(path), which)
        self._facts: dict[str, Any] = json.loads(self._agent.env_facts or "{}")
        self._notes: dict[str, Any] = self._facts.get("notes", {})
        self._plays = ""  # engine name of the environment to evaluate on, if not its own

    @property
    def path(self) -> str:
        """The model file."""
        return self._agent.path

    @property
    def spec(self) -> str:
        """The spec used for training, as YAML."""
        return self._agent.spec

    @property
    def env(self) -> str:
        """The name of its environment."""
        return self._agent.env

    @property
    def algorithm(self) -> str:
        return self._agent.algorithm

    @property
    def env_steps(self) -> int:
        """The number of env steps in training."""
        return self._agent.env_steps

    @property
    def inputs(self) -> int:
        """The number of floats in an observation."""
        return self._agent.inputs

    @property
    def actions(self) -> int:
        """The number of discrete actions, or the dimensions of a continuous one."""
        return self._agent.actions

    def act(
        self,
        obs: Any,
        deterministic: bool = True,
        mask: Any = None,
        seed: Optional[int] = None,
    ) -> Any:
        """Actions for observations: int64 [N] if they are discrete, float32 [N, size] if they are continuous,
        [N, choices] for MultiDiscrete; for a single observation, its action.

        deterministic: the action with the largest value or probability, or the mean. False samples from the
        policy; agents that learn values or a deterministic policy have none to sample from.
        mask: [N, actions], nonzero where a discrete action is allowed; required if the environment has masks.
        seed: for sampling; None gives different samples at each call.
        """
        rows, single = self._rows(obs)
        if not deterministic and not self._agent.is_policy:
            raise UsageError(
                f"deterministic=False: this agent was trained by {self.algorithm}, which learns "
                + (
                    "values, not a policy to sample from; mix in random actions yourself if you need them"
                    if self._agent.has_values
                    else "a deterministic policy; add noise to its actions yourself if you need it"
                )
            )
        draw = None
        if not deterministic:
            draw = int(np.random.default_rng().integers(0, 2**63)) if seed is None else int(seed)
        actions: Any = self._agent.act(rows, self._mask(mask, rows, single), draw)
        if "action_choices" in self._notes:
            actions = combination(self._notes["action_choices"], actions[:, 0])
            return actions[0] if single else actions
        if not self._agent.is_box:
            actions = actions[:, 0] + self._notes.get("action_start", 0)
            return int(actions[0]) if single else actions
        actions = actions.reshape(-1, *self._notes.get("action_shape", [self.actions]))
        return actions[0] if single else actions

    def q_values(self, obs: Any) -> np.ndarray:
        """Q(s, a) [N, actions], in the unit of the environment's rewards."""
        if not self._agent.has_values:
            raise UsageError(
                f"q_values: this agent was trained by {self.algorithm}, which learns a policy; "
                + ("see distribution()" if self._agent.is_policy else "see act()")
            )
        rows, single = self._rows(obs)
        values = self._agent.preferences(rows, None)
        return values[0] if single else values

    def distribution(self, obs: Any, mask: Any = None) -> Union[Categorical, Gaussian]:
        """The policy's distribution over actions."""
        if not self._agent.is_policy:
            raise UsageError(
                f"distribution: this agent was trained by {self.algorithm}, which learns "
                + (
                    "values; see q_values()"
                    if self._agent.has_values
                    else "a deterministic policy; see act()"
                )
            )
        rows, single = self._rows(obs)
        numbers = self._agent.preferences(rows, self._mask(mask, rows, single))
        if single:
            numbers = numbers[0]
        if self._agent.is_box:
            return Gaussian(numbers[..., : self.actions], np.exp(numbers[..., self.actions :]))
        return Categorical(np.exp(numbers), numbers)

    def evaluate(
        self,
        episodes: int = 100,
        seed: Optional[int] = None,
        deterministic: bool = True,
        *,
        env: Any = None,
        trust: bool = False,
    ) -> Evaluation:
        """Plays episodes in the engine. ``seed=None`` uses the episode starts of the evaluations in training.

        env: another environment, for this call only. A function or vector environment must be given again in
        another process.
        trust: whether the environment's code may run without a question if it was not made here
        (docs/trust.md). Loading a model and ``act`` never run it.
        """
        return self._play("", episodes, seed, deterministic, env, trust)

    def record(
        self,
        path: Union[str, "os.PathLike[str]"],
        episodes: int = 100,
        seed: Optional[int] = None,
        deterministic: bool = True,
        *,
        env: Any = None,
        trust: bool = False,
    ) -> Evaluation:
        """The same, and writes the transitions of the episodes to a file, for
        ``hotloop.train(..., demonstrations=path)``."""
        return self._play(os.fspath(path), episodes, seed, deterministic, env, trust)

    def _play(
        self, record: str, episodes: int, seed: Optional[int], deterministic: bool, env: Any, trust: bool
    ) -> Evaluation:
        from ._source import ensure_registered, stand_in

        plays = self._plays if env is None else stand_in(self.env, env)
        if not plays:
            ensure_registered(self.env, trust)
        try:
            with _hotloop.TrustAll(trust):
                returns, lengths, finished, measures = self._agent.evaluate(
                    episodes, seed, not deterministic, plays, record
                )
        finally:
            if env is not None:
                from ._worlds import forget

                forget(plays)
        return Evaluation(
            np.array(returns, np.float64),
            np.array(lengths, np.int64),
            np.array(finished, np.bool_),
            dict(measures),
        )

    def __repr__(self) -> str:
        return f"Agent({self.path!r}, {self.algorithm} on {self.env}, {self.env_steps} env steps)"

    def _rows(self, obs: Any) -> tuple[np.ndarray, bool]:
        """Observations as float32 [N, inputs], and whether there was a single one."""
        rows, single = encode(self._parts(isinstance(obs, Mapping)), obs)
        return np.ascontiguousarray(rows), single

    def _parts(self, named: bool) -> list[dict[str, Any]]:
        """How observations are encoded. The engine's environments return rows, or dicts of named parts."""
        if "observation" in self._notes:
            return self._notes["observation"]
        parts = self._facts.get("parts", [])
        if not named:
            return [box((self.inputs,), None)]
        if not parts:
            raise UsageError("observations: found a dict; this environment has no named parts")
        shapes = [tuple(extent for extent in part["shape"] if extent > 0) for part in parts]
        return [{"key": part["name"], **box(shape, None)} for part, shape in zip(parts, shapes)]

    def _mask(self, mask: Any, rows: np.ndarray, single: bool) -> Optional[np.ndarray]:
        if mask is None:
            if self._facts.get("mask", False):
                raise UsageError(
                    f"mask: {self.env} has action masks, and this agent was trained with them; "
                    'give mask=info["action_mask"], or all ones to allow every action'
                )
            return None
        if self._agent.is_box:
            raise UsageError("mask: this agent's actions are continuous; only discrete ones can be masked")
        array = np.asarray(mask)
        shape = (self.actions,) if single else (len(rows), self.actions)
        if array.shape != shape:
            raise UsageError(f"mask has shape {array.shape}; allowed: {shape}")
        flags = np.ascontiguousarray(np.atleast_2d(array != 0), dtype=np.uint8)
        if not flags.any(axis=1).all():
            row = int(np.argmin(flags.any(axis=1)))
            raise UsageError(f"mask: row {row} allows no action at all")
        return flags


def load(path: Union[str, "os.PathLike[str]"], which: str = "best") -> Agent:
    """The agent of a run folder (its best model, or ``which="latest"``) or of a model file."""
    return Agent(path, which)
