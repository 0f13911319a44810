#!/usr/bin/env python3
"""Training on EnvPool beside training on the same environment from Gymnasium; prints one JSON object.

    python bench/envpool_bench.py [--pool HalfCheetah-v4] [--single HalfCheetah-v5] [--envs 8] [--rounds 5]

Both are trained by ppo with general settings and the same number of updates, in turn, without evaluation. A rate
counts neither start nor saving. "python" is the share of that time in the environments: for EnvPool its own C++
threads included. Medians of the rounds, and the range; the first round warms up.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile

import envpool
import gymnasium
import hotloop
import numpy


def trained(env: str, count: int, steps: int) -> dict[str, float]:
    settings = {"env_count": count, "evaluation": {"every": 0, "episodes": 1}, "run": {"log_every": 10**9}}
    with tempfile.TemporaryDirectory() as out:
        result = hotloop.train("ppo", env=env, steps=steps, out=out, progress=False, **settings).result
    time = result["time"]
    inside = 1 - time["start"] - time["evaluate"] - time["checkpoint"] - time["log"]
    seconds = result["wall_seconds"] * inside
    return {
        "steps_per_second": result["env_steps"] / seconds,
        "updates_per_second": result["updates"] / seconds,
        "python": time["python"] / inside,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pool", default="HalfCheetah-v4", help="an EnvPool id")
    parser.add_argument("--single", default="HalfCheetah-v5", help="a Gymnasium id")
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--steps", type=int, default=16_384, help="env steps per round")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    envs = [f"envpool:{arguments.pool}", arguments.single]
    rounds = [
        [trained(env, arguments.envs, arguments.steps) for env in envs] for _ in range(arguments.rounds + 1)
    ][1:]
    results = {}
    for env, runs in zip(envs, zip(*rounds)):
        speeds = sorted(run["steps_per_second"] for run in runs)
        results[env] = {
            "steps_per_second": round(statistics.median(speeds)),
            "range": [round(speeds[0]), round(speeds[-1])],
            "updates_per_second": round(statistics.median(run["updates_per_second"] for run in runs), 1),
            "python": round(statistics.median(run["python"] for run in runs), 3),
        }
    ratios = [pool["steps_per_second"] / single["steps_per_second"] for pool, single in rounds]
    versions = {module.__name__: module.__version__ for module in (envpool, gymnasium, numpy, hotloop)}
    report = {
        "envs": arguments.envs,
        "steps": arguments.steps,
        "rounds": arguments.rounds,
        "results": results,
        "ratio": round(statistics.median(ratios), 2),
        "versions": {**versions, "python": platform.python_version()},
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
