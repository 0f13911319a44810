"""A training run: its folder and the results in it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np

from ._agent import Agent, Evaluation
from ._errors import UsageError


class Run:
    """A run folder, finished or not. ``Run(folder)`` opens an existing one."""

    def __init__(
        self, folder: Union[str, "os.PathLike[str]"], result: Optional[dict[str, Any]] = None
    ) -> None:
        self.folder = os.fspath(folder)
        self._result = result
        self._agents: dict[str, tuple[int, Agent]] = {}
        self._plays = ""  # the engine's name of the environment that it was resumed with
        if not os.path.exists(self._path("spec.yaml")):
            raise UsageError(f"'{self.folder}' is not a run folder: it has no spec.yaml")

    def __getstate__(self) -> dict[str, Any]:  # for pickle: another process loads the agents again
        return {"folder": os.path.abspath(self.folder), "_result": self._result, "_agents": {}, "_plays": ""}

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    @property
    def result(self) -> dict[str, Any]:
        """The result: what ``hotloop train --json`` prints."""
        if self._result is None:
            if not os.path.exists(self._path("result.json")):
                raise UsageError(f"'{self.folder}' is not finished: see hotloop.resume")
            with open(self._path("result.json"), encoding="utf-8") as file:
                self._result = json.load(file)
        return self._result

    @property
    def spec(self) -> str:
        """The resolved spec, as YAML: every key with its value."""
        with open(self._path("spec.yaml"), encoding="utf-8") as file:
            return file.read()

    @property
    def metrics(self) -> dict[str, np.ndarray]:
        """Columns of metrics.jsonl; nested ones are named like "time.act"; NaN where there is no value."""
        with open(self._path("metrics.jsonl"), encoding="utf-8") as file:
            return _columns([_flat(json.loads(line)) for line in file if line.endswith("\n")])

    @property
    def agent(self) -> Agent:
        """The model of the best evaluation so far, or the latest one if there was none."""
        best = os.path.exists(self._path("model-best.safetensors"))
        return self._model("best" if best else "latest")

    @property
    def latest(self) -> Agent:
        """The model that was saved last."""
        return self._model("latest")

    def _model(self, which: str) -> Agent:
        path = self._path(f"model-{which}.safetensors")
        written = os.stat(path).st_mtime_ns if os.path.exists(path) else 0  # a resumed run replaces it
        if which not in self._agents or self._agents[which][0] != written:
            agent = Agent(self.folder, which)
            agent._plays = self._plays
            self._agents[which] = (written, agent)
        return self._agents[which][1]

    def evaluate(
        self,
        episodes: int = 100,
        seed: Optional[int] = None,
        deterministic: bool = True,
        *,
        env: Any = None,
        trust: bool = False,
    ) -> Evaluation:
        """Plays episodes with the best model: see ``Agent.evaluate``."""
        return self.agent.evaluate(episodes, seed, deterministic, env=env, trust=trust)

    def record(
        self,
        path: Union[str, "os.PathLike[str]"],
        episodes: int = 100,
        seed: Optional[int] = None,
        deterministic: bool = True,
        *,
        env: Any = None,
        trust: bool = False,
    ) -> Evaluation:
        """Plays episodes with the best model and writes their transitions: see ``Agent.record``."""
        return self.agent.record(path, episodes, seed, deterministic, env=env, trust=trust)

    def plot(
        self,
        path: Union[str, "os.PathLike[str]", None] = None,
        columns: Sequence[str] = ("exploring_return", "greedy_return", "loss"),
    ) -> Any:
        """Draws columns of the metrics over env steps, one below the other; needs matplotlib.

        Returns the figure, and writes it to ``path`` if given (PNG, PDF or SVG, by the file extension).
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError(
                "Run.plot needs matplotlib: pip install matplotlib (or hotloop[plot])"
            ) from None
        metrics = self.metrics
        for name in columns:
            if name not in metrics:
                raise UsageError(f"there is no column {name!r}; allowed: {', '.join(metrics)}")
        figure = Figure(figsize=(7, 1 + 1.8 * len(columns)), layout="constrained")
        axes = figure.subplots(len(columns), 1, sharex=True, squeeze=False)[:, 0]
        for axis, name in zip(axes, columns):
            axis.plot(metrics["env_steps"], metrics[name], linewidth=1.2)
            axis.set_ylabel(name)
            axis.grid(alpha=0.3)
        axes[-1].set_xlabel("env steps")
        figure.suptitle(os.path.basename(os.path.normpath(self.folder)))
        if path is not None:
            figure.savefig(os.fspath(path), dpi=120)
        return figure

    def __repr__(self) -> str:
        if self._result is None:
            return f"Run({self.folder!r})"
        state = "stopped" if self._result["interrupted"] else "done"
        mean = self._result["eval_return_mean"]
        text = "not evaluated" if mean is None else f"greedy return {mean:.4g}"
        return f"Run({self.folder!r}, {state} after {self._result['env_steps']} env steps, {text})"


def _flat(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def _columns(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _column([row.get(name) for row in rows]) for name in names}


def _column(values: list[Any]) -> np.ndarray:
    if all(type(value) is int for value in values):
        return np.array(values, dtype=np.int64)
    if all(value is None or isinstance(value, (int, float)) for value in values):
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    column = np.empty(len(values), dtype=object)  # strings and lists of strings
    column[:] = values
    return column
