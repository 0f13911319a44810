"""The spaces of a Gymnasium environment in the engine's terms."""

from __future__ import annotations

import math
import warnings
from typing import Any, Callable, Optional

import numpy as np

from . import _encoding
from ._errors import UsageError
from ._hotloop import MAX_ACTION_SIZE

MAX_PARTS = 8  # named parts of an observation
MAX_COMBINATIONS = 4096  # of the choices in a MultiDiscrete action


def import_gymnasium() -> Any:
    try:
        import gymnasium
    except ImportError as error:
        raise ImportError("Python environments need Gymnasium: pip install gymnasium") from error
    return gymnasium


Writer = Callable[[np.ndarray, Any], None]  # writes an observation into a row of floats
BatchWriter = Callable[[np.ndarray, np.ndarray], None]  # [N, D] <- observations [N, ...]


def _scale_of(space: Any) -> Optional[np.float32]:
    """Byte images are scaled to 0..1 for the network."""
    is_image = space.dtype == np.uint8 and np.all(space.low == 0) and np.all(space.high == 255)
    return np.float32(1 / 255) if is_image else None


def _writer(space: Any, what: str) -> tuple[tuple[int, ...], Writer, dict[str, Any]]:
    """The shape of an observation in floats, its writer, and its encoding as plain data."""
    spaces = import_gymnasium().spaces
    if isinstance(space, spaces.Discrete):
        first, n = int(space.start), int(space.n)

        def one_hot(row: np.ndarray, value: Any) -> None:
            if not 0 <= int(value) - first < n:
                raise UsageError(f"{what}: found {value}; its space allows {first} to {first + n - 1}")
            row.fill(0)
            row[int(value) - first] = 1

        return (n,), one_hot, _encoding.one_hot(n, first)
    if isinstance(space, spaces.MultiDiscrete):
        numbers = space.nvec.reshape(-1)
        ends = np.cumsum(numbers)
        low = start_of(space)
        places = ends - numbers - low.reshape(-1)

        def one_hots(row: np.ndarray, value: Any) -> None:
            if np.shape(value) != space.nvec.shape:
                raise UsageError(f"{what}: expected shape {space.nvec.shape}, found {np.shape(value)}")
            index = np.asarray(value).reshape(-1) + places
            if not (np.all(index >= ends - numbers) and np.all(index < ends)):
                raise UsageError(f"{what}: found {value}; its space allows {low} to {low + space.nvec - 1}")
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
        f"{what}: its space is a {type(space).__name__}; allowed: Box, Discrete, MultiDiscrete, "
        "MultiBinary and a Dict or Tuple of these. Flatten it with a Gymnasium wrapper"
    )


def batch_writer(space: Any) -> BatchWriter:
    """For spaces without parts. Writes the same numbers as the writer of each row."""
    spaces = import_gymnasium().spaces
    if isinstance(space, spaces.Discrete):
        first, n = int(space.start), int(space.n)

        def one_hot(rows: np.ndarray, values: np.ndarray) -> None:
            index = values.reshape(len(rows)).astype(np.int64) - first
            if index.min() < 0 or index.max() >= n:
                raise UsageError(f"observation: found {values}; its space allows {first} to {first + n - 1}")
            rows.fill(0)
            rows[np.arange(len(rows)), index] = 1

        return one_hot
    shape = tuple(int(extent) for extent in space.shape)
    scale = _scale_of(space) if isinstance(space, spaces.Box) else None

    def flat(rows: np.ndarray, values: np.ndarray) -> None:
        if values.shape != (len(rows), *shape):
            raise UsageError(f"observation: expected shape {(len(rows), *shape)}, found {values.shape}")
        if scale is None:
            rows[:] = values.reshape(rows.shape)
        else:
            np.multiply(values.reshape(rows.shape), scale, out=rows, dtype=np.float32)

    return flat


def _bounds(space: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and highest row of an observation, as the engine's floats."""
    if not hasattr(space, "low"):
        return np.zeros(size, np.float32), np.ones(size, np.float32)  # flags, or one of n is 1
    scale = _scale_of(space) or np.float32(1)
    with np.errstate(over="ignore"):  # bounds beyond the range of a float are infinite
        low, high = (bound.reshape(-1).astype(np.float32) * scale for bound in (space.low, space.high))
    return low, high


def start_of(space: Any) -> np.ndarray:
    return np.asarray(getattr(space, "start", np.zeros_like(space.nvec)))  # since Gymnasium 1.0


class Observations:
    """How observations of a space become rows of the engine."""

    def __init__(self, space: Any) -> None:
        spaces = import_gymnasium().spaces
        self.parts: list[tuple[str, tuple[int, int, int]]] = []
        if not isinstance(space, (spaces.Dict, spaces.Tuple)):
            shape, self.write, encoding = _writer(space, "observation")
            self.size = math.prod(shape)
            self.encoding = [encoding]
            if len(shape) > 1:  # convolutional networks need the shape
                self.parts = [("obs", _padded_shape(shape, "observation"))]
            self._find_bounds([(space, self.size)])
            return
        if len(space.spaces) > MAX_PARTS:
            raise UsageError(f"observation: {len(space.spaces)} parts; allowed: up to {MAX_PARTS}")
        self.encoding: list[dict[str, Any]] = []
        writers: list[tuple[str, slice, Writer]] = []
        sized = []
        begin = 0
        is_dict = isinstance(space, spaces.Dict)
        for key, part in space.spaces.items() if is_dict else enumerate(space.spaces):
            if not str(key).replace("_", "").isalnum():
                raise UsageError(f"observation: a part named {key!r}; a name has letters, digits and _ only")
            shape, write, encoding = _writer(part, f"observation[{key!r}]")
            size = math.prod(shape)
            self.encoding.append({"key": str(key), **encoding})
            self.parts.append((str(key), _padded_shape(shape, f"observation[{key!r}]")))
            writers.append((key, slice(begin, begin + size), write))
            sized.append((part, size))
            begin += size
        self.size = begin

        def write_parts(row: np.ndarray, value: Any) -> None:
            if not is_dict and len(value) != len(writers):
                raise UsageError(f"observation: {len(value)} parts; expected {len(writers)}")
            for key, where, write in writers:
                if is_dict and key not in value:
                    raise UsageError(
                        f"observation: there is no part {key!r}; found {', '.join(map(str, value))}"
                    )
                write(row[where], value[key])

        self.write = write_parts
        self._find_bounds(sized)

    def _find_bounds(self, parts: list[tuple[Any, int]]) -> None:
        sides = zip(*(_bounds(space, size) for space, size in parts))
        self._low, self._high = (np.concatenate(side) for side in sides)
        self._bounded = bool(np.isfinite(self._low).any() or np.isfinite(self._high).any())

    def outside(self, rows: np.ndarray) -> Optional[str]:
        """The first value of rows [N, size] that is outside its space, in words; None if all are inside."""
        if not self._bounded:
            return None
        bad = (rows < self._low) | (rows > self._high)
        if not bad.any():
            return None
        row, index = (int(place) for place in np.argwhere(bad)[0])
        low, high = self._low[index], self._high[index]
        return f"value {index} of the observation of row {row} is {rows[row, index]:g}; its space allows {low:g} to {high:g}"


def _padded_shape(shape: tuple[int, ...], what: str) -> tuple[int, int, int]:
    if len(shape) > 3:
        raise UsageError(f"{what}: {len(shape)} dimensions; allowed: up to 3")
    if len(shape) == 3 and shape[0] <= 4 < min(shape[1:]):
        warnings.warn(
            f"{what}: shape {shape} is taken as rows, columns, channels by net.channels; if the channels come "
            "first, move them to the end in a wrapper: np.moveaxis(obs, 0, -1)",
            stacklevel=2,
        )
    padded = tuple(shape) + (0, 0, 0)
    return padded[0], padded[1], padded[2]


def notes_of(observations: Observations, action_space: Any) -> dict[str, Any]:
    """For model files: what an agent needs to take observations and return actions."""
    notes = {"observation": observations.encoding, "action_shape": list(action_space.shape)}
    if hasattr(action_space, "nvec"):
        return {**notes, "action_choices": _encoding.choices(action_space.nvec, start_of(action_space))}
    return {**notes, "action_start": int(getattr(action_space, "start", 0))}


def action_facts(space: Any) -> dict[str, Any]:
    """What the engine needs to know about the actions."""
    spaces = import_gymnasium().spaces
    if isinstance(space, spaces.Discrete):
        return {"actions": int(space.n), "action_low": [], "action_high": []}
    if isinstance(space, spaces.MultiDiscrete):
        combinations = math.prod(space.nvec.reshape(-1).tolist())
        if combinations > MAX_COMBINATIONS:
            raise UsageError(
                f"action: {space.nvec.size} choices at a time with {combinations} combinations; allowed: up to "
                f"{MAX_COMBINATIONS}, each of which becomes a discrete action"
            )
        return {"actions": combinations, "action_low": [], "action_high": []}
    if not isinstance(space, spaces.Box):
        raise UsageError(
            f"action: its space is a {type(space).__name__}; allowed: Discrete, MultiDiscrete, and "
            "Box with bounds"
        )
    if not np.issubdtype(space.dtype, np.floating):
        raise UsageError(
            f"action: a Box of {space.dtype}; allowed: a Box of floats. For a few integers use "
            "Discrete, for many a Box of floats that a wrapper rounds"
        )
    low, high = space.low.reshape(-1), space.high.reshape(-1)
    if low.size > MAX_ACTION_SIZE:
        raise UsageError(f"action: a Box of {low.size} numbers; allowed: up to {MAX_ACTION_SIZE}")
    with np.errstate(over="ignore"):
        finite = np.isfinite(np.float32(low)).all() and np.isfinite(np.float32(high)).all()
    lowest, highest = _floats_inside(low, high)
    if not (finite and np.all(lowest < highest)):
        raise UsageError(
            f"action: a Box from {low} to {high}; bounds must be finite as 32-bit floats, with low < high"
        )
    return {"actions": 0, "action_low": lowest.tolist(), "action_high": highest.tolist()}


def _floats_inside(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and highest float32 within bounds, which may be float64: 0.1 and 0.4 lie between floats."""
    with np.errstate(over="ignore"):
        lowest, highest = low.astype(np.float32), high.astype(np.float32)
    up, down = np.float32(np.inf), np.float32(-np.inf)
    lowest = np.where(lowest < low, np.nextafter(lowest, up), lowest)
    return lowest, np.where(highest > high, np.nextafter(highest, down), highest)
