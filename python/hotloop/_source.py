"""Turns the user's spec, environment and settings into a request to the engine."""

from __future__ import annotations

import difflib
import json
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any, Callable, Optional, Union

from . import _hotloop
from ._errors import UsageError
from ._isolate import timeout_of
from ._overrides import override_list, plain

Spec = Union[str, "os.PathLike[str]", Mapping]
PYTHON_EVAL_EPISODES = 20  # default number per evaluation
EnvLike = Union[str, "os.PathLike[str]", Callable[[], Any], Any]


def request(
    spec: Spec,
    env: Optional[EnvLike],
    eval_env: Optional[EnvLike],
    overrides: Mapping,
    *,
    steps: Optional[int] = None,
    seed: Optional[int] = None,
    isolate: Union[bool, float] = False,
    trust: bool = False,
) -> Any:
    """The request from which the engine reads the spec; also registers the environment."""
    name, text = _spec_source(spec)
    if text is None:
        _check_spec_name(name)
        _hotloop.trust_named(name)
    settings = override_list(overrides)
    if steps is not None:
        settings.append(f"run.steps={json.dumps(plain(steps, 'steps'))}")
    if seed is not None:
        settings.append(f"run.seed={json.dumps(plain(seed, 'seed'))}")
    timeout = timeout_of(isolate)
    if env is None:
        asked = _hotloop.SpecRequest(name, text, None, settings + isolation_keys(timeout))
        with _hotloop.TrustAll(trust):
            world, timeout = _hotloop.spec_env(asked)
            ensure_registered(world, trust, timeout)
        return asked
    world, rows = engine_env(env, eval_env, timeout)
    _hotloop.trust_named(world)
    settings += isolation_keys(timeout)
    if rows is not None:
        settings.insert(0, f"env.count={rows}")
        if _hotloop.has_key(name, "algo.train_every"):
            settings.insert(1, f"algo.train_every={rows}")
    if ":" in world:
        _check_options(env, settings)
        # A hundred Python episodes would take longer than the training between evaluations.
        if name in _hotloop.algorithms() or name in dict(_hotloop.specs()):
            settings.insert(0, f"evaluation.episodes={PYTHON_EVAL_EPISODES}")
        if name in _hotloop.algorithms():
            settings.insert(0, f"name={json.dumps(run_name(world))}")
    return _hotloop.SpecRequest(name, text, world, settings)


def isolation_keys(timeout: Optional[float]) -> list[str]:
    """For an environment that runs in its own process; a Python one is already there, so this is for `resume`."""
    return [] if timeout is None else ["env.isolate=true", f"env.timeout_seconds={timeout}"]


def engine_env(
    env: EnvLike, eval_env: Optional[EnvLike] = None, timeout: Optional[float] = None
) -> tuple[str, Optional[int]]:
    """The engine's name for an environment, and its number of rows if that is fixed."""
    if isinstance(env, os.PathLike):
        env = os.fspath(env)
    if isinstance(env, str) and not env.startswith("envpool:"):
        if env.endswith((".cpp", ".so")) or env in dict(_hotloop.envs()):
            return env, None
    from ._worlds import register

    return register(env, eval_env=eval_env, timeout=timeout)


def is_python_env(name: str) -> bool:
    return name.startswith(("gymnasium:", "envpool:", "python:"))


def ensure_registered(name: str, trust: bool = False, timeout: Optional[float] = None) -> None:
    """Makes sure that the engine can play a run's environment, given by name.

    The name comes from a file. If it names a module, importing that runs code: see docs/trust.md.
    """
    if not is_python_env(name):
        return
    from ._worlds import isolated

    if _hotloop.can_play(name) and timeout in (None, isolated(name)):
        return
    if name.startswith("python:"):
        raise UsageError(
            f"env: the environment is {name}, which hotloop cannot make by itself; give it again, as env="
        )
    known_as = name.removeprefix("gymnasium:")
    module = known_as.rpartition(":")[0]
    if module and module not in sys.modules:
        with _hotloop.TrustAll(trust):
            _hotloop.require_module(module)
    engine_env(known_as, timeout=timeout)


def stand_in(
    name: str, env: EnvLike, eval_env: Optional[EnvLike] = None, timeout: Optional[float] = None
) -> str:
    """Registers `env`, to be played instead of the run's environment `name`, and returns its new name."""
    if not is_python_env(name):
        raise UsageError(f"env: this run is on {name}, which is built into hotloop; leave env out")
    from ._worlds import register

    return register(env, eval_env=eval_env, instead_of=name, timeout=timeout)[0]


def run_name(world: str) -> str:
    """A name for folders: letters, digits, and the separators allowed between them."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in world.split(":", 1)[1].split("@")[0])


def _spec_source(spec: Spec) -> tuple[str, Optional[str]]:
    """A name or path; or the name and text of a spec given as a dict. JSON is valid YAML."""
    if isinstance(spec, Mapping):
        text = json.dumps(plain(spec, "spec"), indent=1)
        return str(spec.get("name", "python")), text
    try:
        return os.fspath(spec), None
    except TypeError:
        raise UsageError(
            f"spec: a {type(spec).__name__} is not a spec; allowed: the name of a ready-made one, an algorithm, "
            "the path of a YAML file, a dict"
        ) from None


def _check_spec_name(name: str) -> None:
    """Refuses unknown names and lists the known ones, algorithms first; the engine checks paths."""
    known = [*_hotloop.algorithms(), *dict(_hotloop.specs()), *dict(_hotloop.envs())]
    if name in known or not name.replace("_", "").replace("-", "").isalnum() or os.path.exists(name):
        return
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)  # sac is not sfc
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UsageError(
        f"spec: {name} is unknown{hint}\nalgorithms: {', '.join(_hotloop.algorithms())}"
        f"\nready-made specs: {', '.join(dict(_hotloop.specs()))}"
    )


def _check_options(env: EnvLike, settings: list[str]) -> None:
    """Options of Python environments belong in the function that makes them."""
    known = dict(_hotloop.keys())
    for setting in settings:
        key, value = setting.split("=", 1)
        if key.startswith("env.") and key not in known:
            option = f"{key.rsplit('.', 1)[1]}={json.loads(value)!r}"
            raise UsageError(
                f"{key}: a Python environment gets its options where it is made: env={_made_with(env, option)}"
            )


def _made_with(env: EnvLike, option: str) -> str:
    """Code that makes an environment with an option, for messages."""
    if not isinstance(env, str):
        return f"lambda: MyEnv({option})"
    if env.startswith("envpool:"):
        return f"envpool.make_gymnasium({env.split(':', 1)[1]!r}, num_envs=8, {option})"
    return f"lambda: gymnasium.make({env!r}, {option})"


def on_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
