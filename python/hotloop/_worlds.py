"""Gymnasium's environments inside the engine.

`register(env)` makes an environment known to the engine by its spaces; the engine asks for drivers of as
many rows as it needs, one for training and one for evaluation. A driver steps all rows in one call and
writes what they show into arrays that view the engine's memory.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import json
import math
import secrets
import warnings
import weakref
from typing import Any, Callable, Optional, Union

import numpy as np

from . import _encoding, _hotloop
from ._errors import UsageError

MOST_PARTS = 8  # of an observation with names
MOST_DIMENSIONS = 8  # of a box of actions

EnvLike = Union[str, Callable[[], Any], Any]


def _gymnasium() -> Any:
    try:
        import gymnasium
    except ImportError as error:
        raise ImportError("environments of Python's need Gymnasium: pip install gymnasium") from error
    return gymnasium


# --- Spaces ------------------------------------------------------------------------------------------

Writer = Callable[[np.ndarray, Any], None]  # an observation into a row of floats


def _scale_of(space: Any) -> Optional[np.float32]:
    """Bytes that are a picture are shown to the network as 0 to 1."""
    is_picture = space.dtype == np.uint8 and np.all(space.low == 0) and np.all(space.high == 255)
    return np.float32(1 / 255) if is_picture else None


def _writer(space: Any, what: str) -> tuple[tuple[int, ...], Writer, dict[str, Any]]:
    """In which shape of floats an observation is shown, how it is written, and that as plain data."""
    spaces = _gymnasium().spaces
    if isinstance(space, spaces.Discrete):
        first, n = int(space.start), int(space.n)

        def one_hot(row: np.ndarray, value: Any) -> None:
            if not 0 <= int(value) - first < n:
                raise UsageError(f"{what}: found {value}; its space has {first} to {first + n - 1}")
            row.fill(0)
            row[int(value) - first] = 1

        return (n,), one_hot, _encoding.one_hot(n, first)
    if isinstance(space, spaces.MultiDiscrete):
        numbers = space.nvec.reshape(-1)
        ends = np.cumsum(numbers)
        low = np.asarray(getattr(space, "start", np.zeros_like(space.nvec)))  # Gymnasium 1.0
        places = ends - numbers - low.reshape(-1)

        def one_hots(row: np.ndarray, value: Any) -> None:
            if np.shape(value) != space.nvec.shape:
                raise UsageError(f"{what}: expected shape {space.nvec.shape}, found {np.shape(value)}")
            index = np.asarray(value).reshape(-1) + places
            if not (np.all(index >= ends - numbers) and np.all(index < ends)):
                raise UsageError(f"{what}: found {value}; its space has {low} to {low + space.nvec - 1}")
            row.fill(0)
            row[index] = 1

        return (int(ends[-1]),), one_hots, _encoding.one_hots(space.nvec, low)
    if isinstance(space, (spaces.Box, spaces.MultiBinary)):
        shape = tuple(int(extent) for extent in space.shape)
        scale = _scale_of(space) if isinstance(space, spaces.Box) else None

        def flat(row: np.ndarray, value: Any) -> None:
            array = np.asarray(value)
            if array.shape != shape:
                raise UsageError(f"{what}: expected shape {shape}, found {array.shape}")
            row[:] = array.reshape(-1)
            if scale is not None:
                row *= scale

        def vector(row: np.ndarray, value: Any) -> None:
            if np.shape(value) != shape:
                raise UsageError(f"{what}: expected shape {shape}, found {np.shape(value)}")
            row[:] = value

        write = vector if len(shape) == 1 and scale is None else flat
        return shape, write, _encoding.box(shape, None if scale is None else float(scale))
    raise UsageError(
        f"{what}: a space of the kind {type(space).__name__}; allowed: Box, Discrete, MultiDiscrete, "
        "MultiBinary and a Dict or Tuple of these. Flatten it with a wrapper of Gymnasium's"
    )


class Observations:
    """How observations of a space become rows of the engine's."""

    def __init__(self, space: Any) -> None:
        spaces = _gymnasium().spaces
        self.parts: list[tuple[str, tuple[int, int, int]]] = []
        if not isinstance(space, (spaces.Dict, spaces.Tuple)):
            shape, self.write, encoding = _writer(space, "observation")
            self.size = math.prod(shape)
            self.encoding = [encoding]
            if len(shape) > 1:  # a network with convolutions wants to know its shape
                self.parts = [("obs", _three(shape, "observation"))]
            return
        if len(space.spaces) > MOST_PARTS:
            raise UsageError(f"observation: {len(space.spaces)} parts; allowed: up to {MOST_PARTS}")
        self.encoding: list[dict[str, Any]] = []
        writers: list[tuple[str, slice, Writer]] = []
        begin = 0
        is_dict = isinstance(space, spaces.Dict)
        for key, part in space.spaces.items() if is_dict else enumerate(space.spaces):
            if not str(key).replace("_", "").isalnum():
                raise UsageError(f"observation: a part named {key!r}; a name has letters, digits and _ only")
            shape, write, encoding = _writer(part, f"observation[{key!r}]")
            size = math.prod(shape)
            self.encoding.append({"key": str(key), **encoding})
            self.parts.append((str(key), _three(shape, f"observation[{key!r}]")))
            writers.append((key, slice(begin, begin + size), write))
            begin += size
        self.size = begin

        def write_parts(row: np.ndarray, value: Any) -> None:
            if not is_dict and len(value) != len(writers):
                raise UsageError(f"observation: {len(value)} parts; expected {len(writers)}")
            for key, where, write in writers:
                if is_dict and key not in value:
                    raise UsageError(f"observation: there is no part {key!r}; found {', '.join(map(str, value))}")
                write(row[where], value[key])

        self.write = write_parts


def _three(shape: tuple[int, ...], what: str) -> tuple[int, int, int]:
    if len(shape) > 3:
        raise UsageError(f"{what}: {len(shape)} dimensions; allowed: up to 3")
    if len(shape) == 3 and shape[0] <= 4 < min(shape[1:]):
        warnings.warn(
            f"{what}: shape {shape} is taken as rows, columns, channels by net.channels; if the channels come "
            "first, move them to the end, by a wrapper: np.moveaxis(obs, 0, -1)",
            stacklevel=2,
        )
    padded = tuple(shape) + (0, 0, 0)
    return padded[0], padded[1], padded[2]


def _actions(space: Any) -> dict[str, Any]:
    """What the engine must know of the actions."""
    spaces = _gymnasium().spaces
    if isinstance(space, spaces.Discrete):
        return {"actions": int(space.n), "action_low": [], "action_high": []}
    if not isinstance(space, spaces.Box):
        raise UsageError(
            f"action: a space of the kind {type(space).__name__}; allowed: Discrete, and Box with bounds. "
            "Several choices at a time can be one Discrete of all their combinations, by a wrapper"
        )
    if not np.issubdtype(space.dtype, np.floating):
        raise UsageError(
            f"action: a box of {space.dtype}; allowed: a box of floats. A few whole numbers are better a "
            "Discrete, many of them a box of floats that is rounded, by a wrapper"
        )
    low, high = space.low.reshape(-1), space.high.reshape(-1)
    if low.size > MOST_DIMENSIONS:
        raise UsageError(f"action: a box of {low.size} numbers; allowed: up to {MOST_DIMENSIONS}")
    if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high)) and np.all(low < high)):
        raise UsageError(f"action: a box from {low} to {high}; bounds must be finite, the lower one below")
    return {"actions": 0, "action_low": low.tolist(), "action_high": high.tolist()}


# --- Drivers -----------------------------------------------------------------------------------------


class _Driver:
    """The arrays of the engine that a driver reads and writes; [N] or [N, ...]."""

    def __init__(self, space: Any, action_space: Any) -> None:
        self._write = Observations(space).write
        self._start = int(action_space.start) if hasattr(action_space, "start") else 0
        self._numbered = hasattr(action_space, "n")
        self._action_shape = action_space.shape
        self._action_dtype = action_space.dtype

    def bind(
        self,
        obs: np.ndarray,
        final_obs: np.ndarray,
        rewards: np.ndarray,
        terminated: np.ndarray,
        truncated: np.ndarray,
        mask: Optional[np.ndarray],
        final_mask: Optional[np.ndarray],
        seeds: np.ndarray,
        actions: np.ndarray,
    ) -> None:
        self._obs = list(obs)  # a view of each row
        self._final_obs = list(final_obs)
        self._rewards, self._terminated, self._truncated = rewards, terminated, truncated
        self._mask, self._final_mask = mask, final_mask
        self._seeds, self._actions = seeds, actions

    def _chosen(self) -> Any:
        """This step's actions as environments take them."""
        if not self._numbered:
            return self._actions.reshape(-1, *self._action_shape).astype(self._action_dtype)
        numbers = self._actions.tolist()
        return [number + self._start for number in numbers] if self._start else numbers

    def _show_mask(self, masks: Optional[np.ndarray], row: int, info: dict[str, Any]) -> None:
        if masks is None:
            self._refuse_mask(info)
            return
        if "action_mask" not in info:
            raise UsageError(f"row {row}: info has no action_mask, which it had before; give one at every step")
        masks[row] = _mask(info["action_mask"], masks.shape[1], row)

    def _refuse_mask(self, info: dict[str, Any]) -> None:
        if self._numbered and "action_mask" in info:
            raise UsageError("info has an action_mask, which the first reset did not have; give one there too")

    def close(self) -> None:
        pass


def _mask(told: Any, width: int, row: int) -> np.ndarray:
    mask = np.asarray(told)
    if mask.shape != (width,):
        raise UsageError(f"row {row}: action_mask has shape {mask.shape}; expected ({width},)")
    return mask != 0


def _noted(error: Exception, where: str) -> Exception:
    if hasattr(error, "add_note"):  # Python 3.11
        error.add_note(where)
    return error


_in_use: Any = weakref.WeakSet()  # environments that a driver steps


def _own(env: Any) -> Any:
    """The environment, if nobody else has it."""
    if env.unwrapped in _in_use:
        raise UsageError(
            "env: the function returned the same environment twice; it must make a new one at every call"
        )
    _in_use.add(env.unwrapped)
    return env


class EnvDriver(_Driver):
    """Single environments, one after the other, each episode from a seed of its own."""

    def __init__(self, make: Callable[[], Any], count: int) -> None:
        self.envs = [_own(make()) for _ in range(count)]
        super().__init__(self.envs[0].observation_space, self.envs[0].action_space)
        self._steps = [env.step for env in self.envs]

    def _begin_row(self, row: int) -> None:
        obs, info = self.envs[row].reset(seed=int(self._seeds[row]))
        self._write(self._obs[row], obs)
        self._show_mask(self._mask, row, info)

    def begin(self) -> None:
        for row in range(len(self.envs)):
            try:
                self._begin_row(row)
            except Exception as error:
                raise _noted(error, f"in the first reset of row {row}")

    def step(self) -> None:
        actions = self._chosen()
        self._terminated.fill(0)
        self._truncated.fill(0)
        rewards, write, masked = self._rewards, self._write, self._mask is not None
        for row, step in enumerate(self._steps):
            try:
                obs, rewards[row], terminated, truncated, info = step(actions[row])
                if terminated or truncated:
                    self._terminated[row] = terminated
                    self._truncated[row] = truncated
                    write(self._final_obs[row], obs)
                    if self._final_mask is not None:
                        self._show_final_mask(row, info)
                    self._begin_row(row)
                else:
                    write(self._obs[row], obs)
                    if masked or "action_mask" in info:
                        self._show_mask(self._mask, row, info)
            except Exception as error:
                raise _noted(error, f"in the environment of row {row}, with action {actions[row]}")

    def _show_final_mask(self, row: int, info: dict[str, Any]) -> None:
        # An environment that is over need not say what would be allowed.
        assert self._final_mask is not None
        told = info.get("action_mask")
        self._final_mask[row] = 1 if told is None else _mask(told, self._final_mask.shape[1], row)

    def repeat(self, row: int, actions: np.ndarray) -> Optional[float]:
        """The actions of an episode once more; their rewards together, None if it ended on the way."""
        step = self._steps[row]
        numbered = self._numbered
        total = 0.0
        for action in actions:
            chosen = (
                int(action) + self._start
                if numbered
                else np.array(action, self._action_dtype).reshape(self._action_shape)
            )
            obs, reward, terminated, truncated, info = step(chosen)
            if terminated or truncated:
                return None
            total += float(np.float32(reward))  # as the engine has it
            self._write(self._obs[row], obs)
            self._show_mask(self._mask, row, info)
        return total

    def close(self) -> None:
        for env in self.envs:
            _in_use.discard(env.unwrapped)
            env.close()


class VectorDriver(_Driver):
    """A vector environment, in whichever of the three ways it begins its next episodes."""

    def __init__(self, env: Any, count: int) -> None:
        if env.unwrapped in _in_use:
            raise UsageError("env: another run is training on this vector environment")
        self.env = env
        if count != env.num_envs:
            raise UsageError(f"env: a vector environment of {env.num_envs} rows; the spec wants envs: {count}")
        super().__init__(env.single_observation_space, env.single_action_space)
        mode = autoreset_mode(env)
        self._same_step = mode == "SAME_STEP"
        self._many_seeds = _takes_reset_mask(env)
        self._row_of = _rows_of(env.single_observation_space)
        _in_use.add(env.unwrapped)

    def close(self) -> None:
        _in_use.discard(self.env.unwrapped)

    def _show(self, obs: Any, infos: dict[str, Any], rows: Any) -> None:
        if self._mask is None:
            self._refuse_mask(infos)
        for row in rows:
            self._write(self._obs[row], self._row_of(obs, row))
            if self._mask is not None:
                self._show_mask(self._mask, row, _row_info(infos, row))

    def begin(self) -> None:
        seeds = [int(seed) for seed in self._seeds]
        obs, infos = self.env.reset(seed=seeds if self._many_seeds else seeds[0])
        self._show(obs, infos, range(len(self._obs)))

    def step(self) -> None:
        obs, rewards, terminated, truncated, infos = self.env.step(np.asarray(self._chosen()))
        self._rewards[:] = rewards
        self._terminated[:] = terminated
        self._truncated[:] = truncated
        ended = np.logical_or(terminated, truncated)
        if not ended.any():
            return self._show(obs, infos, range(len(self._obs)))
        for row in np.flatnonzero(ended):
            final = infos["final_obs"][row] if self._same_step else self._row_of(obs, row)
            self._write(self._final_obs[row], final)
            if self._final_mask is not None:
                told = _row_info(infos.get("final_info", {}) if self._same_step else infos, row)
                allowed = told.get("action_mask")
                self._final_mask[row] = 1 if allowed is None else _mask(allowed, self._final_mask.shape[1], row)
        self._show(obs, infos, range(len(self._obs)) if self._same_step else np.flatnonzero(~ended))
        if not self._same_step:
            seeds = [int(seed) if over else None for seed, over in zip(self._seeds, ended)]
            obs, infos = self.env.reset(
                seed=seeds if self._many_seeds else None, options={"reset_mask": ended}
            )
            self._show(obs, infos, np.flatnonzero(ended))

    def repeat(self, row: int, actions: np.ndarray) -> Optional[float]:
        return None  # one row cannot be stepped without the others


def _rows_of(space: Any) -> Callable[[Any, int], Any]:
    """A row of what a vector environment shows."""
    spaces = _gymnasium().spaces
    if isinstance(space, spaces.Dict):
        return lambda obs, row: {key: values[row] for key, values in obs.items()}
    if isinstance(space, spaces.Tuple):
        return lambda obs, row: tuple(values[row] for values in obs)
    return lambda obs, row: obs[row]


def _row_info(infos: dict[str, Any], row: int) -> dict[str, Any]:
    known = "action_mask" in infos and infos.get("_action_mask", np.ones(row + 1, bool))[row]
    return {"action_mask": infos["action_mask"][row]} if known else {}


def autoreset_mode(env: Any) -> str:
    """NEXT_STEP, SAME_STEP or DISABLED; by Gymnasium's rules NEXT_STEP if it does not say."""
    mode = env.metadata.get("autoreset_mode", "NEXT_STEP")
    return str(getattr(mode, "name", mode)).upper().replace("NEXTSTEP", "NEXT_STEP").replace("SAMESTEP", "SAME_STEP")


def _takes_reset_mask(env: Any) -> bool:
    vector = _gymnasium().vector
    return isinstance(env.unwrapped, (vector.SyncVectorEnv, vector.AsyncVectorEnv))


# --- Registering -------------------------------------------------------------------------------------


def _check_made(env: Any, name: str) -> Any:
    gymnasium = _gymnasium()
    if isinstance(env, gymnasium.Env):
        return env
    raise UsageError(f"env: {name} made a {type(env).__name__}; expected a gymnasium.Env")


def _facts(make: Callable[[], Any], name: str) -> dict[str, Any]:
    """What the engine must know, asked of an environment that is made for it and closed again."""
    env = _own(_check_made(make(), name))
    try:
        observations = Observations(env.observation_space)
        actions = _actions(env.action_space)
        told = env.reset(seed=0)
        if not (isinstance(told, tuple) and len(told) == 2 and isinstance(told[1], dict)):
            raise UsageError(f"env: reset of {name} returned a {type(told).__name__}; expected (observation, info)")
        info = told[1]
        threshold = getattr(env.spec, "reward_threshold", None)
        notes = {
            "observation": observations.encoding,
            "action_start": int(getattr(env.action_space, "start", 0)),
            "action_shape": list(env.action_space.shape),
        }
        again = make()
        if again.unwrapped is env.unwrapped:
            _own(again)  # says what is wrong
        again.close()
    finally:
        _in_use.discard(env.unwrapped)
        env.close()
    return {
        "label": name.split("@")[0],
        "obs": observations.size,
        "parts": observations.parts,
        "mask": bool(actions["actions"]) and "action_mask" in info,
        "solved_return": math.nan if threshold is None else float(threshold),
        "notes": json.dumps(notes),
        **actions,
    }


def _maker(env: EnvLike) -> tuple[str, Callable[[], Any]]:
    gymnasium = _gymnasium()
    if isinstance(env, str):
        module, colon, known_as = env.rpartition(":")
        try:
            if colon:  # an id that another package registers
                importlib.import_module(module)
            gymnasium.spec(known_as)
        except (gymnasium.error.Error, ImportError) as error:
            known = [*dict(_hotloop.envs()), *gymnasium.registry]
            near = difflib.get_close_matches(env, known, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"env: unknown environment {env}; {hint}(allowed: hotloop.envs(), the .cpp file of a world, "
                f"an id of Gymnasium's: {error})"
            ) from None
        return f"gymnasium:{env}", functools.partial(gymnasium.make, env)
    if isinstance(env, gymnasium.Env):
        raise UsageError(
            f"env: a {type(env.unwrapped).__name__} that exists already; give a function that makes one, "
            "since training needs several and evaluation others: env=lambda: MyEnv()"
        )
    if not callable(env):
        raise UsageError(
            f"env: found a {type(env).__name__}; allowed: a Gymnasium id, a function that makes an "
            "environment, a gymnasium.vector.VectorEnv"
        )
    label = getattr(env, "__qualname__", type(env).__name__).replace("<locals>.", "")
    return _own_name(label.replace("<", "").replace(">", "")), env


def _own_name(label: str) -> str:
    """No two functions are the same environment, whatever they are called, in this process or another."""
    return f"python:{label}@{secrets.token_hex(4)}"


def _shape(facts: dict[str, Any]) -> tuple[Any, ...]:
    """What an agent must be able to rely on."""
    return tuple(str(facts[key]) for key in ("obs", "parts", "actions", "action_low", "action_high", "mask"))


_registered: dict[str, dict[str, Any]] = {}  # facts by name


def _register(name: str, facts: dict[str, Any], driver: Callable[[int, bool], Any]) -> None:
    before = _registered.get(name, facts)
    if _shape(before) != _shape(facts):
        raise UsageError(
            f"env: not the one that {name} was: {facts['obs']} numbers observed and "
            f"{facts['actions'] or len(facts['action_low'])} actions where there were {before['obs']} and "
            f"{before['actions'] or len(before['action_low'])}"
        )
    _hotloop.register_env(name, facts, driver)
    _registered[name] = facts


def register(
    env: EnvLike, *, eval_env: Optional[EnvLike] = None, name: Optional[str] = None
) -> tuple[str, Optional[int]]:
    """Makes `env` known to the engine. Returns its name there, and its number of rows if that is fixed."""
    gymnasium = _gymnasium()
    if isinstance(env, gymnasium.vector.VectorEnv):
        return _register_vector(env, eval_env, name)
    if eval_env is not None:
        raise UsageError("eval_env: is for a vector environment; others are made anew for evaluations")
    own_name, make = _maker(env)
    name = name or own_name
    _register(name, _facts(make, name), lambda count, training: EnvDriver(make, count))
    return name, None


def _register_vector(env: Any, eval_env: Optional[EnvLike], name: Optional[str]) -> tuple[str, int]:
    label = env.spec.id if env.spec else type(env.unwrapped).__name__
    if hasattr(env.unwrapped, "engine_spec"):
        raise UsageError(f"env: {label} is hotloop's own; name it, env={env.unwrapped.engine_spec['name']!r}")
    make = _single_maker(env, eval_env)
    name = name or _own_name(label)
    facts = _facts(make, name)
    shown = Observations(env.single_observation_space)
    vector = {**facts, "obs": shown.size, "parts": shown.parts, **_actions(env.single_action_space)}
    if _shape(vector) != _shape(facts):
        raise UsageError("eval_env: its observations or actions are not those of env")
    if autoreset_mode(env) == "NEXT_STEP" and not _takes_reset_mask(env):
        if env.spec is None or env is not env.unwrapped:
            raise UsageError(
                f"env: {type(env.unwrapped).__name__} begins episodes in the step after their end "
                "(AutoresetMode.NEXT_STEP), a step that is none. Make it with "
                "autoreset_mode=AutoresetMode.SAME_STEP or DISABLED"
            )
        warnings.warn(
            f"{label} begins episodes in the step after their end (AutoresetMode.NEXT_STEP), a step that is "
            "none: single environments of the same id are used instead",
            stacklevel=4,
        )
        _register(name, facts, lambda count, training: EnvDriver(make, count))
        return name, env.num_envs
    _register(
        name,
        facts,
        lambda count, training: VectorDriver(env, count) if training else EnvDriver(make, count),
    )
    return name, env.num_envs


def _single_maker(env: Any, eval_env: Optional[EnvLike]) -> Callable[[], Any]:
    """Makes single environments like the rows of a vector environment, for evaluations."""
    if eval_env is not None:
        return _maker(eval_env)[1]
    own_wrappers = env.spec is not None and env.spec.kwargs.get("wrappers")
    if env.spec is None or env is not env.unwrapped or own_wrappers:
        raise UsageError(
            "env: a vector environment with wrappers, or one that Gymnasium did not make, cannot be made again "
            "for evaluation; give eval_env=, a function that makes a single environment, as well"
        )
    of_vectors = ("num_envs", "vectorization_mode", "vector_kwargs", "wrappers")
    kwargs = {key: value for key, value in env.spec.kwargs.items() if key not in of_vectors}
    return functools.partial(_gymnasium().make, env.spec.id, **kwargs)
