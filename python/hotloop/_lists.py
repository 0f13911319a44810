"""Lists of names: environments, specs, algorithms."""

from __future__ import annotations

from . import _hotloop


def envs() -> list[str]:
    """Names of the environments: the engine's and those loaded in this process."""
    return [name for name, _ in _hotloop.envs()]


def specs() -> list[str]:
    """Names of the ready-made specs."""
    return [name for name, _ in _hotloop.specs()]


def algorithms() -> list[str]:
    """Names of the algorithms."""
    return list(_hotloop.algorithms())
