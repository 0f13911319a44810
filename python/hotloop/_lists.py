"""What there is, by name."""

from __future__ import annotations

from . import _hotloop


def envs() -> list[str]:
    """Names of the environments: those of the engine and those that were loaded since."""
    return [name for name, _ in _hotloop.envs()]


def specs() -> list[str]:
    """Names of the ready-made specs."""
    return [name for name, _ in _hotloop.specs()]


def algorithms() -> list[str]:
    """Names of the algorithms."""
    return list(_hotloop.algorithms())
