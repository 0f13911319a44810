#!/usr/bin/env python3
"""kill_campaign.py HOTLOOP [--kills N] [--seed S] [--spec NAME --steps N] [--work FOLDER]: kills runs at random
moments and resumes them.

Twelve ready-made specs of all algorithms, in turn, or one that is named, each with another seed, with or without
pipelining. One run is left alone. The other is ended again and again, mostly by SIGKILL, sometimes by SIGTERM or SIGUSR1, or paused by
SIGSTOP, and resumed each time with another number of threads. At the end both must have the same params_hash,
the same bytes in every tensor of the final checkpoint and of the models, the same state (but for times), the
same episodes and the same rows of metrics (but for times). Checkpoints are written all the time, so that many
kills happen during a write. Not part of ./test, whose kill_resume test is the short form.
"""

import argparse
import collections
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# Name, env steps (some seconds of training), settings.
SPECS = [
    ("cartpole_dqn", 600_000, ["replay.capacity=20000"]),
    ("cartpole_ddqn_per", 300_000, ["replay.capacity=20000"]),
    ("cartpole_rainbow", 50_000, ["replay.capacity=10000"]),
    ("cartpole_pqn", 1_000_000, []),
    ("cartpole_sarsa", 1_000_000, []),
    ("cartpole_ppo", 400_000, []),
    ("pendulum_ppo", 200_000, []),
    ("topology_64", 100_000, ["replay.capacity=5000"]),
    ("snake_per", 100_000, ["replay.capacity=10000"]),
    ("sfc_best", 40_000, ["replay.capacity=4000"]),
    ("pendulum_sac_rltools", 10_000, ["replay.capacity=5000"]),
    ("pendulum_td3", 20_000, ["replay.capacity=5000", "net.hidden=[32, 32]", "algo.batch=64"]),
]
COMMON = ["run.checkpoint_seconds=0.02", "run.episode_log=true", "evaluation.stop_when_solved=false"]
COMMON += ["evaluation.episodes=3", "evaluation.max_steps=300"]
# How a session ends; a paused one continues.
WAYS = [signal.SIGKILL] * 8 + [signal.SIGTERM, signal.SIGUSR1, signal.SIGSTOP]
TIMES = {"seconds", "group_seconds", "solved_seconds", "metrics_bytes"}  # of a checkpoint's record
TIMED_COLUMNS = {"seconds", "env_steps_per_second", "updates_per_second", "resident_bytes", "time"}


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    about = header.pop("__metadata__", {})
    body = data[8 + size :]
    return {name: body[slice(*tensor["data_offsets"])] for name, tensor in header.items()}, about


def contents(run):
    """Everything that a run decided, without times."""
    result = {}
    checkpoint = sorted(glob.glob(run + "/checkpoints/*.safetensors"))[-1]
    result["checkpoint"] = os.path.basename(checkpoint)
    for path in (checkpoint, run + "/model-latest.safetensors", run + "/model-best.safetensors"):
        if not os.path.exists(path):
            continue
        tensors, about = read_safetensors(path)
        name = os.path.basename(path)
        result.update({f"{name}: {tensor}": data for tensor, data in tensors.items()})
        if "state" in about:
            state = json.loads(about["state"])
            for field in TIMES:
                state["record"].pop(field, None)
            result["state"] = state
    with open(run + "/metrics.jsonl") as rows:
        result["metrics"] = [
            {key: value for key, value in json.loads(row).items() if key not in TIMED_COLUMNS} for row in rows
        ]
    with open(run + "/episodes.jsonl") as rows:
        result["episodes"] = rows.read()
    return result


class Campaign:
    def __init__(self, hotloop, specs, seed, work):
        self.hotloop, self.specs, self.work = hotloop, specs, work
        self.random = random.Random(seed)
        self.sent = collections.Counter()
        self.runs = self.differing = self.temporaries = self.restarts = 0

    def call(self, *arguments):
        return subprocess.Popen(
            [
                self.hotloop,
                *arguments,
                "--json",
                "--quiet",
                "--set",
                f"run.threads={self.random.choice([1, 2, 3, 4])}",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def train(self, spec, steps, seed, settings, out):
        sets = [word for setting in settings for word in ("--set", setting)]
        return self.call(
            "train", spec, "--steps", str(steps), "--seed", str(seed), "--out", f"{self.work}/{out}", *sets
        )

    def disturb(self, session, pause):
        """Ends the session after a while; false if it had finished before."""
        way = self.random.choice(WAYS)
        try:
            session.wait(self.random.expovariate(1 / pause))
            return False
        except subprocess.TimeoutExpired:
            pass
        self.sent[way.name] += 1
        session.send_signal(way)
        if way == signal.SIGSTOP:
            time.sleep(0.05)
            session.send_signal(signal.SIGCONT)
            return self.disturb(session, pause)
        return True

    def broken_run(self, spec, steps, seed, settings, pause):
        folder = f"{self.work}/broken/{spec}-1"
        session = self.train(spec, steps, seed, settings, "broken")
        while True:
            was_disturbed = self.disturb(session, pause)
            out, err = session.communicate()
            pause *= 1.05  # so that the run ends on a machine that has become busy
            if session.returncode == 0:
                return folder, json.loads(out)
            if not was_disturbed or session.returncode not in (
                -signal.SIGKILL,
                -signal.SIGTERM,
                -signal.SIGUSR1,
                128 + signal.SIGTERM,
                128 + signal.SIGUSR1,
            ):
                sys.exit(f"{spec} seed {seed}: exit {session.returncode}: {err}")
            if glob.glob(folder + "/checkpoints/*.safetensors"):
                session = self.call("resume", folder)
            else:  # ended before its first checkpoint
                self.restarts += 1
                shutil.rmtree(f"{self.work}/broken", ignore_errors=True)
                session = self.train(spec, steps, seed, settings, "broken")

    def one(self, number):
        spec, steps, settings = self.specs[number % len(self.specs)]
        seed = self.random.randrange(1 << 40)
        settings = COMMON + settings + [f"evaluation.every={steps // 4}", f"run.log_every={steps // 10}"]
        has_replay = "replay.capacity" in " ".join(settings)
        if has_replay and self.random.random() < 0.5:
            settings.append("algo.pipelined=true")
        for name in ("straight", "broken"):
            shutil.rmtree(f"{self.work}/{name}", ignore_errors=True)
        began = time.time()
        session = self.train(spec, steps, seed, settings, "straight")
        out, err = session.communicate()
        if session.returncode:
            sys.exit(f"{spec}: {err}")
        straight = json.loads(out)
        pause = 0.1 + (time.time() - began) / 8
        folder, broken = self.broken_run(spec, steps, seed, settings, pause)
        expected, found = contents(f"{self.work}/straight/{spec}-1"), contents(folder)
        different = [name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)]
        if broken["params_hash"] != straight["params_hash"]:
            different.append("params_hash")
        self.runs += 1
        self.temporaries += sum(".tmp" in name for _, _, names in os.walk(folder) for name in names)
        if different:
            self.differing += 1
            print(f"DIFFERENT: {spec} seed {seed} {settings}: {different}", flush=True)
            shutil.copytree(self.work, f"{self.work}-different-{self.runs}")

    def report(self):
        signals = ", ".join(f"{count} {name}" for name, count in sorted(self.sent.items()))
        return (
            f"{self.sent['SIGKILL']} kills ({signals}) in {self.runs} runs of {min(self.runs, len(self.specs))} specs, "
            f"{self.differing} differing, {self.restarts} ended before their first checkpoint, "
            f"{self.temporaries} temporary files left"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("hotloop")
    parser.add_argument("--kills", type=int, default=20, help="SIGKILLs in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spec", help="only this ready-made spec, with a replay of 20,000")
    parser.add_argument("--steps", type=int, default=20_000, help="its env steps")
    parser.add_argument("--work", default=None)
    arguments = parser.parse_args()
    specs = [(arguments.spec, arguments.steps, ["replay.capacity=20000"])] if arguments.spec else SPECS
    work = arguments.work or tempfile.mkdtemp(prefix="kill_campaign-")
    campaign = Campaign(os.path.abspath(arguments.hotloop), specs, arguments.seed, work)
    while campaign.sent["SIGKILL"] < arguments.kills:
        campaign.one(campaign.runs)
        print(campaign.report(), flush=True)
    shutil.rmtree(work, ignore_errors=True)
    sys.exit(campaign.differing > 0)


if __name__ == "__main__":
    main()
