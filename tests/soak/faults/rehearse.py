#!/usr/bin/env python3
"""rehearse.py HOTLOOP SHIM WORK [CALL...] [--every K] [--jobs N]: rehearses faults.

Makes the 1st, 2nd, 3rd, ... call of a function fail in a short training (and in a resumed one), until
a run makes fewer calls. Every run must either give the result of an undisturbed run, or end with exit
code 1 or 2 and a message of one line; then `hotloop resume` must give the result of the undisturbed
run, with the same rows in its logs. Before the first checkpoint nothing can be resumed, and resume
must say so.
"""

import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

FAULTS = {  # call: the errors it may give
    "write": ["ENOSPC", "EIO"],
    "fsync": ["EIO"],
    "fdatasync": ["EIO"],
    "rename": ["ENOSPC"],
    "open": ["EMFILE"],
    "read": ["EIO"],
    "pread": ["EIO"],
    "ftruncate": ["EIO"],
    "unlink": ["EACCES"],
    "mkdir": ["ENOSPC"],
    "flock": ["EIO"],
    "getentropy": ["EIO"],
    "mmap": ["ENOMEM"],
    "malloc": ["ENOMEM"],
}
QUICK = ["write", "fsync", "fdatasync", "rename", "open"]
TIMEOUT = 120  # a run takes a tenth of a second, but the machine may be busy

SPEC = """\
name: tiny
env: {name: cartpole, count: 4}
algo: {name: dqn, batch: 16, learning_starts: 64, updates_per_step: 0.25, train_every: 64}
net: {hidden: [8]}
replay: {capacity: 256}
evaluation: {every: 128, episodes: 2, max_steps: 50}
run: {steps: 256, log_every: 32, log_rows: 4, episode_log: true, checkpoint_seconds: 0}
"""


def run(arguments, fault=None, log=None):
    env = dict(os.environ)
    if fault:
        env.update(LD_PRELOAD=SHIM, HOTLOOP_FAULT=fault, HOTLOOP_FAULT_LOG=log)
    done = subprocess.run(
        [HOTLOOP, *arguments, "--quiet", "--json"], env=env, capture_output=True, text=True, timeout=TIMEOUT
    )
    return done.returncode, done.stdout, done.stderr


def logs(folder):
    """What the logs of a run hold, apart from times."""
    with open(folder + "/metrics.jsonl", encoding="utf-8") as file:
        steps = [json.loads(line)["env_steps"] for line in file]
    with open(folder + "/episodes.jsonl", encoding="utf-8") as file:
        return steps, file.read()


def hash_of(stdout):
    return json.loads(stdout)["params_hash"] if stdout.strip() else ""


def is_message(code, stderr):
    """One line, apart from notes: which version started the run, which checkpoint to try."""
    return code in (1, 2) and sum(line.startswith("hotloop: ") for line in stderr.split("\n")) == 1


class Point:
    """One fault: which call of which phase (train or resume) fails."""

    def __init__(self, phase, call, number, error, expected):
        self.phase, self.call, self.number, self.error, self.expected = phase, call, number, error, expected
        self.folder = f"{WORK}/{phase}-{call}-{number}-{error}"

    def fault(self):
        return f"{self.call}:{self.number}:{self.error}"

    def rehearse(self):
        """Returns whether the fault happened, and what is wrong ("" if nothing is)."""
        shutil.rmtree(self.folder, ignore_errors=True)
        run_dir, log = self.folder + "/tiny-1", self.folder + "/happened"
        os.makedirs(self.folder)
        if self.phase == "resume":
            shutil.copytree(WORK + "/half/tiny-1", run_dir)
            arguments = ["resume", run_dir, "--steps", "256"]
        else:
            arguments = ["train", WORK + "/tiny.yaml", "--out", self.folder]
        try:
            wrong = self.check(run(arguments, self.fault(), log), run_dir)
        except subprocess.TimeoutExpired:
            wrong = "does not end"
        happened = os.path.exists(log)
        if not wrong:
            shutil.rmtree(self.folder)
        return happened, wrong

    def check(self, ended, run_dir):
        code, stdout, stderr = ended
        if code == 0:
            return self.compare(stdout, run_dir)
        if not is_message(code, stderr):
            return f"exit {code}, and as message: {stderr}"
        code, stdout, stderr = run(["resume", run_dir, "--steps", "256"])
        if code == 0:
            return self.compare(stdout, run_dir)
        checkpoints = run_dir + "/checkpoints"
        if os.path.isdir(checkpoints) and any(
            name.endswith(".safetensors") for name in os.listdir(checkpoints)
        ):
            return f"cannot be resumed: exit {code}: {stderr}"
        if not is_message(code, stderr):
            return f"without a checkpoint, resume ends with {code}: {stderr}"
        return ""

    def compare(self, stdout, run_dir):
        if (hash_of(stdout), *logs(run_dir)) != self.expected:
            return f"another result: {hash_of(stdout)} {logs(run_dir)[0]}, expected {self.expected[:2]}"
        temporaries = [name for _, _, names in os.walk(run_dir) for name in names if name.endswith(".tmp")]
        return f"left behind: {temporaries}" if temporaries else ""


def rehearse_call(pool, phase, call, error, every, jobs, expected):
    """Returns the number of points, and the failures."""
    points, failures, number = 0, [], 1
    while True:
        batch = [Point(phase, call, number + i * every, error, expected) for i in range(jobs)]
        number += jobs * every
        for point, (happened, wrong) in zip(batch, pool.map(Point.rehearse, batch)):
            points += happened
            if wrong:
                failures.append(f"{phase} {point.fault()}: {wrong}")
            if not happened:
                return points, failures


def main():
    global HOTLOOP, SHIM, WORK
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("hotloop")
    parser.add_argument("shim")
    parser.add_argument("work")
    parser.add_argument("calls", nargs="*", help=f"default: {' '.join(QUICK)}; all: everything")
    parser.add_argument("--every", type=int, default=1, help="only every K-th call")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    HOTLOOP, SHIM, WORK = (
        os.path.abspath(path) for path in (arguments.hotloop, arguments.shim, arguments.work)
    )
    calls = list(FAULTS) if arguments.calls == ["all"] else arguments.calls or QUICK

    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    with open(WORK + "/tiny.yaml", "w", encoding="utf-8") as file:
        file.write(SPEC)
    code, stdout, stderr = run(["train", WORK + "/tiny.yaml", "--out", WORK + "/straight"])
    if code != 0:
        sys.exit(f"the undisturbed run failed: {stderr}")
    expected = (hash_of(stdout), *logs(WORK + "/straight/tiny-1"))
    code, _, stderr = run(["train", WORK + "/tiny.yaml", "--out", WORK + "/half", "--steps", "128"])
    if code != 0:
        sys.exit(f"half of the run failed: {stderr}")
    # As if it had been killed after its last checkpoint.
    for log, rest in ("metrics", '{"env_steps":192}\n{"env'), ("episodes", '{"env_steps":150}\n{"env'):
        with open(f"{WORK}/half/tiny-1/{log}.jsonl", "a", encoding="utf-8") as file:
            file.write(rest)

    all_failures = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for call in calls:
            for error in FAULTS[call] if arguments.calls else FAULTS[call][:1]:
                for phase in ("train", "resume"):
                    points, failures = rehearse_call(
                        pool, phase, call, error, arguments.every, arguments.jobs, expected
                    )
                    print(
                        f"{phase:6} {call:10} {error:6} {points:5} points, {len(failures)} failed", flush=True
                    )
                    all_failures += failures
                    if points == 0 and call in QUICK:  # every run makes these calls
                        all_failures.append(f"{phase} {call}: no call failed: is {SHIM} active?")
    for failure in all_failures[:20]:
        print(failure)
    sys.exit(1 if all_failures else 0)


if __name__ == "__main__":
    main()
