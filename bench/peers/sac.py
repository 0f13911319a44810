"""Compares hotloop with Stable-Baselines3, SBX and RLtools on Pendulum-v1 and HalfCheetah-v5; writes two tables.

The first is the time of one environment step with one update, once everything is warm. The contestants of a
task are all started first, and then take turns, so that other load on the machine affects all of them. The
second is training from the start, one seed of each library in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile

from peers import cpu, spread
from sac_contestants import TIME_TASKS, TRAIN_TASKS

HERE = os.path.dirname(os.path.abspath(__file__))
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
# The hotloop contestant on the same kind of environment.
COUNTERPART = {
    "Stable-Baselines3": "hotloop, Gymnasium environment",
    "SBX": "hotloop, Gymnasium environment",
    "RLtools": "hotloop",
}


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Contestant:
    """A process of sac_contestants.py."""

    def __init__(self, pythons: dict, *arguments: str):
        self.name = ", ".join(arguments)
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [pythons.get(arguments[1], sys.executable), os.path.join(HERE, "sac_contestants.py"), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env={**os.environ, **ONE_THREAD},
        )

    def wait_until_ready(self) -> None:
        self.line("ready")
        note(f"{self.name}: ready")

    def line(self, start: str) -> str:
        """The next line that begins like this; the libraries print others."""
        for line in self.process.stdout:
            if line.startswith(start):
                return line
        self.process.wait()
        self.errors.seek(0)
        sys.exit(f"{self.name} failed:\n{self.errors.read()}")

    def result(self) -> dict:
        return json.loads(self.line("{"))

    def piece(self) -> dict:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.result()

    def stop(self) -> None:
        self.process.stdin.close()  # ends its loop
        self.process.stdout.read()
        self.process.wait()


def time_steps(name: str, arguments: argparse.Namespace, pythons: dict) -> dict:
    """Of each contestant, the times of its pieces, one per round."""
    everyone = chosen(TIME_TASKS[name], arguments)
    running = {who: Contestant(pythons, "time", who, name, str(arguments.updates)) for who in everyone}
    for contestant in running.values():
        contestant.wait_until_ready()
    note(f"{name}: timing begins")
    results = {who: [] for who in running}
    for round_number in range(arguments.rounds + 1):  # the first one warms up
        for who, contestant in running.items():
            piece = contestant.piece()
            if piece["updates"] != arguments.updates:
                sys.exit(f"{name}, {who}: {piece['updates']} updates instead of {arguments.updates}")
            if round_number > 0:
                results[who].append(piece)
    note(f"{name}: timing ends")
    for who, pieces in results.items():
        note(f"{name}, {who}: {spread(microseconds(pieces), 0)} µs")
    for contestant in running.values():
        contestant.stop()
    return results


def microseconds(pieces: list) -> list:
    """CPU time per environment step with one update."""
    return [piece["cpu_seconds"] / piece["updates"] * 1e6 for piece in pieces]


def train(name: str, arguments: argparse.Namespace, pythons: dict) -> dict:
    results = {who: [] for who in chosen(TRAIN_TASKS[name], arguments)}
    for seed in range(1, arguments.seeds + 1):
        for who, runs in results.items():
            contestant = Contestant(pythons, "train", who, name, str(seed))
            contestant.wait_until_ready()
            note(f"{name}, {who}, seed {seed}: timing begins")
            runs.append(contestant.result())
            note(f"{name}, {who}, seed {seed}: timing ends; {runs[-1]}")
            contestant.stop()
    return results


def chosen(task, arguments: argparse.Namespace) -> list:
    return [who for who in task.who if not arguments.who or who in arguments.who]


def time_table(results: dict) -> str:
    everyone = list(dict.fromkeys(who for pieces in results.values() for who in pieces))
    lines = [
        "**One environment step with one update**, µs of CPU time",
        "",
        "| | " + " | ".join(everyone) + " |",
    ]
    lines.append("|---" * (len(everyone) + 1) + "|")
    for name, pieces in results.items():
        times = {who: microseconds(timed) for who, timed in pieces.items()}
        cells = []
        for who in everyone:
            cell = spread(times[who], 0) if who in times else ""
            other = COUNTERPART.get(who)
            if cell and other in times:
                ratio = statistics.median(times[who]) / statistics.median(times[other])
                cell += f", {ratio:.1f} ×"
            cells.append(cell)
        lines.append(f"| {TIME_TASKS[name].title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def train_table(name: str, results: dict) -> str:
    task = TRAIN_TASKS[name]
    lines = [
        f"**{task.title}**, {task.steps:,} env steps",
        "",
        "| | training, s | CPU time, s | updates | final return |",
        "|---|---|---|---|---|",
    ]
    for who, runs in results.items():
        cells = [spread([run[key] for run in runs], 2) for key in ("seconds", "cpu_seconds")]
        returns = spread([run["final_return"] for run in runs], 0)
        lines.append(f"| {who} | {' | '.join(cells)} | {runs[0]['updates']:,} | {returns} |")
    return "\n".join(lines) + "\n"


def versions(python: str, names: list) -> str:
    code = f"from importlib.metadata import version as v; print(*[n + ' ' + v(n) for n in {names}], sep=', ')"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def conditions(arguments: argparse.Namespace) -> str:
    own = ["stable-baselines3", "sb3-contrib", "torch", "gymnasium", "mujoco", "numpy", "hotloop"]
    found = [
        versions(sys.executable, own),
        versions(arguments.sbx, ["sbx-rl", "jax"]),
        versions(arguments.rltools, ["rltools", "mkl"]),
    ]
    return (
        f"{', '.join(found)}, Python {platform.python_version()}; one thread on one core of {cpu()}. Median (min to "
        f"max) of {arguments.rounds} rounds of {arguments.updates} updates, and of {arguments.seeds} seeds. "
        "×: times as long as hotloop on the same kind of environment. "
        "Final return: 100 greedy episodes of the last network.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sbx", required=True, help="the Python interpreter with SBX")
    parser.add_argument("--rltools", required=True, help="the Python interpreter with RLtools")
    everything = [*TIME_TASKS, *TRAIN_TASKS]
    parser.add_argument("--tasks", nargs="*", default=everything, choices=everything)
    parser.add_argument("--who", nargs="*", help="only these contestants")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--updates", type=int, default=500, help="per round")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--core", type=int, default=max(os.sched_getaffinity(0)), help="everything runs on it"
    )
    parser.add_argument("--out", help="write the tables to this file as well")
    parser.add_argument("--json", help="write every time to this file")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {arguments.core})
    pythons = {"SBX": arguments.sbx, "RLtools": arguments.rltools}

    measured_with = conditions(arguments)  # first: nothing is lost if a package is missing
    times = {name: time_steps(name, arguments, pythons) for name in arguments.tasks if name in TIME_TASKS}
    runs = {name: train(name, arguments, pythons) for name in arguments.tasks if name in TRAIN_TASKS}
    tables = [time_table(times)] if times else []
    tables += [train_table(name, results) for name, results in runs.items()]
    text = "\n".join([*tables, measured_with])
    print(text)
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write(text)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"times": times, "runs": runs}, file, indent=1)


if __name__ == "__main__":
    main()
