"""Training and resuming."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Optional, Union

from . import _hotloop
from ._demonstrations import Demonstrations, with_demonstrations
from ._errors import Interrupted, UsageError
from ._isolate import timeout_of
from ._overrides import override_list, plain
from ._progress import Progress
from ._run import Run
from ._source import (
    EnvLike,
    Spec,
    ensure_registered,
    isolation_keys,
    on_main_thread,
    request,
    stand_in,
)

Callback = Callable[[dict], Any]


def train(
    spec: Spec,
    *,
    env: Optional[EnvLike] = None,
    eval_env: Optional[EnvLike] = None,
    steps: Optional[int] = None,
    seed: Optional[int] = 0,
    demonstrations: Optional[Demonstrations] = None,
    callback: Optional[Callback] = None,
    progress: bool = True,
    out: Union[str, "os.PathLike[str]", None] = None,
    trust: bool = False,
    isolate: Union[bool, float] = False,
    **overrides: Any,
) -> Run:
    """Trains an agent and returns the finished run.

    spec: the name of a ready-made spec (``hotloop.specs()``), the path of a YAML file, or a dict; or the
        name of an algorithm (``hotloop.algorithms()``) for its general settings, which needs ``env``.
    env: the environment to train on instead of the spec's: one of ``hotloop.envs()``, a C++ file
        (``corridor.cpp``), a Gymnasium id, a function that makes an environment, a
        ``gymnasium.vector.VectorEnv``, an EnvPool id (``envpool:HalfCheetah-v4``) or an EnvPool. With
        general settings and ready-made specs, Python environments are evaluated over 20 episodes unless
        ``evaluation={"episodes": ...}`` says otherwise.
    eval_env: makes the environments for evaluation, if ``env`` is a vector environment that cannot be
        copied, or an EnvPool.
    steps, seed: of the run; ``seed=None`` uses the spec's seed.
    demonstrations: transitions that are in the replay memory before training: a file that ``Run.record``
        wrote, or a Minari data set or its id.
    callback: called with each row of the metrics, a dict; returning False saves and stops the run.
    progress: whether to show a line of progress on standard error.
    out: the folder in which the run folder is created; default: ``runs``.
    trust: whether code that the spec names, but you did not, may run without a question (docs/trust.md).
    isolate: runs the environment, a Python one or one from a C++ file, in its own process, so that it can
        neither crash nor hang the trainer; a number is the seconds that one call may take (True: 60).
    overrides: keys of the spec, ``algo={"batch": 64}`` or ``**{"algo.batch": 64}``; ``env_count=8`` is env.count.

    The interpreter lock is released while training. Ctrl-C saves and raises ``hotloop.Interrupted``,
    whose ``.run`` can be resumed. A bad request raises ``hotloop.UsageError``.
    """
    parent = os.path.abspath("runs" if out is None else out)  # an environment may change the working folder
    asked = request(spec, env, eval_env, overrides, steps=steps, seed=seed, isolate=isolate, trust=trust)
    hooks = _Hooks(callback, progress)
    with _hotloop.TrustAll(trust), with_demonstrations(demonstrations, asked):
        result, stopped = hooks.drive(
            lambda: _hotloop.train(asked, parent, hooks.progress, hooks.warning, hooks.row, on_main_thread())
        )
    return _finish(result, stopped)


def resume(
    run: Union[Run, str, "os.PathLike[str]"],
    *,
    env: Optional[EnvLike] = None,
    eval_env: Optional[EnvLike] = None,
    steps: Optional[int] = None,
    checkpoint: Union[str, "os.PathLike[str]", None] = None,
    callback: Optional[Callback] = None,
    progress: bool = True,
    trust: bool = False,
    isolate: Union[bool, float, None] = None,
    **overrides: Any,
) -> Run:
    """Continues a run, or the run in a folder, from its newest checkpoint, as if it had never stopped.

    env: the environment again, if it was a function or a vector environment and this is another process. Only
        the returned run uses it, to evaluate and to resume.
    steps: a new total, to train longer. overrides: keys of the groups run and evaluation.
    trust: whether code in a folder that was not made here may run without a question (docs/trust.md).
    isolate: as for ``train``; None: as the run was trained.
    """
    folder = os.path.abspath(run.folder if isinstance(run, Run) else run)
    name, timeout = _hotloop.run_env(folder)
    plays = run._plays if isinstance(run, Run) else ""
    if isolate is not None:
        timeout = timeout_of(isolate)
    if env is not None:
        plays = stand_in(name, env, eval_env, timeout)
    elif not plays:
        ensure_registered(name, trust, timeout)
    settings = override_list(overrides)
    if isolate is not None:
        settings += isolation_keys(timeout) or ["env.isolate=false"]
    if steps is not None:
        settings.append(f"run.steps={json.dumps(plain(steps, 'steps'))}")
    hooks = _Hooks(callback, progress)
    with _hotloop.TrustAll(trust):
        result, stopped = hooks.drive(
            lambda: _hotloop.resume(
                folder,
                settings,
                None if checkpoint is None else os.fspath(checkpoint),
                plays,
                hooks.progress,
                hooks.warning,
                hooks.row,
                on_main_thread(),
            )
        )
    return _finish(result, stopped, plays)


class _Hooks:
    """The functions that the engine calls during training."""

    def __init__(self, callback: Optional[Callback], progress: bool) -> None:
        if callback is not None and not callable(callback):
            raise UsageError(f"callback: a {type(callback).__name__} cannot be called")
        self._line = Progress() if progress else None
        self.progress = self._line
        self.warning = self._line.warn if self._line is not None else None
        self.row = None if callback is None else (lambda row: _continues(callback(json.loads(row))))

    def drive(self, run: Callable[[], tuple[str, bool]]) -> tuple[str, bool]:
        try:
            return run()
        finally:
            if self._line is not None:
                self._line.clear()


def _continues(answer: Any) -> bool:
    """Whether a callback wants to continue: None means yes, and NumPy's False counts as False."""
    return answer is None or bool(answer)


def _finish(result: str, stopped: bool, plays: str = "") -> Run:
    values = json.loads(result)
    run = Run(values["run_dir"], values)
    run._plays = plays
    if stopped and values["interrupted"]:
        raise Interrupted(run, ", env=..." if _hotloop.run_env(run.folder)[0].startswith("python:") else "")
    return run
