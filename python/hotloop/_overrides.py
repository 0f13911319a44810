"""Converts settings from Python values to the engine's overrides: ``"algo.batch=64"``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from . import _hotloop
from ._errors import UsageError


def plain(value: Any, place: str) -> Any:
    """The value as plain JSON: NumPy numbers and arrays, tuples and paths become plain Python types."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise UsageError(f"{place}: {value} is not a finite number")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise UsageError(f"{place}: the key {key!r} is not a string")
        return {key: plain(inner, f"{place}.{key}") for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner, f"{place}[{i}]") for i, inner in enumerate(value)]
    if hasattr(value, "tolist"):  # NumPy
        return plain(value.tolist(), place)
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    raise UsageError(
        f"{place}: a {type(value).__name__} cannot be part of a spec; "
        "allowed: numbers, strings, True, False, None, lists and dicts of them"
    )


def override_list(overrides: Mapping[str, Any]) -> list[str]:
    """``{"algo": {"batch": 64}}`` and ``{"algo.batch": 64}`` both become ``["algo.batch=64"]``.

    ``{"env_count": 8}`` becomes ``["env.count=8"]``, because ``env`` is the environment.
    """
    result: list[str] = []
    kinds = dict(_hotloop.keys())

    def is_value(key: str, value: Any) -> bool:
        """Branches, and schedules with a kind, are values; other mappings are groups of keys."""
        kind = kinds.get(key)
        return not value or kind == "branches" or (kind == "schedule" and "kind" in value)

    def add(key: str, value: Any) -> None:
        if isinstance(value, Mapping) and not is_value(key, value):
            for name, inner in value.items():
                add(f"{key}.{name}", inner)
        else:
            result.append(f"{key}={json.dumps(plain(value, key))}")

    for key, value in overrides.items():
        add("env." + key[4:] if key.startswith("env_") else key, value)
    return result
