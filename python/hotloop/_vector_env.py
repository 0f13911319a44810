"""The engine's environments as a Gymnasium vector environment, zero-copy and safe.

The engine writes each step directly into the NumPy arrays that ``step`` returns. It never overwrites arrays
that are still referenced: a step uses a set of arrays without other references, or a new one.
"""

from __future__ import annotations

import sys
from typing import Any, Optional

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from . import _hotloop
from ._errors import UsageError
from ._spaces import action_space, check_render_mode, engine_seed, observation_space, option_texts

_FRAMES_PER_SECOND = 30
_MAX_BUFFERS = 8  # sets kept for reuse; further ones are freed when the caller drops them


class _Buffers:
    """Sets of arrays for results: observations, rewards, terminated, truncated."""

    def __init__(self, rows: int, width: int) -> None:
        self._rows, self._width = rows, width
        self._sets: list[tuple[np.ndarray, ...]] = []
        self._next = 0
        self._unheld = _references(self._new())

    def _new(self) -> tuple[np.ndarray, ...]:
        return (
            np.empty((self._rows, self._width), np.float32),
            np.empty(self._rows, np.float32),
            np.empty(self._rows, np.bool_),
            np.empty(self._rows, np.bool_),
        )

    def take(self) -> tuple[np.ndarray, ...]:
        """A set that only this pool refers to."""
        for buffers in self._sets:
            if _references(buffers) == self._unheld:
                return buffers
        buffers = self._new()
        if len(self._sets) < _MAX_BUFFERS:
            self._sets.append(buffers)
        else:
            self._sets[self._next] = buffers
            self._next = (self._next + 1) % _MAX_BUFFERS
        return buffers


def _references(buffers: tuple[np.ndarray, ...]) -> tuple[int, ...]:
    """Reference counts, including those of this call; compare them only with other results of it."""
    count = sys.getrefcount
    return (count(buffers[0]), count(buffers[1]), count(buffers[2]), count(buffers[3]))


class HotloopVectorEnv(VectorEnv):
    """``num_envs`` copies of an environment that the engine steps together.

    A row resets in the step in which its episode ends (``AutoresetMode.SAME_STEP``). Where episodes ended,
    infos have ``final_obs`` and ``final_info`` as in Gymnasium's SyncVectorEnv, with the return and length of
    the episode and the environment's measures. If the environment has masks, infos have ``action_mask`` for
    all rows. Otherwise they are empty.

    Rewards are float32, as in the engine. Only one thread at a time may use it.
    """

    def __init__(
        self,
        name: str,
        num_envs: int = 1,
        *,
        render_mode: Optional[str] = None,
        threads: int = 1,
        **options: Any,
    ) -> None:
        for key, value in (("num_envs", num_envs), ("threads", threads)):
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
                raise UsageError(f"{key}: found {value!r}; allowed: an integer, 1 or more")
        num_envs, threads = int(num_envs), int(threads)
        self._batch = _hotloop.Batch(name, option_texts(options), num_envs, threads)
        self.engine_spec: dict[str, Any] = self._batch.spec
        drawable = self._batch.picture(0) is not None
        self.metadata = {
            "autoreset_mode": AutoresetMode.SAME_STEP,
            "render_modes": ["rgb_array", "ansi"] if drawable else [],
            "render_fps": _FRAMES_PER_SECOND,
        }
        check_render_mode(render_mode, self.metadata["render_modes"], name)
        self.render_mode = render_mode
        self.num_envs = num_envs
        self.single_observation_space = observation_space(self.engine_spec)
        self.single_action_space = action_space(self.engine_spec)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._has_mask: bool = self.engine_spec["has_mask"]
        self._measures: list[str] = self.engine_spec["measures"]
        self._buffers = _Buffers(num_envs, self.engine_spec["obs"])
        self._started = False

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[dict[str, Any]] = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Starts the first episode of all rows. One seed is enough: each row has its own random streams."""
        if seed is not None and not isinstance(seed, (int, np.integer)):
            raise UsageError(
                f"seed: found a {type(seed).__name__}; allowed: one integer for all rows, or None"
            )
        if options is not None and "reset_mask" in options:
            raise UsageError(
                "reset_mask: rows reset themselves (AutoresetMode.SAME_STEP) and cannot be reset one by one"
            )
        super().reset(seed=None if seed is None else int(seed))
        buffers = self._buffers.take()
        first = int(seed) if seed is not None else engine_seed(self.np_random)
        self._batch.reset(first, *buffers)
        self._started = True
        infos: dict[str, Any] = {}
        self._add_masks(infos)
        return buffers[0], infos

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        if not self._started:
            raise UsageError("step before reset: call reset() first")
        buffers = self._buffers.take()
        ended = self._batch.step(np.ascontiguousarray(actions), *buffers)
        infos: dict[str, Any] = {}
        if ended:
            infos = self._infos_of_ended(buffers[2] | buffers[3])
        self._add_masks(infos)
        obs, rewards, terminated, truncated = buffers
        return obs, rewards, terminated, truncated, infos

    def _add_masks(self, infos: dict[str, Any]) -> None:
        if self._has_mask:
            infos["action_mask"] = self._batch.mask()
            infos["_action_mask"] = np.ones(self.num_envs, np.bool_)

    def _infos_of_ended(self, ended: np.ndarray) -> dict[str, Any]:
        rows, observations, returns, lengths, measures, masks = self._batch.ended()
        final_obs = np.full(self.num_envs, None, dtype=object)
        for row, obs in zip(rows.tolist(), observations):
            final_obs[row] = obs

        def column(values: np.ndarray) -> np.ndarray:
            all_rows = np.zeros((self.num_envs, *values.shape[1:]), values.dtype)
            all_rows[rows] = values
            return all_rows

        episode = {"r": column(returns), "l": column(lengths), "_r": ended, "_l": ended.copy()}
        info: dict[str, Any] = {"episode": episode, "_episode": ended.copy()}
        for name, values in zip(self._measures, measures.T):
            info[name], info["_" + name] = column(values), ended.copy()
        if masks is not None:
            info["action_mask"], info["_action_mask"] = column(masks), ended.copy()
        return {
            "final_obs": final_obs,
            "_final_obs": ended.copy(),
            "final_info": info,
            "_final_info": ended.copy(),
        }

    def render(self) -> Optional[tuple[Any, ...]]:
        """A picture of every row: arrays [height, width, 3] or, as "ansi", text in colours."""
        if self.render_mode is None:
            raise UsageError("render: no render_mode was given when the environment was made")
        draw = self._batch.picture if self.render_mode == "rgb_array" else self._batch.text
        return tuple(draw(row) for row in range(self.num_envs))


def make(name: str, num_envs: int = 1, **options: Any) -> HotloopVectorEnv:
    """``num_envs`` copies of an engine environment as a Gymnasium vector environment.

    name: one of ``hotloop.envs()``, or the path of a C++ file, ``corridor.cpp``.
    options: of the environment; also ``threads`` and ``render_mode``.
    """
    return HotloopVectorEnv(name, num_envs, **options)
