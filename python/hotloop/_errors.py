"""The exceptions: a bad request, a failure while running, Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._hotloop import RunError, UsageError

if TYPE_CHECKING:
    from ._run import Run

# Their public names.
UsageError.__module__ = RunError.__module__ = "hotloop"

__all__ = ["Interrupted", "RunError", "UsageError"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during training. Everything is saved; ``hotloop.resume(error.run)`` continues."""

    def __init__(self, run: Run, again: str = "") -> None:
        """again: further arguments that ``resume`` needs in another process."""
        super().__init__(
            f"stopped; everything is saved. Continue with: hotloop.resume({run.folder!r}{again})"
        )
        self.run, self._again = run, again

    def __reduce__(self) -> tuple[type, tuple[Run, str]]:  # for pickle, which would pass the message only
        return type(self), (self.run, self._again)
