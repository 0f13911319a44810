"""The fact sheet of an engine environment as Gymnasium spaces, and its options as text."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from ._errors import UsageError


def observation_space(spec: dict[str, Any]) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (spec["obs"],), np.float32)


def action_space(spec: dict[str, Any]) -> gymnasium.Space[Any]:
    if spec["actions"] > 0:
        return spaces.Discrete(spec["actions"])
    low = np.array(spec["action_low"], dtype=np.float32)
    high = np.array(spec["action_high"], dtype=np.float32)
    return spaces.Box(low, high, dtype=np.float32)


def option_texts(options: dict[str, Any]) -> list[tuple[str, str]]:
    """Options in the syntax of a spec: words, numbers, true and false."""
    texts = []
    for name, value in options.items():
        if isinstance(value, (bool, np.bool_)):
            text = "true" if value else "false"
        elif isinstance(value, (int, float, np.number, str)):
            text = str(value)
        else:
            raise UsageError(
                f"env.options.{name}: found a {type(value).__name__}; allowed: numbers and words"
            )
        texts.append((name, text))
    return texts


def check_render_mode(mode: Any, modes: list[str], name: str) -> None:
    if mode is not None and mode not in modes:
        allowed = ", ".join(repr(m) for m in modes) if modes else "none, it cannot be drawn"
        raise UsageError(f"render_mode is {mode!r}; allowed for {name}: {allowed}")


def engine_seed(generator: np.random.Generator) -> int:
    """A seed for the engine's streams."""
    return int(generator.integers(0, 2**63))
