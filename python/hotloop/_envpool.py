"""EnvPool environments, which are batches already: https://github.com/sail-sg/envpool.

A pool steps all rows in one call and returns arrays [N, ...], which are handed to the engine whole: no
Python runs per row. After the end of an episode, EnvPool's next step of that row ignores the action and
returns the first observation of the next episode, with reward 0 and elapsed_step 0: a step that is no
transition. So the rows that ended are reset within the same step (`reset(env_id)`), which draws the same
episode from the row's random stream, and every step of every row is a transition.

A pool is seeded once, when it is made; then each row draws its episodes one after the other. So episode k of
a row follows from the row's first seed and k resets.
"""

from __future__ import annotations

import difflib
import importlib
import json
import math
import warnings
from typing import Any, Optional

import numpy as np

from . import _hotloop
from ._drivers import _Driver, in_use
from ._errors import UsageError
from ._interface import Observations, action_facts, batch_writer, import_gymnasium, notes_of

PREFIX = "envpool:"  # of ids, and of their names in the engine
MASK = "legal_action_mask"  # in the infos, [N, actions]
MAX_RESETS = 1_000_000  # to find an episode again: the number of episodes comes from a file
INSTALL = "pip install 'envpool>=1' (wheels for Python 3.11 to 3.14)"


def is_id(env: Any) -> bool:
    return isinstance(env, str) and env.startswith(PREFIX)


def is_pool(env: Any) -> bool:
    """Whether `env` is an EnvPool object of any interface; does not import EnvPool."""
    return any(base.__module__ == "envpool.python.envpool" for base in type(env).__mro__)


class Pools:
    """Makes pools that differ in their number of rows and their seeds only."""

    def __init__(self, pool: Any, label: str) -> None:
        """pool: an example, which is not kept."""
        self.label = label
        with warnings.catch_warnings():  # EnvPool's bounds are in float64, and its spaces in float32
            warnings.filterwarnings("ignore", ".*precision lowered by casting")
            _refuse_unfit(pool, self.label)
            self.space, self.action_space = pool.observation_space, pool.action_space
        self.channels_first = _has_channels_first(self.space)
        if self.channels_first:  # convolutions expect rows, columns, channels
            low, high = (np.moveaxis(bound, 0, -1) for bound in (self.space.low, self.space.high))
            self.space = import_gymnasium().spaces.Box(low, high, dtype=self.space.dtype)
        self._type, self._spec_type, self._config = type(pool), type(pool.spec), pool.spec.config

    def make(self, seeds: list[int]) -> Any:
        """A pool with one row for each seed."""
        rows = len(seeds)
        config = self._config._replace(num_envs=rows, batch_size=rows, seed=seeds[0], env_seed=seeds)
        return self._type(self._spec_type(config))

    def facts(self, name: str) -> dict[str, Any]:
        """What the engine needs to know."""
        try:
            observations, actions = Observations(self.space), action_facts(self.action_space)
        except UsageError as error:
            raise UsageError(f"env: {self.label} of EnvPool: {error}") from None
        if self.channels_first:
            observations.encoding[0]["channels_first"] = True
        _, infos = self.make([0]).reset()
        threshold = getattr(self._config, "reward_threshold", None)
        return {
            "label": name.split("@")[0],
            "obs": observations.size,
            "parts": observations.parts,
            "mask": bool(actions["actions"]) and MASK in infos,
            "solved_return": math.nan if threshold is None else float(threshold),
            "notes": json.dumps(notes_of(observations, self.action_space)),
            **actions,
        }


def _has_channels_first(space: Any) -> bool:
    """Whether observations are images [channels, rows, columns], as EnvPool's are with few exceptions."""
    shape = getattr(space, "shape", None) or ()
    return isinstance(space, import_gymnasium().spaces.Box) and len(shape) == 3 and shape[0] < min(shape[1:])


def _refuse_unfit(pool: Any, label: str) -> None:
    gymnasium = import_gymnasium()
    if not isinstance(pool, gymnasium.Env):
        raise UsageError(
            f"env: a {label}, which has the dm_env interface; make it with envpool.make_gymnasium(...)"
        )
    config = pool.spec.config
    if "env_seed" not in config._fields:
        raise UsageError(f"env: a {label} of an EnvPool before 1.0, which has no seed per row: {INSTALL}")
    if pool.is_async:
        raise UsageError(
            f"env: an asynchronous {label} of EnvPool with num_envs={config.num_envs} and "
            f"batch_size={config.batch_size}; allowed: synchronous ones, which step all rows at a time. Leave "
            f"batch_size out: envpool.make_gymnasium(..., num_envs={config.num_envs})"
        )
    if config.max_num_players != 1:
        raise UsageError(f"env: {label} of EnvPool has {config.max_num_players} players; allowed: one")
    for what, spaces in (("observations", pool.observation_space), ("actions", pool.action_space)):
        if isinstance(spaces, gymnasium.spaces.Dict):
            raise UsageError(
                f"env: the {what} of {label} of EnvPool are a Dict of {', '.join(spaces)}; allowed: one array "
                "(Box, Discrete or MultiBinary). A Gymnasium environment may observe a Dict: "
                "env=lambda: gymnasium.make(...)"
            )


def pools_of(env: Any, argument: str = "env") -> Pools:
    """From an id with its prefix, or a pool."""
    if not is_id(env):
        if is_pool(env):
            return Pools(env, type(env).__name__.replace("GymnasiumEnvPool", ""))
        raise UsageError(
            f"{argument}: found a {type(env).__name__}; allowed: an EnvPool id, such as 'envpool:CartPole-v1', or "
            "an EnvPool object"
        )
    import_gymnasium()
    try:
        envpool = importlib.import_module("envpool")
    except ImportError as error:
        raise UsageError(f"{argument}: {env} needs EnvPool ({error}): {INSTALL}") from None
    _hotloop.trust_module("envpool")  # named by the user, or trusted already
    known_as = env[len(PREFIX) :]
    ids = envpool.list_all_envs()
    if known_as not in ids:
        near = difflib.get_close_matches(known_as, ids, n=1)
        hint = f"did you mean {PREFIX}{near[0]}? " if near else ""
        raise UsageError(
            f"{argument}: EnvPool has no environment {known_as}; {hint}(allowed: envpool.list_all_envs())"
        )
    try:
        return Pools(envpool.make_gymnasium(known_as, num_envs=1), known_as)
    except UsageError:
        raise
    except Exception as error:  # a system library or a file is missing
        raise UsageError(f"{argument}: EnvPool cannot make {known_as}: {error}") from error


class PoolDriver(_Driver):
    """A pool with the given number of rows."""

    def __init__(self, pools: Pools, count: int, own: Optional[Any] = None) -> None:
        """own: the user's pool, which keeps its seeds; without it, every begin makes a new one."""
        super().__init__(pools.label, pools.space, pools.action_space)
        self._pools, self._own, self._pool = pools, own, own
        write = batch_writer(pools.space)
        self._write_rows = write
        if pools.channels_first:
            self._write_rows = lambda rows, values: write(rows, np.moveaxis(values, 1, -1))
        if own is None:
            return
        if own in in_use:
            raise UsageError("env: another run is training on this EnvPool")
        if count != len(own):
            raise UsageError(f"env: an EnvPool of {len(own)} rows; the spec has env.count: {count}")
        warnings.warn(
            f"this EnvPool of {pools.label} keeps its own seeds, so the run's seed does not reach it; an id, such "
            "as env='envpool:CartPole-v1', is seeded by the run",
            stacklevel=2,
        )
        in_use.add(own)

    def begin(self) -> None:
        if self._own is None:
            self._pool = self._pools.make(self._seeds.tolist())
        self._reset(np.arange(len(self._seeds), dtype=np.int32))
        self._look()

    def rewind(self, first_seeds: list[int], episodes: list[int]) -> bool:
        if self._own is not None or max(episodes) > MAX_RESETS:
            return False
        self._pool = self._pools.make(first_seeds)
        remaining = np.array(episodes) + 1
        while (remaining > 0).any():
            self._reset(np.flatnonzero(remaining > 0).astype(np.int32))
            remaining -= 1
        return True

    def step(self) -> None:
        obs, rewards, terminated, truncated, infos = self._pool.step(self._to_env_actions(self._actions))
        self._write_rows(self._all_obs, obs)
        self._rewards[:] = rewards
        self._terminated[:] = terminated
        self._truncated[:] = truncated
        self._write_masks(self._mask, slice(None), infos)
        ended = np.flatnonzero(terminated | truncated).astype(np.int32)
        if ended.size:
            self._all_final_obs[ended] = self._all_obs[ended]
            self._write_masks(self._final_mask, ended, infos, ended)
            self._reset(ended)
        self._look()

    def repeat(self, row: int, actions: np.ndarray) -> Optional[float]:
        total, rows = 0.0, np.array([row], np.int32)
        for i in range(len(actions)):
            action = self._to_env_actions(actions[i : i + 1])
            obs, rewards, terminated, truncated, infos = self._pool.step(action, rows)
            if terminated[0] or truncated[0]:
                return None
            total += float(np.float32(rewards[0]))  # rounded as in the engine
            self._write_rows(self._all_obs[row : row + 1], obs)
            self._write_masks(self._mask, rows, infos)
        return total

    def close(self) -> None:
        if self._own is not None:
            in_use.discard(self._own)
        self._own = self._pool = None

    def _reset(self, rows: np.ndarray) -> None:
        """Begins the next episode of some rows."""
        obs, infos = self._pool.reset(rows)
        first = np.empty((rows.size, self._all_obs.shape[1]), np.float32)
        self._write_rows(first, obs)
        self._all_obs[rows] = first
        self._write_masks(self._mask, rows, infos)

    @staticmethod
    def _write_masks(to: Optional[np.ndarray], rows: Any, infos: dict[str, Any], of: Any = ...) -> None:
        if to is not None:
            to[rows] = infos[MASK][of] != 0

    def _to_env_actions(self, actions: np.ndarray) -> np.ndarray:
        """As an array; EnvPool converts its type."""
        return actions + self._start if self._discrete else super()._to_env_actions(actions)
