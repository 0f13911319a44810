"""Training and resuming."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from typing import Any, Callable, Optional, Union

from . import _hotloop
from ._errors import Interrupted, UsageError
from ._overrides import override_list, plain
from ._progress import Progress
from ._run import Run

Spec = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Callback = Callable[[dict], Any]


def train(
    spec: Spec,
    *,
    env: Optional[str] = None,
    steps: Optional[int] = None,
    seed: Optional[int] = 0,
    callback: Optional[Callback] = None,
    progress: bool = True,
    out: Union[str, "os.PathLike[str]", None] = None,
    **overrides: Any,
) -> Run:
    """Trains an agent and returns the finished run.

    spec: the name of a ready-made spec (``hotloop.specs()``), the path of a YAML file, or a dict.
    env: the environment to train on instead of the spec's.
    steps, seed: of the run; ``seed=None`` takes the spec's own seed.
    callback: called with each row of the metrics, a dict; returning False saves and stops the run.
    progress: whether to show a line of progress on standard error.
    out: the folder in which the run's own folder is made; ``runs`` if it is None.
    overrides: keys of the spec, ``algo={"batch": 64}`` or ``**{"algo.batch": 64}``.

    The interpreter lock is released while training. Ctrl-C saves and raises ``hotloop.Interrupted``,
    whose ``.run`` can be resumed. A bad request raises ``hotloop.UsageError``.
    """
    name, text = _spec_source(spec)
    settings = override_list(overrides)
    if env is not None:
        settings.insert(0, f"env.name={json.dumps(env)}")
    if steps is not None:
        settings.append(f"run.steps={json.dumps(plain(steps, 'steps'))}")
    if seed is not None:
        settings.append(f"run.seed={json.dumps(plain(seed, 'seed'))}")
    parent = "runs" if out is None else os.fspath(out)
    hooks = _Hooks(callback, progress)
    result, stopped = hooks.drive(
        lambda: _hotloop.train(
            name,
            text,
            settings,
            parent,
            hooks.progress,
            hooks.warning,
            hooks.row,
            None,
            _on_main_thread(),
        )
    )
    return _finish(result, stopped)


def resume(
    run: Union[Run, str, "os.PathLike[str]"],
    *,
    steps: Optional[int] = None,
    checkpoint: Union[str, "os.PathLike[str]", None] = None,
    callback: Optional[Callback] = None,
    progress: bool = True,
    **overrides: Any,
) -> Run:
    """Goes on with a run, or the run in a folder, from its newest checkpoint, as if nothing had happened.

    steps: a new total, to train longer. overrides: keys of the groups run and evaluation.
    """
    folder = run.folder if isinstance(run, Run) else os.fspath(run)
    settings = override_list(overrides)
    if steps is not None:
        settings.append(f"run.steps={json.dumps(plain(steps, 'steps'))}")
    hooks = _Hooks(callback, progress)
    result, stopped = hooks.drive(
        lambda: _hotloop.resume(
            folder,
            settings,
            None if checkpoint is None else os.fspath(checkpoint),
            hooks.progress,
            hooks.warning,
            hooks.row,
            _on_main_thread(),
        )
    )
    return _finish(result, stopped)


class _Hooks:
    """What the engine calls while it trains."""

    def __init__(self, callback: Optional[Callback], progress: bool) -> None:
        if callback is not None and not callable(callback):
            raise UsageError(f"callback: a {type(callback).__name__} cannot be called")
        self._line = Progress() if progress else None
        self.progress = self._line
        self.warning = self._line.warn if self._line is not None else None
        self.row = None if callback is None else (lambda row: callback(json.loads(row)) is not False)

    def drive(self, run: Callable[[], tuple[str, bool]]) -> tuple[str, bool]:
        try:
            return run()
        finally:
            if self._line is not None:
                self._line.clear()


def _spec_source(spec: Spec) -> tuple[str, Optional[str]]:
    """A name or path; or what to call a text, and the text. JSON is YAML."""
    if isinstance(spec, Mapping):
        text = json.dumps(plain(spec, "spec"), indent=1)
        return str(spec.get("name", "python")), text
    try:
        return os.fspath(spec), None
    except TypeError:
        raise UsageError(
            f"spec: a {type(spec).__name__} is no spec; allowed: the name of a ready-made one, "
            "the path of a YAML file, a dict"
        ) from None


def _on_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _finish(result: str, stopped: bool) -> Run:
    values = json.loads(result)
    run = Run(values["run_dir"], values)
    if stopped and values["interrupted"]:
        raise Interrupted(run)
    return run
