"""Python environments in their own process.

The process makes the environments and steps them with the same driver that would run here, on arrays in shared
memory, so results are equal to the bit. If it crashes, exits or does not answer in time, a RunError says so, and
the run can be resumed. It is started as a new program: nothing of the caller's script runs in it.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import threading
import warnings
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Callable, Optional, Union

import numpy as np

from ._errors import RunError, UsageError

DEFAULT_TIMEOUT = 60.0  # seconds for one call
INPUTS = ("seeds", "actions")  # arrays that the engine writes; the others are results
ARRAYS = ("obs", "final_obs", "rewards", "terminated", "truncated", "mask", "final_mask", *INPUTS)


def timeout_of(isolate: Union[bool, float]) -> Optional[float]:
    """The time for one call; None = not isolated."""
    if isinstance(isolate, bool):
        return DEFAULT_TIMEOUT if isolate else None
    if not isolate > 0:
        raise UsageError(f"isolate is {isolate}; allowed: True, False, or the seconds that a call may take")
    return float(isolate)


class Worker:
    """The caller's side of the process."""

    def __init__(self, make: Callable[[], Any], timeout: float) -> None:
        import cloudpickle  # with Gymnasium

        self._timeout = timeout
        self._starts = True  # the first call also waits until Python has started
        here, there = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from hotloop._isolate import serve; serve({there.fileno()})"],
            pass_fds=[there.fileno()],
            start_new_session=True,  # Ctrl-C is for the trainer, which ends this process
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
        )
        there.close()
        self._connection = Connection(here.detach())
        try:
            self._connection.send_bytes(cloudpickle.dumps(make))
        except OSError:
            pass  # it has ended already, which the first call reports

    def ask(self, command: str, *arguments: Any) -> Any:
        limit = self._timeout + (DEFAULT_TIMEOUT if self._starts else 0)
        try:
            self._connection.send((command, *arguments))
            if not self._connection.poll(limit):
                self.end()
                raise RunError(
                    f"env: {command} did not return within {limit:g} s, and its process was ended; "
                    "isolate=SECONDS gives it more time"
                )
            self._starts = False
            kind, value, said = self._connection.recv()
        except (EOFError, OSError) as error:
            raise RunError(f"env: {command} {self._ending()}") from error
        for text in said:
            warnings.warn(text, stacklevel=2)
        if kind == "raised":
            raise pickle.loads(value)
        return value

    def _ending(self) -> str:
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            return "closed the connection to the trainer"
        if code >= 0:
            return f"ended its process with exit code {code}"
        return f"crashed: its process was ended by signal {-code}" + (
            " (out of memory?)" if code == -9 else ""
        )

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._connection.close()


def facts_apart(make: Callable[[], Any], name: str, timeout: float) -> dict[str, Any]:
    worker = Worker(make, timeout)
    try:
        return worker.ask("facts", name)
    finally:
        worker.end()


class IsolatedDriver:
    """A driver (see _drivers) whose environments are in another process."""

    def __init__(self, make: Callable[[], Any], count: int, timeout: float) -> None:
        self._worker = Worker(make, timeout)
        self._memory: list[SharedMemory] = []
        self._inputs: list[tuple[np.ndarray, np.ndarray]] = []  # the engine's, and shared
        self._results: list[tuple[np.ndarray, np.ndarray]] = []
        try:
            self._worker.ask("make", count)
        except BaseException:
            self._worker.end()
            raise

    def bind(self, *arrays: Optional[np.ndarray]) -> None:
        self._free()
        plan: dict[str, Any] = {}
        for name, array in zip(ARRAYS, arrays):
            plan[name] = None
            if array is None:
                continue
            memory = SharedMemory(create=True, size=max(array.nbytes, 1))
            self._memory.append(memory)
            shared = np.ndarray(array.shape, array.dtype, memory.buf)
            shared[:] = array
            plan[name] = (memory.name, array.shape, array.dtype.str)
            (self._inputs if name in INPUTS else self._results).append((array, shared))
        self._worker.ask("bind", plan)

    def _call(self, command: str, *arguments: Any) -> Any:
        for array, shared in self._inputs:
            shared[:] = array
        answer = self._worker.ask(command, *arguments)
        for array, shared in self._results:
            array[:] = shared
        return answer

    def begin(self) -> None:
        self._call("begin")

    def step(self) -> None:
        self._call("step")

    def rewind(self, first_seeds: list[int], episodes: list[int]) -> bool:
        return self._call("rewind", first_seeds, episodes)

    def repeat(self, row: int, actions: np.ndarray) -> Optional[float]:
        return self._call("repeat", row, np.array(actions))

    def _free(self) -> None:
        self._inputs, self._results = [], []
        for memory in self._memory:
            memory.unlink()
            try:
                memory.close()
            except BufferError:
                pass  # a view is still alive; the memory goes with it
        self._memory = []

    def close(self) -> None:
        try:
            self._worker.ask("close")
        except Exception:
            pass  # it is gone, or ends now
        self._worker.end()
        self._free()


def _attach(name: str) -> SharedMemory:
    """Memory of the caller, which frees it; Python's tracker in this process must not."""
    if sys.version_info >= (3, 13):
        return SharedMemory(name=name, track=False)
    memory = SharedMemory(name=name)
    resource_tracker.unregister(memory._name, "shared_memory")  # type: ignore[attr-defined]
    return memory


class _Server:
    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._driver: Any = None
        self._memory: list[SharedMemory] = []

    def facts(self, name: str) -> dict[str, Any]:
        from ._worlds import facts_of

        return facts_of(self._make, name)

    def make(self, count: int) -> None:
        from ._drivers import EnvDriver

        self._driver = EnvDriver(self._make, count)

    def bind(self, plan: dict[str, Any]) -> None:
        arrays = {}
        for name, place in plan.items():
            arrays[name] = None
            if place is not None:
                memory = _attach(place[0])
                self._memory.append(memory)
                arrays[name] = np.ndarray(place[1], np.dtype(place[2]), memory.buf)
        self._driver.bind(**arrays)

    def begin(self) -> None:
        self._driver.begin()

    def step(self) -> None:
        self._driver.step()

    def rewind(self, first_seeds: list[int], episodes: list[int]) -> bool:
        return self._driver.rewind(first_seeds, episodes)

    def repeat(self, row: int, actions: np.ndarray) -> Optional[float]:
        return self._driver.repeat(row, actions)

    def close(self) -> None:
        self._driver.close()


def _pickled(error: Exception) -> bytes:
    import cloudpickle

    try:
        data = cloudpickle.dumps(error)
        pickle.loads(data)
        return data
    except Exception:
        return pickle.dumps(RunError(f"{type(error).__name__}: {error}"))


def serve(descriptor: int) -> None:
    """The process: answers until the connection closes, which it also does when the caller dies."""
    parent = os.getppid()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    connection = Connection(descriptor)
    said: list[str] = []
    warnings.showwarning = lambda message, *_, **__: said.append(str(message))
    server: Optional[_Server] = None
    try:
        made = connection.recv_bytes()
        while True:
            command, *arguments = connection.recv()
            try:
                if server is None:
                    server = _Server(pickle.loads(made))
                answer = ("ok", getattr(server, command)(*arguments), list(said))
            except Exception as error:
                answer = ("raised", _pickled(error), list(said))
            said.clear()
            connection.send(answer)
    except (EOFError, OSError):
        pass
    os._exit(0)


def _end_with(parent: int) -> None:
    import time

    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)
