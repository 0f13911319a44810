"""How Gymnasium observations become rows of floats, as plain data that is saved in model files.

Training writes rows with the writers of ``_interface``. A trained agent gets what the environment returns,
which is encoded here in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Optional

import numpy as np

from ._errors import UsageError


def box(shape: tuple[int, ...], scale: Optional[float]) -> dict[str, Any]:
    return {"kind": "box", "shape": list(shape), "scale": scale}


def one_hot(n: int, start: int) -> dict[str, Any]:
    return {"kind": "one_hot", "n": n, "start": start}


def one_hots(n: np.ndarray, start: np.ndarray) -> dict[str, Any]:
    return {"kind": "one_hots", "n": n.tolist(), "start": start.tolist()}


def choices(n: np.ndarray, start: np.ndarray) -> dict[str, Any]:
    """A MultiDiscrete space; each combination of choices is one discrete action."""
    return {"n": n.tolist(), "start": start.tolist(), "dtype": str(n.dtype)}


def combination(space: Mapping[str, Any], numbers: np.ndarray) -> np.ndarray:
    """Discrete actions [N] as the choices they stand for, [N, ...]; the last choice changes fastest."""
    n, start = np.array(space["n"]), np.array(space["start"])
    chosen = np.stack(np.unravel_index(numbers, n.reshape(-1)), axis=-1)
    return (chosen.reshape(-1, *n.shape) + start).astype(space["dtype"])


def _encode_one_hots(part: Mapping[str, Any], array: np.ndarray, what: str) -> tuple[np.ndarray, bool]:
    n, start = np.array(part["n"]), np.array(part["start"])
    single = array.shape == n.shape
    if array.dtype.kind not in "iu" or (not single and array.shape[1:] != n.shape):
        batch = ", ".join(["N", *map(str, n.shape)])
        raise UsageError(
            f"{what}: shape {array.shape} of {array.dtype}; allowed: integers ({batch}), or {n.shape} for a single one"
        )
    index = array.reshape(-1, n.size) - start.reshape(-1)
    n = n.reshape(-1)
    if index.size and (index.min() < 0 or (index >= n).any()):
        raise UsageError(
            f"{what}: a value outside its space; allowed: {start.tolist()} to {(start + part['n'] - 1).tolist()}"
        )
    rows = np.zeros((len(index), int(n.sum())), np.float32)
    rows[np.arange(len(index))[:, None], index + np.cumsum(n) - n] = 1
    return rows, single


def _encode_part(part: Mapping[str, Any], value: Any, what: str) -> tuple[np.ndarray, bool]:
    """Rows [N, size], and whether there was a single one."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise UsageError(f"{what}: of type {array.dtype}; allowed: numbers")
    if part["kind"] == "one_hots":
        return _encode_one_hots(part, array, what)
    if part["kind"] == "one_hot":
        if array.ndim > 1 or array.dtype.kind not in "iu":
            raise UsageError(
                f"{what}: shape {array.shape} of {array.dtype}; allowed: an integer, or [N] of them"
            )
        index = np.atleast_1d(array) - part["start"]
        if index.size and (index.min() < 0 or index.max() >= part["n"]):
            low = part["start"]
            raise UsageError(f"{what}: found {value}; allowed: {low} to {low + part['n'] - 1}")
        rows = np.zeros((len(index), part["n"]), np.float32)
        rows[np.arange(len(index)), index] = 1
        return rows, array.ndim == 0
    shape = tuple(part["shape"])
    channels_first = part.get("channels_first", False)  # given so, and encoded with the channels last
    if channels_first:
        shape = (shape[-1], *shape[:-1])
    single = array.shape == shape
    if not single and array.shape[1:] != shape:
        batch = ", ".join(["N", *map(str, shape)])
        raise UsageError(f"{what}: shape {array.shape}; allowed: ({batch}), or {shape} for a single one")
    if channels_first:
        array = np.moveaxis(array, -3, -1)
    rows = array.reshape(1 if single else len(array), math.prod(shape)).astype(np.float32)
    if part["scale"] is not None:
        rows *= np.float32(part["scale"])
    return rows, single


def encode(parts: list[dict[str, Any]], obs: Any) -> tuple[np.ndarray, bool]:
    """Encodes one observation or a batch as rows; also returns whether it was a single one."""
    if len(parts) == 1 and parts[0].get("key") is None:
        return _encode_part(parts[0], obs, "observations")
    keys = [part["key"] for part in parts]
    if isinstance(obs, (tuple, list)) and keys == [str(i) for i in range(len(obs))]:
        obs = dict(zip(keys, obs))
    if not isinstance(obs, Mapping) or set(obs) != set(keys):
        found = ", ".join(map(str, obs)) if isinstance(obs, Mapping) else type(obs).__name__
        raise UsageError(f"observations: found {found}; allowed: a dict of {', '.join(keys)}")
    encoded = [_encode_part(part, obs[part["key"]], f"observations[{part['key']!r}]") for part in parts]
    lengths = {rows.shape[0] for rows, _ in encoded}
    if len(lengths) > 1 or len({single for _, single in encoded}) > 1:
        sizes = ", ".join(f"{key} {rows.shape[0]}" for key, (rows, _) in zip(keys, encoded))
        raise UsageError(f"observations: the parts have different numbers of rows: {sizes}")
    return np.concatenate([rows for rows, _ in encoded], axis=1), encoded[0][1]
