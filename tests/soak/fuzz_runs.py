#!/usr/bin/env python3
"""fuzz_runs.py HOTLOOP [SECONDS] [SEED]: random specs, each trained straight, and again in two parts.

The second time the run ends at a random step, is extended by `resume`, and uses another number of
threads; its parameters must be the same to the bit. Anything but success or a proper error message is a
failure. Not part of ./test: it runs for as long as it is told to.
"""

import json
import random
import subprocess
import sys
import tempfile
import time

CHOICES = {
    "algo.batch": [1, 2, 7, 8, 31, 33, 64, 129, 257],
    "algo.updates_per_step": [0.01, 0.1, 0.3, 1, 2.5],
    "algo.loss": ["mse", "huber"],
    "algo.learning_starts": [0, 50, 300],
    "algo.target": [
        "{every: 1, count: updates, blend: 0.05}",
        "{every: 100, count: steps, blend: 1}",
        "{every: 7, count: updates, blend: 1}",
    ],
    "algo.epsilon": ["0", "1", "{kind: exponential, from: 1, to: 0.01, over: 500}"],
    "net.hidden": ["[]", "[1]", "[3]", "[8, 5]", "[33]", "[64, 64]", "[17, 9, 4]"],
    "net.activation": ["linear", "relu", "leaky_relu", "tanh", "selu", "gelu"],
    "net.init": ["pytorch", "glorot", "he", "orthogonal"],
    "optimiser.name": ["adam", "adamw", "rmsprop", "sgd"],
    "optimiser.learning_rate": ["1e-3", "1e-2", "{kind: cosine, from: 1e-3, to: 0, over: 500}"],
    "optimiser.clip_norm": [0, 0.5, 10],
    "replay.capacity": [300, 1000, 5000],
    "evaluation.every": [0, 100, 333],
    "evaluation.episodes": [1, 5, 33],
    "run.steps": [300, 1000, 1501],
    "run.threads": [1, 2, 4, "auto"],
    "run.log_every": [1, 100, 1000],
}


def random_settings(rng):
    settings = {key: rng.choice(values) for key, values in CHOICES.items()}
    settings["env.count"] = rng.choice([1, 2, 3, 7, 8, 31, 32, 33, 64, 100])
    settings["algo.train_every"] = settings["env.count"] * rng.choice([1, 1, 2, 5])
    settings["evaluation.stop_when_solved"] = "false"
    return settings


def call(hotloop, *arguments):
    return subprocess.run(
        [hotloop, *map(str, arguments), "--json", "--quiet"], capture_output=True, text=True
    )


def train(hotloop, out, settings):
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return call(hotloop, "train", "cartpole_dqn", "--out", out, *sets)


def check(hotloop, settings, rng):
    """None, or what went wrong."""
    with tempfile.TemporaryDirectory() as work:
        straight = train(hotloop, work + "/straight", settings)
        if straight.returncode in (1, 2) and straight.stderr.startswith("hotloop: "):
            return None  # refused, or stopped by a non-finite number, with a message
        if straight.returncode != 0:
            return f"exit {straight.returncode}: {straight.stderr}"
        first = max(rng.randrange(1, settings["run.steps"]), settings["algo.learning_starts"])
        part = dict(settings, **{"run.steps": first, "run.threads": rng.choice([1, 2, 3])})
        begun = train(hotloop, work + "/split", part)
        if begun.returncode == 2 and "never learn" in begun.stderr:
            return None  # too early
        resumed = call(hotloop, "resume", work + "/split/cartpole_dqn-1", "--steps", settings["run.steps"])
        if begun.returncode or resumed.returncode:
            return f"split at {first}: {begun.stderr}{resumed.stderr}"
        hashes = [json.loads(p.stdout)["params_hash"] for p in (straight, resumed)]
        return None if hashes[0] == hashes[1] else f"split at {first}: {hashes[0]} became {hashes[1]}"


def main(hotloop, seconds=60, seed=1):
    rng = random.Random(int(seed))
    end = time.time() + float(seconds)
    runs = 0
    while time.time() < end:
        settings = random_settings(rng)
        failure = check(hotloop, settings, rng)
        if failure:
            sys.exit(f"{failure}\n{settings}")
        runs += 1
    print(f"{runs} random specs: each equal to the bit when split, extended and given other threads")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
