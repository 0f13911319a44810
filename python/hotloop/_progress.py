"""A progress line: updated in place on a terminal, a new line every few seconds elsewhere."""

from __future__ import annotations

import math
import shutil
import sys
import time
from typing import Any, Optional, TextIO

_SECONDS_BETWEEN_LINES = 10.0


def short_number(value: float) -> str:
    """12345.6 -> "12.3k"; "-" if it is not finite."""
    if not math.isfinite(value):
        return "-"
    for factor, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3g}{unit}"
    return f"{value:.3g}"


class Progress:
    """Shows what the engine reports, at most ten times a second."""

    def __init__(self, stream: Optional[TextIO] = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._in_place = bool(getattr(self._stream, "isatty", lambda: False)())
        self._shown = False
        self._return = math.nan
        self._last = (0.0, 0, 0)
        self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES

    def __call__(self, state: dict[str, Any]) -> None:
        if not math.isnan(state["exploring_return"]):
            self._return = state["exploring_return"]
        if not self._in_place:
            if time.monotonic() < self._next_line:
                return
            self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
        text = self.text(state)
        if self._in_place:
            columns = shutil.get_terminal_size().columns
            self._write("\r\x1b[K" + text[: columns - 1])
            self._shown = True
        else:
            self._write(text + "\n")

    def text(self, state: dict[str, Any]) -> str:
        seconds, steps, updates = self._last
        elapsed = max(state["seconds"] - seconds, 1e-9)
        share = state["share"]
        left = state["seconds"] * (1 - share) / max(share, 1e-9)
        self._last = (state["seconds"], state["env_steps"], state["updates"])
        text = (
            f"{share:4.0%}  {short_number(state['env_steps'])} steps"
            f"  return {short_number(self._return)}"
            f" (greedy {short_number(state['greedy_return'])})"
            f"  {short_number((state['env_steps'] - steps) / elapsed)} steps/s"
            f"  {short_number((state['updates'] - updates) / elapsed)} updates/s"
            f"  {left:.0f} s left"
        )
        if state["python_share"] > 0.01:
            text += f"  {state['python_share']:.0%} in Python"
        return text

    def warn(self, text: str) -> None:
        self.clear()
        self._write(f"warning: {text}\n")

    def clear(self) -> None:
        if self._shown:
            self._write("\r\x1b[K")
            self._shown = False

    def _write(self, text: str) -> None:
        # A closed stream must not end a run.
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            pass
