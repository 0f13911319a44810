#!/usr/bin/env python3
"""limits_test.py HOTLOOP WORK [STEP_KIB]: limits on memory, stack, open files and processes.

At every limit a command either does what it should, with the same bits, or ends with exit code 1 or 2 and a
message. It never crashes. Where the dynamic linker cannot load the program (exit code 127), there is nothing
that the program could do.
"""

import glob
import json
import os
import resource
import shutil
import subprocess
import sys

hotloop, work = os.path.abspath(sys.argv[1]), sys.argv[2]
step = int(sys.argv[3]) if len(sys.argv) > 3 else 2048
shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
os.chdir(work)
os.environ["XDG_CACHE_HOME"] = os.path.abspath("cache")
SMALL = ["--set", "replay.capacity=3000", "--set", "evaluation.episodes=3", "--set", "evaluation.every=0"]
SMALL += ["--set", "algo.learning_starts=200", "--set", "evaluation.stop_when_solved=false"]
TRAIN = ["train", "cartpole_dqn", *SMALL, "--set", "run.threads=2", "--quiet", "--json"]
failures = 0
counts = {}  # (limit, command): [succeeded, refused, not loaded]


def limited(kind, soft):
    return lambda: resource.setrlimit(kind, (soft, soft))


def call(command, preexec=None):
    done = subprocess.run(
        [hotloop, *command], capture_output=True, text=True, preexec_fn=preexec, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


def judge(kind, value, name, result, ok, words):
    global failures
    code, out, err = result
    tally = counts.setdefault((kind, name), [0, 0, 0])
    if code == 127 and "error while loading shared libraries" in err:
        tally[2] += 1
    elif code == 0 and ok(out):
        tally[0] += 1
    elif code in (1, 2) and any(word in out + err for word in words):
        tally[1] += 1
    else:
        failures += 1
        print(f"FAILED: {kind} {value}, {name}: exit {code}, {out[-300:]}{err[-600:]}")


def check(kind, value, name, command, ok, words):
    judge(kind, value, name, call(command, limited(getattr(resource, kind), value)), ok, words)


def params_hash(out):
    return json.loads(out.splitlines()[-1])["params_hash"]


_, out, err = call([*TRAIN, "--steps", "1500", "--out", "free"])
free = params_hash(out)
_, out, _ = call(["eval", "free/cartpole_dqn-1", "--json"])
evaluated = out
_, out, _ = call([*TRAIN, "--out", "long", "--steps", "3000"])
longer = params_hash(out)


def commands():
    """Name, arguments, and whether an output is right."""
    shutil.rmtree("new", ignore_errors=True)
    shutil.rmtree("resumed", ignore_errors=True)
    shutil.copytree("free", "resumed")
    return (
        ("list", ["list", "specs"], lambda out: "cartpole_dqn" in out),
        ("train", [*TRAIN, "--steps", "1500", "--out", "new"], lambda out: params_hash(out) == free),
        (
            "resume",
            ["resume", "resumed/cartpole_dqn-1", "--steps", "3000", "--quiet", "--json"],
            lambda out: params_hash(out) == longer,
        ),
        ("eval", ["eval", "free/cartpole_dqn-1", "--json"], lambda out: out == evaluated),
        ("check", ["check", "cartpole", "--json"], lambda out: json.loads(out)["passed"]),
        ("inspect", ["inspect", "free/cartpole_dqn-1"], lambda out: "DAMAGED" not in out),
    )


MIB = 1 << 20
memory_words = [
    "out of memory",
    "do not fit",
    "Cannot allocate memory",
    "threads could be started",
    "does not fit",
]
memory_words += ["replay.capacity", "available", "of memory"]
for kib in range(10 * 1024, 64 * 1024, step):
    for name, command, ok in commands():
        check("RLIMIT_AS", kib * 1024, name, command, ok, memory_words)
for kib in range(1024, 24 * 1024, step):
    for name, command, ok in commands():
        check("RLIMIT_DATA", kib * 1024, name, command, ok, memory_words)
for kib in (64, 100, 128, 256, 512, 1000, 1024, 2048):
    for name, command, ok in commands():
        check("RLIMIT_STACK", kib * 1024, name, command, ok, ["the stack is limited to"])
for files in range(3, 12):
    for name, command, ok in commands():
        check("RLIMIT_NOFILE", files, name, command, ok, ["Too many open files"])


def few_processes(soft):  # the limit does not hold for root
    def prepare():
        resource.setrlimit(resource.RLIMIT_NPROC, (soft, soft))
        if os.getuid() == 0:
            os.setuid(65534)

    return prepare


os.makedirs("anyone")
os.chmod("anyone", 0o777)
if call(["list", "specs"], few_processes(1))[0] == 0:
    words = ["thread", "cannot start another process"]
    for soft in (1, 2):
        for name, command in (
            ("train", [*TRAIN, "--steps", "1500", "--out", "anyone"]),
            ("jobs", [*TRAIN, "--steps", "1500", "--out", "anyone", "--seeds", "3", "--jobs", "3"]),
            ("check", ["check", "cartpole"]),
        ):
            judge("RLIMIT_NPROC", soft, name, call(command, few_processes(soft)), lambda out: True, words)
else:
    print("another user cannot run this program: a limit on processes is not tested")

for (kind, name), (done, refused, unloaded) in counts.items():
    print(
        f"{kind:14} {name:8} {done:3} succeeded, {refused:3} refused with a message, {unloaded:2} not loaded"
    )
left = [name for name in glob.glob("**/*.tmp*", recursive=True)]
if left:
    failures += 1
    print("FAILED: left", left)
print(f"{failures} failed" if failures else "all checks of limits passed")
sys.exit(failures > 0)
