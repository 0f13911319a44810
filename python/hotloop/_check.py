"""Finds mistakes in a Python environment before you train on it.

Gymnasium's own checker tests the interface. Random play, which obeys masks, then finds what shows only
later: values outside their space, episodes that never end, seeds that have no effect.
"""

from __future__ import annotations

import json
import re
import warnings
from typing import Any, Callable

import numpy as np
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import VectorEnv

from . import _encoding
from ._doctor import Report
from ._drivers import not_a_step, number_of, seeded_reset
from ._envpool import is_id, is_pool
from ._errors import UsageError
from ._interface import start_of
from ._worlds import facts_of, maker

MAX_SHOWN = 5  # entries of an observation per kind of problem
MAX_REPEATED = 200  # steps of an episode that are replayed, to see whether the seed determines them


def check(env: Any, steps: int = 1000) -> Report:
    """Looks for mistakes in an environment: a Gymnasium id or a function that makes one.

    Returns a report. Print it, or read it as a mapping: ``problems`` and ``gymnasium`` (the messages of
    Gymnasium's ``check_env``) are lists of sentences. Exceptions from the environment are listed, too.
    """
    if is_id(env) or is_pool(env):
        raise UsageError("env: an EnvPool; hotloop.check looks at single Python environments")
    if isinstance(env, VectorEnv):
        raise UsageError("env: a vector environment; check one of the single environments in it")
    if steps < 1:
        raise UsageError(f"steps is {steps}; allowed: 1 or more")
    name, make = maker(env)
    name = name.split(":", 1)[1].split("@")[0]
    messages = _gymnasium_messages(make)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # already collected above
        play = _Play(make, steps)
    problems = list(dict.fromkeys([*_training_problems(make, name), *play.problems()]))
    values = {
        "env": name,
        "problems": problems,
        "gymnasium": messages,
        "steps": play.steps,
        "episodes": len(play.lengths),
    }
    count = {0: "nothing found", 1: "1 problem"}.get(len(problems), f"{len(problems)} problems")
    lines = [f"{name}: {play.summary()}: {count}", *(f"  - {text}" for text in problems)]
    if messages:
        lines += ["Gymnasium's check_env says:", *(f"  - {text}" for text in messages)]
    return Report("\n".join(lines), json.dumps(values))


def _messages_of(body: Callable[[], Any]) -> list[str]:
    """The warnings and the exception of a call, as sentences."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        raised = []
        try:
            body()
        except Exception as error:
            raised = [_sentence(error)]
    texts = [re.sub(r"\x1b\[[0-9;]*m|WARN: ", "", str(warning.message)).strip() for warning in caught]
    return list(dict.fromkeys(texts + raised))


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"


def _gymnasium_messages(make: Callable[[], Any]) -> list[str]:
    messages = _messages_of(lambda: check_env(make(), skip_render_check=True))
    return [
        text for text in messages if "different from the unwrapped version" not in text
    ]  # wrappers are fine here


def _training_problems(make: Callable[[], Any], name: str) -> list[str]:
    return _messages_of(lambda: facts_of(make, name))


class _Play:
    """Random play, and the problems it found."""

    def __init__(self, make: Callable[[], Any], steps: int) -> None:
        self.steps = 0
        self.lengths: list[int] = []
        self._found: dict[str, str] = {}  # the first problem of each kind at each place
        self._reported: dict[tuple[str, str], np.ndarray] = {}  # entries of a Box that are in _found
        self._first: list[tuple[Any, Any, float]] = []  # action, observation, reward of the first episode
        self._random = np.random.default_rng(0)
        try:
            env = make()
            self._space, self._actions = env.observation_space, env.action_space
            self._actions.seed(0)
            self._play(env, steps)
            limit = getattr(env.spec, "max_episode_steps", None)
            if not self.lengths and (limit is None or limit <= steps):
                self._find(
                    "ends",
                    f"no episode ended within {steps} steps of random play; give it a limit, such as "
                    "gymnasium.wrappers.TimeLimit(env, max_episode_steps=...)",
                )
            for what, again in (("the same environment", env), ("a new one", make())):
                self._repeat(again, what)
                again.close()
        except Exception as error:
            self._find("raised", f"at step {self.steps}: {_sentence(error)}")

    def problems(self) -> list[str]:
        kinds: dict[str, list[str]] = {}
        for key, text in self._found.items():
            kinds.setdefault(key.split(":")[0], []).append(text)
        shown = []
        for texts in kinds.values():
            more = len(texts) - MAX_SHOWN
            shown += texts[:MAX_SHOWN] + ([f"and {more} more entries like the last"] if more > 0 else [])
        return shown

    def summary(self) -> str:
        if not self.lengths:
            return f"{self.steps} steps"
        spread = " to ".join(map(str, sorted({min(self.lengths), max(self.lengths)})))
        return f"{self.steps} steps, {len(self.lengths)} episode{'s' * (len(self.lengths) > 1)} of {spread} steps"

    def _find(self, key: str, text: str) -> None:
        self._found.setdefault(key, text)

    def _play(self, env: Any, steps: int) -> None:
        obs, info = seeded_reset(env, 0)
        self._look(self._space, obs, "observation")
        self._first.append((None, _copy(obs), 0.0))
        length = 0
        while self.steps < steps:
            action = self._choose(info)
            obs, reward, over, info = _step(env, action)
            self.steps, length = self.steps + 1, length + 1
            self._look(self._space, obs, "observation")
            if not np.isfinite(reward):
                self._find("reward", f"reward: {reward} at step {self.steps}, which is not finite")
            if not self.lengths and length <= MAX_REPEATED:
                self._first.append((action, _copy(obs), reward))
            if over:
                self.lengths.append(length)
                length = 0
                obs, info = seeded_reset(env, len(self.lengths))
                self._look(self._space, obs, "observation")

    def _choose(self, info: dict[str, Any]) -> Any:
        mask = info.get("action_mask")
        if mask is None or not isinstance(self._actions, (spaces.Discrete, spaces.MultiDiscrete)):
            return self._actions.sample()
        if not np.any(mask):
            raise UsageError("action_mask allows no action at all")
        number = self._random.choice(np.flatnonzero(mask))
        if isinstance(self._actions, spaces.Discrete):
            return self._actions.start + number
        choices = _encoding.choices(self._actions.nvec, start_of(self._actions))
        return _encoding.combination(choices, np.array([number]))[0]

    def _look(self, space: Any, value: Any, what: str) -> None:
        """Checks an observation, or a part of it."""
        if isinstance(space, (spaces.Dict, spaces.Tuple)):
            inner = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
            for key, part in inner:
                self._look(part, value[key], f"{what}[{key!r}]")
        elif isinstance(space, spaces.Box):
            self._look_at_box(space, np.asarray(value), what)
        elif not space.contains(value):
            self._find(
                f"outside:{what}", f"{what}: {value!r} at step {self.steps}, which is not in its {space}"
            )

    def _look_at_box(self, space: Any, array: np.ndarray, what: str) -> None:
        if array.shape != space.shape:
            return self._find(f"shape:{what}", f"{what}: shape {array.shape}; its Box has {space.shape}")
        if not np.can_cast(array.dtype, space.dtype, "same_kind"):
            example = array.reshape(-1)[0] if array.size else array
            self._find(
                f"dtype:{what}", f"{what}: {array.dtype}, such as {example}, in a Box of {space.dtype}"
            )
        for kind, bad in (
            ("not finite", ~np.isfinite(array)),
            ("below its low", array < space.low),
            ("above its high", array > space.high),
        ):
            reported = self._reported.setdefault((kind, what), np.zeros(space.shape, bool))
            for index in map(tuple, np.argwhere(bad & ~reported)):
                reported[index] = True
                place = what + (f"[{', '.join(map(str, index))}]" if index else "")
                bound = {"below its low": space.low, "above its high": space.high}.get(kind)
                limit = "" if bound is None else f" {bound[index]}"
                text = f"{place}: {array[index]} at step {self.steps}, {kind}{limit}"
                self._find(f"{kind} {what}:{place}", text)

    def _repeat(self, env: Any, what: str) -> None:
        seen = seeded_reset(env, 0)[0], 0.0
        for step, (action, obs, reward) in enumerate(self._first):
            if step > 0:
                seen = _step(env, action)[:2]
            if not _equal(obs, seen[0]) or not np.array_equal(reward, seen[1], equal_nan=True):
                where = "observation" if not _equal(obs, seen[0]) else "reward"
                text = (
                    f"the same seed and actions gave a different {where} after {step} steps, in {what}; use "
                )
                return self._find("seed", text + "self.np_random, and reset all state in reset()")


def _step(env: Any, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
    result = env.step(action)
    try:
        obs, reward, terminated, truncated, info = result
    except (TypeError, ValueError):
        raise not_a_step(result) from None
    return obs, float(number_of(reward)), bool(terminated or truncated), info


def _copy(obs: Any) -> Any:
    """A copy, because environments may overwrite the arrays they returned."""
    if isinstance(obs, dict):
        return {key: _copy(part) for key, part in obs.items()}
    return tuple(map(_copy, obs)) if isinstance(obs, tuple) else np.array(obs)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")
