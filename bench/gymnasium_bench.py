#!/usr/bin/env python3
"""The overhead of training on a Python environment; prints one JSON object.

    python bench/gymnasium_bench.py [--id CartPole-v1] [--envs 1 8] [--steps 20000] [--rounds 5]

The bare loop only steps and resets the same number of environments, with actions drawn in advance. hotloop
trains on the same environments without learning (except one update at the end) and without evaluation, so
the difference is acting, storing, checking and counting. Both run in turn; medians.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time

import gymnasium
import hotloop
import numpy as np


def bare(id: str, count: int, vector_steps: int) -> float:
    """Microseconds per vector step."""
    envs = [gymnasium.make(id) for _ in range(count)]
    actions = np.random.default_rng(1).integers(0, envs[0].action_space.n, (vector_steps, count)).tolist()
    for i, env in enumerate(envs):
        env.reset(seed=i)
    seed = count
    begin = time.perf_counter()
    for row in actions:
        for env, action in zip(envs, row):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset(seed=seed)
                seed += 1
    return (time.perf_counter() - begin) / vector_steps * 1e6


def trained(id: str, count: int, vector_steps: int) -> tuple[float, float]:
    """Microseconds per vector step, and the share of it in Python."""
    with tempfile.TemporaryDirectory() as out:
        run = hotloop.train(
            "dqn",
            env=id,
            steps=vector_steps * count,
            out=out,
            progress=False,
            **{
                "env.count": count,
                "algo.train_every": count,
                "algo.learning_starts": (vector_steps - 4) * count,
                "algo.epsilon": 1,  # random actions as in the bare loop, so episodes are equally long
                "evaluation.every": 0,
                "evaluation.episodes": 1,
                "run.log_every": 10**9,
            },
        )
    time_of = run.result["time"]
    inside = 1 - time_of["start"] - time_of["evaluate"] - time_of["checkpoint"] - time_of["log"]
    seconds = run.result["wall_seconds"] * inside
    return seconds / vector_steps * 1e6, time_of["python"] / inside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--id", default="CartPole-v1")
    parser.add_argument("--envs", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--steps", type=int, default=20_000, help="vector steps per round")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    results = []
    for count in arguments.envs:
        loops, runs, shares = [], [], []
        for round_number in range(arguments.rounds + 1):  # the first one warms up
            loop = bare(arguments.id, count, arguments.steps)
            run, share = trained(arguments.id, count, arguments.steps)
            if round_number > 0:
                loops.append(loop)
                runs.append(run)
                shares.append(share)
        results.append(
            {
                "envs": count,
                "bare_us_per_vector_step": round(statistics.median(loops), 2),
                "hotloop_us_per_vector_step": round(statistics.median(runs), 2),
                "overhead_us_per_vector_step": round(
                    statistics.median(run - loop for run, loop in zip(runs, loops)), 2
                ),
                "share_in_python": round(statistics.median(shares), 3),
            }
        )
    print(
        json.dumps(
            {
                "id": arguments.id,
                "vector_steps": arguments.steps,
                "rounds": arguments.rounds,
                "results": results,
                "gymnasium": gymnasium.__version__,
                "python": platform.python_version(),
                "hotloop": hotloop.version,
            }
        )
    )


if __name__ == "__main__":
    main()
