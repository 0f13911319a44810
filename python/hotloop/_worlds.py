"""Gymnasium environments inside the engine.

`register(env)` tells the engine an environment's name and spaces. The engine then asks for drivers with the
number of rows it needs, one for training and one for evaluation.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import json
import math
import secrets
import warnings
from typing import Any, Callable, Optional, Union

from . import _hotloop
from ._drivers import EnvDriver, VectorDriver, autoreset_mode, claim, in_use, seeded_reset, takes_reset_mask
from ._envpool import PoolDriver, is_id, is_pool, pools_of
from ._errors import UsageError
from ._interface import Observations, action_facts, import_gymnasium, notes_of

EnvLike = Union[str, Callable[[], Any], Any]


def _check_made(env: Any, name: str) -> Any:
    gymnasium = import_gymnasium()
    if is_pool(env):
        raise UsageError(
            f"env: {name} made an EnvPool, which has several rows; give the pool itself, "
            "env=envpool.make_gymnasium(...), or its id, env='envpool:CartPole-v1'"
        )
    if isinstance(env, gymnasium.Env):
        return env
    raise UsageError(f"env: {name} made a {type(env).__name__}; expected a gymnasium.Env")


_NORMALISERS = {
    "NormalizeObservation": "obs",
    "NormalizeReward": "rewards",
}  # wrapper -> the setting to use instead, algo.normalise.*


def _warn_about_statistics(*envs: Any) -> None:
    """Warns about wrappers with running statistics, of single and vector environments."""
    gymnasium = import_gymnasium()
    bases: set[str] = set()
    for env in envs:
        while isinstance(env, (gymnasium.Wrapper, gymnasium.vector.VectorWrapper)):
            bases |= {base.__name__ for base in type(env).__mro__}
            env = env.env
    for name in sorted(bases & set(_NORMALISERS)):
        warnings.warn(
            f"{name} keeps its own statistics in every environment, and models do not save them: evaluation scales "
            "differ from those in training, and cannot be repeated. Remove it and use "
            f"algo={{'normalise': {{'{_NORMALISERS[name]}': True}}}} instead (algo.normalise), which models save",
            stacklevel=2,
        )


def facts_of(make: Callable[[], Any], name: str, vector: Any = None) -> dict[str, Any]:
    """What the engine needs to know. Makes an environment to find out, and closes it."""
    env = claim(_check_made(make(), name))
    try:
        _warn_about_statistics(env, vector, *getattr(getattr(vector, "unwrapped", None), "envs", [])[:1])
        observations = Observations(env.observation_space)
        actions = action_facts(env.action_space)
        result = seeded_reset(env, 0)
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)):
            raise UsageError(
                f"env: reset of {name} returned a {type(result).__name__}; expected (observation, info)"
            )
        info = result[1]
        threshold = getattr(env.spec, "reward_threshold", None)
        again = make()
        if again.unwrapped is env.unwrapped:
            claim(again)  # raises
        again.close()
    finally:
        in_use.discard(env.unwrapped)
        env.close()
    return {
        "label": name.split("@")[0],
        "obs": observations.size,
        "parts": observations.parts,
        "mask": bool(actions["actions"]) and "action_mask" in info,
        "solved_return": math.nan if threshold is None else float(threshold),
        "notes": json.dumps(notes_of(observations, env.action_space)),
        **actions,
    }


def maker(env: EnvLike) -> tuple[str, Callable[[], Any]]:
    gymnasium = import_gymnasium()
    if isinstance(env, str) and (env in dict(_hotloop.envs()) or env.endswith((".cpp", ".so"))):
        from ._register import IDS

        ids = [id for id, world in IDS.items() if world == env]
        instead = f"{ids[0]!r}, the same one in Gymnasium" if ids else "a Gymnasium id or a function"
        raise UsageError(
            f"env: {env} is one of hotloop's environments, and a Python environment is needed: {instead}"
        )
    if isinstance(env, str):
        module, colon, known_as = env.rpartition(":")
        try:
            if colon:  # an id that another package registers
                importlib.import_module(module)
                _hotloop.trust_module(module)  # named by the user, or trusted already
            gymnasium.spec(known_as)
        except (gymnasium.error.Error, ImportError) as error:
            known = [*dict(_hotloop.envs()), *gymnasium.registry]
            near = difflib.get_close_matches(env, known, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"env: unknown environment {env}; {hint}(allowed: hotloop.envs(), the .cpp file of an environment, "
                f"a Gymnasium id: {error})"
            ) from None
        return f"gymnasium:{env}", functools.partial(_make_id, env)
    if isinstance(env, gymnasium.Env):
        raise UsageError(
            f"env: an existing {type(env.unwrapped).__name__}; give a function that makes one, "
            "because training and evaluation need several: env=lambda: MyEnv()"
        )
    if not callable(env):
        raise UsageError(
            f"env: found a {type(env).__name__}; allowed: a Gymnasium id, a function that makes an "
            "environment, a gymnasium.vector.VectorEnv"
        )
    label = getattr(env, "__qualname__", type(env).__name__).replace("<locals>.", "")
    return _unique_name("python:" + label.replace("<", "").replace(">", "")), env


def _make_id(id: str) -> Any:
    gymnasium = import_gymnasium()
    try:
        return gymnasium.make(id)
    except gymnasium.error.DependencyNotInstalled as error:  # says what to install
        raise UsageError(f"env: {id} needs a package that is not installed: {error}") from error


def _unique_name(label: str) -> str:
    """A name that is unique in all processes, even among functions of the same name."""
    return f"{label}@{secrets.token_hex(4)}"


def _shape(facts: dict[str, Any]) -> tuple[Any, ...]:
    """The facts that an agent relies on."""
    return tuple(str(facts[key]) for key in ("obs", "parts", "actions", "action_low", "action_high", "mask"))


_registered: dict[str, dict[str, Any]] = {}  # facts by name
_isolated: dict[str, float] = {}  # seconds for one call, by name


def _check_same_shape(facts: dict[str, Any], name: str) -> None:
    before = _registered.get(name, facts)
    if _shape(before) != _shape(facts):
        raise UsageError(
            f"env: does not match {name}: it has {facts['obs']} observed numbers and "
            f"{facts['actions'] or len(facts['action_low'])} actions instead of {before['obs']} and "
            f"{before['actions'] or len(before['action_low'])}"
        )


def _register(
    name: str, instead_of: Optional[str], facts: dict[str, Any], driver: Callable[[int, bool], Any]
) -> None:
    _check_same_shape(facts, instead_of or name)
    _hotloop.register_env(name, facts, driver)
    _registered[name] = facts
    _isolated.pop(name, None)


def forget(name: str) -> None:
    """Forgets an environment that is no longer played."""
    _hotloop.forget_env(name)
    del _registered[name]
    _isolated.pop(name, None)


def isolated(name: str) -> Optional[float]:
    """The seconds for one call of an environment that is registered to run in its own process, else None."""
    return _isolated.get(name)


def register(
    env: EnvLike,
    *,
    eval_env: Optional[EnvLike] = None,
    instead_of: Optional[str] = None,
    timeout: Optional[float] = None,
) -> tuple[str, Optional[int]]:
    """Registers `env` with the engine. Returns its name there, and its number of rows if that is fixed.

    instead_of: a registered environment with the same shapes; `env` still gets its own name.
    timeout: seconds for one call, in its own process; None: it runs in this process.
    """
    gymnasium = import_gymnasium()
    if is_id(env) or is_pool(getattr(env, "unwrapped", env)):
        if timeout is not None:
            raise UsageError(
                "isolate: EnvPool environments run in threads of this process; leave isolate out"
            )
        return _register_pool(env, eval_env, instead_of)
    if isinstance(env, gymnasium.vector.VectorEnv):
        if timeout is not None:
            raise UsageError(
                "isolate: env is a vector environment that already exists in this process; give a function that "
                "makes a single one"
            )
        return _register_vector(env, eval_env, instead_of)
    if eval_env is not None:
        raise UsageError(
            "eval_env: only for vector environments and EnvPool; others are made again for evaluation"
        )
    name, make = maker(env)
    if instead_of is not None:
        name = _unique_name(instead_of.split("@")[0])
    if timeout is None:
        _register(name, instead_of, facts_of(make, name), lambda count, training: EnvDriver(make, count))
        return name, None
    from ._isolate import IsolatedDriver, facts_apart

    facts = facts_apart(make, name, timeout)
    _register(name, instead_of, facts, lambda count, training: IsolatedDriver(make, count, timeout))
    _isolated[name] = timeout
    return name, None


def _register_pool(
    env: Any, eval_env: Optional[EnvLike], instead_of: Optional[str]
) -> tuple[str, Optional[int]]:
    own = None if is_id(env) else env
    if own is not None and not is_pool(own):
        raise UsageError(
            f"env: a {type(own).__name__} around an EnvPool; give the pool without wrappers (algo.normalise scales "
            "observations and rewards, and the metrics have the returns of episodes)"
        )
    pools = pools_of(env)
    evaluated = pools if eval_env is None else pools_of(eval_env, "eval_env")
    if own is None and instead_of is None and eval_env is None:
        name = env
    else:
        name = _unique_name((instead_of or f"python:{pools.label}").split("@")[0])
    facts = pools.facts(name)
    if _shape(evaluated.facts(name)) != _shape(facts):
        raise UsageError("eval_env: its observations or actions differ from those of env")

    def driver(count: int, training: bool) -> PoolDriver:
        return PoolDriver(pools, count, own) if training else PoolDriver(evaluated, count)

    _register(name, instead_of, facts, driver)
    return name, None if own is None else len(own)


def _register_vector(env: Any, eval_env: Optional[EnvLike], instead_of: Optional[str]) -> tuple[str, int]:
    label = env.spec.id if env.spec else type(env.unwrapped).__name__
    if hasattr(env.unwrapped, "engine_spec"):
        name = env.unwrapped.engine_spec["name"]
        raise UsageError(f"env: {label} is built into hotloop; give its name, env={name!r}")
    make = _single_maker(env, eval_env)
    name = _unique_name(instead_of.split("@")[0] if instead_of else f"python:{label}")
    facts = facts_of(make, name, env)
    rows = Observations(env.single_observation_space)
    vector = {**facts, "obs": rows.size, "parts": rows.parts, **action_facts(env.single_action_space)}
    if _shape(vector) != _shape(facts):
        raise UsageError("eval_env: its observations or actions differ from those of env")
    if autoreset_mode(env) == "NEXT_STEP" and not takes_reset_mask(env):
        if env.spec is None or env is not env.unwrapped:
            raise UsageError(
                f"env: {type(env.unwrapped).__name__} resets in the step after the end of an episode "
                "(AutoresetMode.NEXT_STEP), which inserts an empty step. Make it with "
                "autoreset_mode=AutoresetMode.SAME_STEP or DISABLED"
            )
        warnings.warn(
            f"{label} resets in the step after the end of an episode (AutoresetMode.NEXT_STEP), which inserts "
            "an empty step: single environments of the same id are used instead",
            stacklevel=4,
        )
        _register(name, instead_of, facts, lambda count, training: EnvDriver(make, count))
        return name, env.num_envs
    _register(
        name,
        instead_of,
        facts,
        lambda count, training: VectorDriver(env, count) if training else EnvDriver(make, count),
    )
    return name, env.num_envs


def _single_maker(env: Any, eval_env: Optional[EnvLike]) -> Callable[[], Any]:
    """Makes single environments like the rows of a vector environment, for evaluations."""
    if eval_env is not None:
        return maker(eval_env)[1]
    own_wrappers = env.spec is not None and env.spec.kwargs.get("wrappers")
    if env.spec is None or env is not env.unwrapped or own_wrappers:
        raise UsageError(
            "env: a vector environment with wrappers, or one that Gymnasium did not make, cannot be made again "
            "for evaluation; give eval_env=, a function that makes a single environment, as well"
        )
    vector_only = ("num_envs", "vectorization_mode", "vector_kwargs", "wrappers")
    kwargs = {key: value for key, value in env.spec.kwargs.items() if key not in vector_only}
    return functools.partial(import_gymnasium().make, env.spec.id, **kwargs)
