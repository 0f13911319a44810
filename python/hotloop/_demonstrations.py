"""Demonstrations for a replay memory: a file of transitions, or a Minari data set, which becomes one."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any, Union

import numpy as np

from . import _hotloop
from ._encoding import box, encode
from ._errors import UsageError

Demonstrations = Union[str, "os.PathLike[str]", Any]


@contextlib.contextmanager
def with_demonstrations(source: Demonstrations, request: Any) -> Iterator[None]:
    """Adds ``replay.demonstrations`` to a request. The run keeps a copy, so that of a data set is temporary."""
    if source is None:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        path = _path_of(source)
        if path is None:
            path = os.path.join(folder, "demonstrations.safetensors")
            write(path, _data_set(source), request)
        request.add(f"replay.demonstrations={json.dumps(os.path.abspath(path))}")
        yield


def _path_of(source: Demonstrations) -> Union[str, None]:
    if isinstance(source, os.PathLike):
        return os.fspath(source)
    if isinstance(source, str) and (source.endswith(".safetensors") or os.path.isfile(source)):
        return source
    return None


def _data_set(source: Demonstrations) -> Any:
    if not isinstance(source, str):
        if not hasattr(source, "iterate_episodes"):
            raise UsageError(
                f"demonstrations: a {type(source).__name__}; allowed: a file of `hotloop eval --record`, a "
                "minari.MinariDataset, or its id"
            )
        return source
    try:
        import minari
    except ImportError:
        raise UsageError(
            f"demonstrations: {source} is not a file, and Minari is missing (pip install minari), so it cannot "
            "be the id of a data set"
        ) from None
    try:
        return minari.load_dataset(source)
    except (FileNotFoundError, ValueError) as error:
        raise UsageError(f"demonstrations: {source} is neither a file nor a data set here: {error}") from None


def write(path: str, data: Any, request: Any) -> None:
    """Writes the episodes of a Minari data set as transitions of the request's environment."""
    env, text = _hotloop.env_of(request)
    facts = json.loads(text)
    _check_env(data, env)
    columns: dict[str, list[np.ndarray]] = {
        name: [] for name in ("obs", "actions", "rewards", "terminated", "truncated", "final_obs")
    }
    for number, episode in enumerate(data.iterate_episodes()):
        for name, rows in _episode(episode, facts, f"demonstrations: episode {number}").items():
            columns[name].append(rows)
    if not columns["obs"]:
        raise UsageError("demonstrations: the data set has no episodes")
    _hotloop.write_transitions(path, request, *(np.concatenate(rows) for rows in columns.values()))


def _check_env(data: Any, env: str) -> None:
    """Refuses a data set of another environment, if both are known by an id of Gymnasium."""
    from ._register import IDS

    made_from = getattr(getattr(data, "spec", None), "env_spec", None) or getattr(data, "env_spec", None)
    ids = [env.split(":", 1)[1].rpartition(":")[2]] if env.startswith("gymnasium:") else []
    ids += [id for id, name in IDS.items() if name == env]
    ids += [id.removeprefix("hotloop/") for id in ids if id.startswith("hotloop/")]
    found = getattr(made_from, "id", None)
    if ids and found is not None and found not in ids:
        raise UsageError(f"demonstrations: the data set was recorded in {found}; this run is on {env}")


def _episode(episode: Any, facts: Mapping[str, Any], what: str) -> dict[str, np.ndarray]:
    rewards = np.asarray(episode.rewards, np.float32).reshape(-1)
    count = len(rewards)
    notes = facts.get("notes", {})
    parts = notes.get("observation", [box((facts["obs"],), None)])
    try:
        obs, _ = encode(parts, episode.observations)
    except UsageError as error:
        raise UsageError(f"{what}: {error}") from None
    if count == 0 or len(obs) != count + 1:
        raise UsageError(f"{what}: {len(obs)} observations of {count} steps; expected one more than steps")
    terminated = np.asarray(episode.terminations, np.bool_).reshape(-1)
    truncated = np.asarray(episode.truncations, np.bool_).reshape(-1) & ~terminated
    ends = terminated | truncated
    if len(ends) != count or ends[:-1].any():
        raise UsageError(f"{what}: it ends before its last step")
    truncated[-1] = not terminated[-1]  # also where the recording stopped
    return {
        "obs": obs[:-1],
        "actions": _actions(np.asarray(episode.actions), count, facts, what),
        "rewards": rewards,
        "terminated": terminated.astype(np.uint8),
        "truncated": truncated.astype(np.uint8),
        "final_obs": obs[-1:],
    }


def _actions(actions: np.ndarray, count: int, facts: Mapping[str, Any], what: str) -> np.ndarray:
    """Discrete actions int32 [T], or continuous ones float32 [T, size], in the engine's terms."""
    if len(actions) != count:
        raise UsageError(f"{what}: {len(actions)} actions of {count} steps")
    notes = facts.get("notes", {})
    if facts["actions"] > 0:
        if actions.dtype.kind not in "iu":
            raise UsageError(f"{what}: actions of type {actions.dtype}; allowed: integers")
        if "action_choices" in notes:
            n, start = (np.array(notes["action_choices"][key]).reshape(-1) for key in ("n", "start"))
            chosen = actions.reshape(count, -1) - start
            if chosen.shape[1] != n.size or (chosen < 0).any() or (chosen >= n).any():
                raise UsageError(f"{what}: its actions are not in the action space of the environment")
            return np.ravel_multi_index(tuple(chosen.T), tuple(n)).astype(np.int32)
        numbers = actions.reshape(count, -1)[:, 0].astype(np.int64) - notes.get("action_start", 0)
        if actions.size != count or (numbers < 0).any() or (numbers >= facts["actions"]).any():
            raise UsageError(f"{what}: its actions are not in the action space of the environment")
        return numbers.astype(np.int32)
    low, high = (np.array(facts[key], np.float32) for key in ("action_low", "action_high"))
    if actions.dtype.kind not in "fiu" or actions.size != count * low.size:
        raise UsageError(
            f"{what}: actions of shape {actions.shape[1:]} and type {actions.dtype}; allowed: {low.size} floats"
        )
    values = actions.reshape(count, low.size).astype(np.float32)
    bounded = np.clip(values, low, high)
    if not (np.abs(values - bounded) <= 1e-6 * (high - low)).all():  # more than a rounding error
        step, index = np.argwhere(~(np.abs(values - bounded) <= 1e-6 * (high - low)))[0]
        raise UsageError(
            f"{what}: value {index} of action {step} is {values[step, index]:g}; the environment allows "
            f"{low[index]:g} to {high[index]:g}"
        )
    return bounded
