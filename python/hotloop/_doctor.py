"""Where the time of a training run goes, and what would help."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, Iterator, Optional, Union

from . import _hotloop
from ._source import EnvLike, Spec, on_main_thread, request


class Report(Mapping):
    """A report: a mapping with the content of ``--json``. Printing it shows the text of the command."""

    def __init__(self, text: str, values: str) -> None:
        self._text = text
        self._values: dict[str, Any] = json.loads(values)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text


def profile(
    spec: Spec,
    *,
    env: Optional[EnvLike] = None,
    eval_env: Optional[EnvLike] = None,
    seconds: float = 5,
    seed: Optional[int] = None,
    html: Union[str, "os.PathLike[str]"] = "",
    trace: Union[str, "os.PathLike[str]"] = "",
    trust: bool = False,
    **overrides: Any,
) -> Report:
    """Trains for some seconds and reports where the time goes; Python environments are listed as "python".

    html, trace: files to write, a page for the browser and a trace for Perfetto. The rest is as in ``train``.
    """
    asked = request(spec, env, eval_env, overrides, seed=seed, trust=trust)
    with _hotloop.TrustAll(trust):
        return Report(*_hotloop.profile(asked, seconds, os.fspath(html), os.fspath(trace), on_main_thread()))


def doctor(
    spec: Spec,
    *,
    env: Optional[EnvLike] = None,
    minutes: float = 3,
    seed: Optional[int] = None,
    progress: bool = True,
    trust: bool = False,
    **overrides: Any,
) -> Report:
    """Profiles, tries remedies side by side and checks that they still learn; Ctrl-C ends it early.

    It needs many environments at a time, so ``env`` must be a name or a function, not an existing environment.
    """
    asked = request(spec, env, None, overrides, seed=seed, trust=trust)

    def show(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    with _hotloop.TrustAll(trust):
        return Report(*_hotloop.doctor(asked, minutes, show if progress else None, on_main_thread()))
