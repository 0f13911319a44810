"""One of the engine's environments as a Gymnasium environment."""

from __future__ import annotations

from typing import Any, Optional

import gymnasium
import numpy as np

from . import _hotloop
from ._errors import UsageError
from ._spaces import action_space, check_render_mode, engine_seed, observation_space, option_texts

_FRAMES_PER_SECOND = 30


class HotloopEnv(gymnasium.Env):
    """An environment of the engine. ``truncated`` is the engine's own time limit.

    Infos have the environment's measures, by name, when an episode ends, and ``action_mask`` if it has masks.
    """

    # The default; an environment that cannot be drawn has no render modes.
    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": _FRAMES_PER_SECOND}

    def __init__(self, name: str, *, render_mode: Optional[str] = None, **options: Any) -> None:
        self._world = _hotloop.Single(name, option_texts(options))
        self.engine_spec: dict[str, Any] = self._world.spec
        if self._world.picture() is None:
            self.metadata = {"render_modes": [], "render_fps": _FRAMES_PER_SECOND}
        check_render_mode(render_mode, self.metadata["render_modes"], name)
        self.render_mode = render_mode
        self.observation_space = observation_space(self.engine_spec)
        self.action_space = action_space(self.engine_spec)
        self._discrete: bool = self.engine_spec["actions"] > 0
        self._has_mask: bool = self.engine_spec["has_mask"]
        self._playing = False

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[dict[str, Any]] = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        obs = np.empty(self.engine_spec["obs"], np.float32)
        self._world.reset(seed if seed is not None else engine_seed(self.np_random), obs)
        self._playing = True
        return obs, {"action_mask": self._world.mask()} if self._has_mask else {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if not self._playing:
            raise UsageError("step: no episode is running; call reset() first")
        obs = np.empty(self.engine_spec["obs"], np.float32)
        given = np.ascontiguousarray(action)
        # The engine takes a batch of one action.
        given = given.reshape(1) if self._discrete and given.size == 1 else given[None]
        reward, terminated, truncated = self._world.step(given, obs)
        info: dict[str, Any] = {}
        if terminated or truncated:
            self._playing = False
            info = dict(zip(self.engine_spec["measures"], self._world.measures()))
        if self._has_mask:
            info["action_mask"] = self._world.mask()
        return obs, reward, terminated, truncated, info

    def render(self) -> Any:
        """An array [height, width, 3] or, as "ansi", text in colours."""
        if self.render_mode is None:
            raise UsageError("render: no render_mode was given when the environment was made")
        return self._world.picture() if self.render_mode == "rgb_array" else self._world.text()

    def get_state(self) -> bytes:
        """The complete state: the bytes of the C++ world, then its step and its seed."""
        return self._world.state()

    def set_state(self, state: bytes) -> np.ndarray:
        """Continues from a state and returns the observation. The bytes of the world alone are accepted, too."""
        obs = np.empty(self.engine_spec["obs"], np.float32)
        self._world.set_state(bytes(state), obs)
        self._playing = True
        return obs
