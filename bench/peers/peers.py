"""Compares hotloop with Stable-Baselines3 and CleanRL on CartPole-v1, with the same settings; writes a table.

Runs are interleaved: every library trains seed 1, then every library seed 2, so that other load on the
machine affects all of them. Medians, with minimum and maximum.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from importlib.metadata import version

HERE = os.path.dirname(os.path.abspath(__file__))
TASKS = {
    "dqn_zoo": ("DQN, settings of RL Baselines3 Zoo", "Stable-Baselines3"),
    "dqn_cleanrl": ("DQN, settings of CleanRL", "CleanRL"),
    "ppo_zoo": ("PPO, settings of RL Baselines3 Zoo", "Stable-Baselines3"),
}


def run(python: str, who: str, task: str, seed: int) -> dict:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [python, os.path.join(HERE, "contestants.py"), who, task, str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"{who}, {task}, seed {seed} failed:\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def cpu() -> str:
    with open("/proc/cpuinfo") as lines:
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def spread(values: list, digits: int) -> str:
    middle = statistics.median(values)
    return f"{middle:.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def table(task: str, results: dict) -> str:
    title, slowest = TASKS[task]
    reference = statistics.median([r["seconds"] for r in results[slowest]])
    lines = [
        f"**{title}**, {results[slowest][0]['steps']:,} env steps",
        "",
        "| | training, s | updates | times as fast | final return |",
        "|---|---|---|---|---|",
    ]
    for who, runs in results.items():
        seconds = [r["seconds"] for r in runs]
        lines.append(
            f"| {who} | {spread(seconds, 2)} | {runs[0]['updates']:,} | "
            f"{reference / statistics.median(seconds):.1f} | {spread([r['final_return'] for r in runs], 0)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cleanrl", required=True, help="the Python interpreter with CleanRL")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--out", help="write the table to this file as well")
    parser.add_argument("--json", help="write every run to this file")
    arguments = parser.parse_args()
    everything = {}
    for task in arguments.tasks:
        others = [TASKS[task][1]]
        results = {who: [] for who in others + ["hotloop, Gymnasium environment", "hotloop"]}
        for seed in range(1, arguments.seeds + 1):
            for who, runs in results.items():
                python = arguments.cleanrl if who == "CleanRL" else sys.executable
                runs.append(run(python, who, task, seed))
                print(f"{task}, {who}, seed {seed}: {runs[-1]}", file=sys.stderr, flush=True)
        everything[task] = results
    names = ["stable-baselines3", "torch", "gymnasium", "numpy", "hotloop"]
    text = "\n".join(table(task, results) for task, results in everything.items())
    text += (
        f"\n{', '.join(f'{name} {version(name)}' for name in names)}, CleanRL 1.2.0 (with gymnasium 0.29.1), "
        f"Python {platform.python_version()}; one thread of {cpu()}; {arguments.seeds} seeds, interleaved: median "
        "(min to max). Final return: 100 greedy episodes of the last network.\n"
    )
    print(text)
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write(text)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(everything, file, indent=1)


if __name__ == "__main__":
    main()
