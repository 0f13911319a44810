"""Drivers, which the engine calls to step Gymnasium environments.

A driver steps all rows in one call and writes the results into arrays that view the engine's memory.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from typing import Any, Callable, Optional

import numpy as np

from . import _encoding
from ._errors import RunError, UsageError
from ._interface import Observations, import_gymnasium, start_of

ALWAYS_LOOKS, RARELY_LOOKS = 1000, 64  # vector steps: which observations are compared with their space


class _Driver:
    """The engine's arrays that a driver reads and writes; [N] or [N, ...]."""

    def __init__(self, name: str, space: Any, action_space: Any) -> None:
        self._name = name
        self._observations = Observations(space)
        self._write = self._observations.write
        self._looks = 0  # vector steps so far, until an observation was outside its space
        self._multi_discrete = hasattr(action_space, "nvec")
        self._discrete = hasattr(action_space, "n") or self._multi_discrete
        self._start = int(action_space.start) if hasattr(action_space, "n") else 0
        self._action_shape = action_space.shape
        self._action_dtype = action_space.dtype
        if self._multi_discrete:
            choices = _encoding.choices(action_space.nvec, start_of(action_space))
            self._combine = functools.partial(_encoding.combination, choices)

    def bind(
        self,
        obs: np.ndarray,
        final_obs: np.ndarray,
        rewards: np.ndarray,
        terminated: np.ndarray,
        truncated: np.ndarray,
        mask: Optional[np.ndarray],
        final_mask: Optional[np.ndarray],
        seeds: np.ndarray,
        actions: np.ndarray,
    ) -> None:
        self._all_obs = obs
        self._obs = list(obs)  # a view of each row
        self._all_final_obs = final_obs
        self._final_obs = list(final_obs)
        self._rewards, self._terminated, self._truncated = rewards, terminated, truncated
        self._mask, self._final_mask = mask, final_mask
        self._seeds, self._actions = seeds, actions

    def begin(self) -> None:
        """Begins an episode in every row, with its seed."""
        raise NotImplementedError

    def rewind(self, first_seeds: list[int], episodes: list[int]) -> bool:
        """Begins in every row the episode of number `episodes[row]` again; returns whether it can.

        The row's seed is that of this episode; its episode 0 had `first_seeds[row]`.
        """
        self.begin()
        return True

    def _look(self) -> None:
        """Warns once of observations outside their space. Looks at every vector step at first, then rarely."""
        self._looks += 1
        if self._looks > ALWAYS_LOOKS and self._looks % RARELY_LOOKS:
            return
        problem = self._observations.outside(self._all_obs)
        if problem is None:
            return
        self._look = lambda: None  # type: ignore[method-assign]
        warnings.warn(
            f"{self._name}: {problem}. Training continues with it; hotloop.check looks for more", stacklevel=2
        )

    def _to_env_actions(self, actions: np.ndarray) -> Any:
        """Converts the engine's actions to what the environments take."""
        if not self._discrete:
            return np.asarray(actions).reshape(-1, *self._action_shape).astype(self._action_dtype)
        if self._multi_discrete:
            return self._combine(actions)
        numbers = actions.tolist()
        return [number + self._start for number in numbers] if self._start else numbers

    def _write_mask(self, row: int, info: dict[str, Any]) -> None:
        mask = info.get("action_mask")
        if self._mask is None:
            if self._discrete and mask is not None:
                raise UsageError(
                    "info has an action_mask, which the first reset did not have; give one there too"
                )
        elif mask is None:
            raise UsageError(
                f"row {row}: info has no action_mask, which it had before; give one at every step"
            )
        else:
            self._mask[row] = _as_flags(mask, self._mask.shape[1], row)

    def _write_final_mask(self, row: int, info: dict[str, Any]) -> None:
        if self._final_mask is None:
            return
        mask = info.get("action_mask")  # optional at the end of an episode
        self._final_mask[row] = 1 if mask is None else _as_flags(mask, self._final_mask.shape[1], row)

    def close(self) -> None:
        pass


def _as_flags(given: Any, width: int, row: int) -> np.ndarray:
    mask = np.asarray(given)
    if mask.shape != (width,):
        raise UsageError(f"row {row}: action_mask has shape {mask.shape}; expected ({width},)")
    return mask != 0


def _with_note(error: Exception, where: str) -> Exception:
    if hasattr(error, "add_note"):  # Python 3.11
        error.add_note(where)
    return error


def seeded_reset(env: Any, seed: int) -> Any:
    try:
        return env.reset(seed=seed)
    except TypeError as error:
        if "unexpected keyword argument 'seed'" not in str(error):
            raise
        raise UsageError(
            f"env: reset of {type(env.unwrapped).__name__} takes no seed; Gymnasium's interface asks for "
            "reset(self, *, seed=None, options=None), which begins with super().reset(seed=seed)"
        ) from error


def not_a_step(result: Any) -> UsageError:
    found = f"{len(result)} values" if isinstance(result, (tuple, list)) else f"a {type(result).__name__}"
    return UsageError(
        f"env: step returned {found}; Gymnasium's interface asks for five: (observation, reward, terminated, "
        "truncated, info). The old done becomes terminated if the episode ended by itself, and truncated if a "
        "time limit ended it"
    )


_NUMBERS = (float, int, np.number, np.bool_)


def number_of(reward: Any) -> Any:
    """The reward as a number; refuses anything else. An array without dimensions is a number."""
    if isinstance(reward, _NUMBERS):
        return reward
    array = np.asarray(reward)
    if array.ndim == 0 and array.dtype.kind in "fiub":
        return array.item()
    found = f"an array of shape {array.shape}" if isinstance(reward, np.ndarray) else repr(reward)
    raise UsageError(
        f"env: step returned the reward {found}; Gymnasium's interface asks for one number, a float"
    )


in_use: Any = weakref.WeakSet()  # environments that a driver steps


def claim(env: Any) -> Any:
    """Marks an environment as in use and returns it; refuses one that another driver already steps."""
    if env.unwrapped in in_use:
        raise UsageError(
            "env: the function returned the same environment twice; it must make a new one at every call"
        )
    in_use.add(env.unwrapped)
    return env


class EnvDriver(_Driver):
    """Single environments, stepped in turn. Each episode has its own seed."""

    def __init__(self, make: Callable[[], Any], count: int) -> None:
        self.envs = [claim(make()) for _ in range(count)]
        first = self.envs[0]
        super().__init__(type(first.unwrapped).__name__, first.observation_space, first.action_space)
        self._steps = [env.step for env in self.envs]

    def _begin_row(self, row: int) -> None:
        obs, info = seeded_reset(self.envs[row], int(self._seeds[row]))
        self._write(self._obs[row], obs)
        self._write_mask(row, info)

    def begin(self) -> None:
        for row in range(len(self.envs)):
            try:
                self._begin_row(row)
            except Exception as error:
                raise _with_note(error, f"in the first reset of row {row}")
        self._look()

    def step(self) -> None:
        actions = self._to_env_actions(self._actions)
        self._terminated.fill(0)
        self._truncated.fill(0)
        rewards, write, masked = self._rewards, self._write, self._mask is not None
        for row, step in enumerate(self._steps):
            try:
                result = step(actions[row])
                try:
                    obs, reward, terminated, truncated, info = result
                except (TypeError, ValueError):
                    raise not_a_step(result) from None
                if not isinstance(reward, _NUMBERS):
                    reward = number_of(reward)
                rewards[row] = reward
                if terminated or truncated:
                    self._terminated[row] = terminated
                    self._truncated[row] = truncated
                    write(self._final_obs[row], obs)
                    self._write_final_mask(row, info)
                    self._begin_row(row)
                else:
                    write(self._obs[row], obs)
                    if masked or "action_mask" in info:
                        self._write_mask(row, info)
            except Exception as error:
                raise _with_note(error, f"in the environment of row {row}, with action {actions[row]}")
        self._look()

    def repeat(self, row: int, actions: np.ndarray) -> Optional[float]:
        """Replays the actions of an episode; returns the sum of rewards, or None if it ended early."""
        total = 0.0
        for action in self._to_env_actions(actions):
            obs, reward, terminated, truncated, info = self._steps[row](action)
            if terminated or truncated:
                return None
            total += float(np.float32(reward))  # rounded as in the engine
            self._write(self._obs[row], obs)
            self._write_mask(row, info)
        return total

    def close(self) -> None:
        for env in self.envs:
            in_use.discard(env.unwrapped)
            env.close()


class VectorDriver(_Driver):
    """A vector environment, with any of the three autoreset modes."""

    def __init__(self, env: Any, count: int) -> None:
        if env.unwrapped in in_use:
            raise UsageError("env: another run is training on this vector environment")
        self.env = env
        if count != env.num_envs:
            raise UsageError(
                f"env: a vector environment of {env.num_envs} rows; the spec has env.count: {count}"
            )
        super().__init__(type(env.unwrapped).__name__, env.single_observation_space, env.single_action_space)
        mode = autoreset_mode(env)
        self._same_step = mode == "SAME_STEP"
        self._many_seeds = takes_reset_mask(env)
        self._row_of = _rows_of(env.single_observation_space)
        in_use.add(env.unwrapped)

    def close(self) -> None:
        in_use.discard(self.env.unwrapped)

    def _write_rows(self, obs: Any, infos: dict[str, Any], rows: Any) -> None:
        masked = self._mask is not None or "action_mask" in infos
        for row in rows:
            self._write(self._obs[row], self._row_of(obs, row))
            if masked:
                self._write_mask(row, _row_info(infos, row))

    def _call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:  # from AsyncVectorEnv's pipes
            raise RunError(
                f"env: a worker process of {type(self.env.unwrapped).__name__} died{self._dead_workers()}: it was "
                "killed (out of memory?), crashed in native code, or called os._exit. Run the same environments in "
                "a SyncVectorEnv to see where"
            ) from error

    def _dead_workers(self) -> str:
        processes = getattr(self.env.unwrapped, "processes", [])
        for process in processes:  # the pipe closes a moment before the process ends
            process.join(timeout=0.1)
        dead = [(row, p.exitcode) for row, p in enumerate(processes) if p.exitcode is not None]
        return "".join(f", row {row} with exit code {code}" for row, code in dead)

    def begin(self) -> None:
        seeds = [int(seed) for seed in self._seeds]
        obs, infos = self._call(self.env.reset, seed=seeds if self._many_seeds else seeds[0])
        self._write_rows(obs, infos, range(len(self._obs)))
        self._look()

    def step(self) -> None:
        self._step()
        self._look()

    def _step(self) -> None:
        actions = np.asarray(self._to_env_actions(self._actions))
        obs, rewards, terminated, truncated, infos = self._call(self.env.step, actions)
        self._rewards[:] = rewards
        self._terminated[:] = terminated
        self._truncated[:] = truncated
        ended = np.logical_or(terminated, truncated)
        if not ended.any():
            return self._write_rows(obs, infos, range(len(self._obs)))
        for row in np.flatnonzero(ended):
            final = infos["final_obs"][row] if self._same_step else self._row_of(obs, row)
            self._write(self._final_obs[row], final)
            self._write_final_mask(
                row, _row_info(infos.get("final_info", {}) if self._same_step else infos, row)
            )
        self._write_rows(obs, infos, range(len(self._obs)) if self._same_step else np.flatnonzero(~ended))
        if not self._same_step:
            seeds = [int(seed) if over else None for seed, over in zip(self._seeds, ended)]
            obs, infos = self._call(
                self.env.reset, seed=seeds if self._many_seeds else None, options={"reset_mask": ended}
            )
            self._write_rows(obs, infos, np.flatnonzero(ended))

    def repeat(self, row: int, actions: np.ndarray) -> Optional[float]:
        return None  # one row cannot be stepped without the others


def _rows_of(space: Any) -> Callable[[Any, int], Any]:
    """A function that extracts one row of a vector environment's observations."""
    spaces = import_gymnasium().spaces
    if isinstance(space, spaces.Dict):
        return lambda obs, row: {key: values[row] for key, values in obs.items()}
    if isinstance(space, spaces.Tuple):
        return lambda obs, row: tuple(values[row] for values in obs)
    return lambda obs, row: obs[row]


def _row_info(infos: dict[str, Any], row: int) -> dict[str, Any]:
    known = "action_mask" in infos and infos.get("_action_mask", np.ones(row + 1, bool))[row]
    return {"action_mask": infos["action_mask"][row]} if known else {}


def autoreset_mode(env: Any) -> str:
    """NEXT_STEP, SAME_STEP or DISABLED; the default is NEXT_STEP, as in Gymnasium."""
    mode = env.metadata.get("autoreset_mode", "NEXT_STEP")
    return (
        str(getattr(mode, "name", mode))
        .upper()
        .replace("NEXTSTEP", "NEXT_STEP")
        .replace("SAMESTEP", "SAME_STEP")
    )


def takes_reset_mask(env: Any) -> bool:
    vector = import_gymnasium().vector
    return isinstance(env.unwrapped, (vector.SyncVectorEnv, vector.AsyncVectorEnv))
