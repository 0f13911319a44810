#!/usr/bin/env python3
"""How fast Python steps the engine's environments: prints one JSON object, with the conditions.

    python bench/python_bench.py [--envs 1024] [--seconds 1] [--rounds 7] [--id hotloop/CartPole-v1]

Actions are drawn in advance, int64 [K, N]; the timed loop is what a user writes:
``obs, rewards, terminated, truncated, infos = env.step(actions[k])``. Rounds are interleaved with rounds of
Gymnasium's own vector environment with the same number of rows. Medians and the spread over rounds.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time

import gymnasium
import hotloop
import numpy as np


def cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def steps_per_second(env, actions: np.ndarray, seconds: float) -> float:
    steps, k = 0, 0
    start = time.perf_counter()
    while True:
        for _ in range(16):
            obs, rewards, terminated, truncated, infos = env.step(actions[k])
            k = (k + 1) % len(actions)
        steps += 16 * env.num_envs
        elapsed = time.perf_counter() - start
        if elapsed >= seconds:
            return steps / elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--id", default="hotloop/CartPole-v1")
    parser.add_argument(
        "--against", default="CartPole-v1", help="the Gymnasium id to compare with; empty = none"
    )
    parser.add_argument("--envs", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=1.0, help="per round")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()

    subjects = {"hotloop": gymnasium.make_vec(arguments.id, num_envs=arguments.envs)}
    if arguments.against:
        subjects["gymnasium"] = gymnasium.make_vec(
            arguments.against, num_envs=arguments.envs, vectorization_mode="vector_entry_point"
        )
    space = subjects["hotloop"].action_space
    space.seed(1)
    actions = np.stack([space.sample() for _ in range(64)])
    rates: dict[str, list[float]] = {name: [] for name in subjects}
    for env in subjects.values():
        env.reset(seed=1)
    for round_number in range(arguments.rounds + 1):  # the first one warms up
        for name, env in subjects.items():
            rate = steps_per_second(env, actions, arguments.seconds)
            if round_number > 0:
                rates[name].append(rate)
    result = {
        "id": arguments.id,
        "num_envs": arguments.envs,
        "actions": f"{actions.dtype} from an array drawn in advance",
        "threads": 1,
        "rounds": arguments.rounds,
        "seconds_per_round": arguments.seconds,
    }
    for name, values in rates.items():
        result[name] = {
            "env_steps_per_second": round(statistics.median(values)),
            "lowest": round(min(values)),
            "highest": round(max(values)),
        }
    if arguments.against:
        pairs = zip(rates["hotloop"], rates["gymnasium"])
        result["factor"] = round(statistics.median(ours / theirs for ours, theirs in pairs), 1)
    result["microseconds_per_vector_step"] = round(
        1e6 * arguments.envs / result["hotloop"]["env_steps_per_second"], 2
    )
    result["versions"] = {
        "hotloop": hotloop.version,
        "gymnasium": gymnasium.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    result["cpu"] = cpu_name()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
