#!/usr/bin/env python3
"""signals_test.py HOTLOOP WORK: signals, closed terminals, pipes and descriptors, and children.

Whatever stops the program, training since the last checkpoint is saved, the exit code says why, no child and
no temporary file is left.
"""

import glob
import json
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import time

hotloop, work = os.path.abspath(sys.argv[1]), sys.argv[2]
shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
os.chdir(work)
os.environ["XDG_CACHE_HOME"] = os.path.abspath("cache")
failures = []
# The shell that runs the tests may ignore some signals.
for number in range(1, 32):
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # of this script; children get the default back

ENDLESS = ["cartpole_dqn", "--steps", "100000000", "--set", "evaluation.stop_when_solved=false"]
ENDLESS += ["--set", "replay.capacity=5000"]
SHORT = ["cartpole_dqn", "--steps", "3000", "--set", "replay.capacity=5000", "--set", "evaluation.every=1000"]
SHORT += ["--set", "evaluation.episodes=5"]


def expect(condition, *what):
    if not condition:
        failures.append(what)
        print("FAILED:", *what)


def start(*arguments, **options):
    options = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    } | options
    return subprocess.Popen([hotloop, *arguments], **options)


def wait_for(condition, seconds=120):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def checkpoints(run):
    return sorted(glob.glob(run + "/checkpoints/*.safetensors"))


def newest_step(run):
    return int(os.path.basename(checkpoints(run)[-1]).split(".")[0])


def temporaries(folder):
    found = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
    return [name for name in found if ".tmp" in name]


def is_training(run):
    """A metrics row is written after the first checkpoint, which is the untrained one."""
    path = run + "/metrics.jsonl"
    return os.path.exists(path) and os.path.getsize(path) > 0


def stopped_cleanly(name, run, code, number):
    expect(code == 128 + number, name, "ended with", code)
    expect(len(checkpoints(run)) == 2 and newest_step(run) > 0, name, "saved", checkpoints(run))
    expect(not temporaries(run), name, "left", temporaries(run))
    steps = newest_step(run)
    resumed = start("resume", run, "--steps", str(steps + 500), "--quiet", "--json")
    out, err = resumed.communicate()
    expect(resumed.returncode == 0 and json.loads(out)["env_steps"] >= steps, name, "resumed:", out, err)


# Each signal saves, says so, and says how to resume.
for name in ("INT", "QUIT", "TERM", "HUP", "USR1", "USR2", "XCPU"):
    number = signal.Signals["SIG" + name]
    child = start("train", *ENDLESS, "--quiet", "--out", name)
    run = name + "/cartpole_dqn-1"
    expect(wait_for(lambda: is_training(run)), name, "did not train")
    child.send_signal(number)
    child.send_signal(number)  # as `timeout` does
    out, err = child.communicate()
    expect(
        f"hotloop resume {run}" in out and "stopping as soon as everything is saved" in err, name, out, err
    )
    expect(f"stopped after {newest_step(run)} env steps" in out, name, "says", out, "saved", newest_step(run))
    stopped_cleanly(name, run, child.returncode, number)

# A batch system's warning reaches several seeds at a time, and a suite, which continues later.
with open("two.yaml", "w") as suite:
    suite.write("seeds: 1\nset: [run.steps=100000000, evaluation.stop_when_solved=false]\n")
    suite.write("rows:\n  - {title: a, spec: cartpole_dqn}\n  - {title: b, spec: cartpole_sarsa}\n")
for command, runs in (
    (
        ["train", *ENDLESS, "--seeds", "3", "--jobs", "2", "--out", "jobs"],
        ["jobs/cartpole_dqn-1", "jobs/cartpole_dqn-2"],
    ),
    (["suite", "two.yaml", "--jobs", "2", "--out", "suite"], ["suite/two/a-1", "suite/two/b-1"]),
):
    child = start(*command, "--quiet")
    expect(wait_for(lambda: all(map(is_training, runs))), command, "did not train")
    child.send_signal(signal.SIGUSR1)
    out, err = child.communicate()
    expect(child.returncode == 128 + signal.SIGUSR1, command, child.returncode, out, err)
    for run in runs:
        expect(len(checkpoints(run)) == 2 and newest_step(run) > 0, command, checkpoints(run))

# A limit on CPU time warns once a second.
child = start(
    "train",
    *ENDLESS,
    "--quiet",
    "--out",
    "cpu",
    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (2, 60)),
)
child.communicate()
stopped_cleanly("ulimit -t", "cpu/cartpole_dqn-1", child.returncode, signal.SIGXCPU)

# What a parent ignores stays ignored: nohup, or Ctrl-C for background jobs of scripts.
ignored = [signal.SIGHUP, signal.SIGINT, signal.SIGUSR1]
child = start(
    "train",
    *ENDLESS,
    "--quiet",
    "--out",
    "nohup",
    preexec_fn=lambda: [signal.signal(n, signal.SIG_IGN) for n in ignored],
)
expect(wait_for(lambda: is_training("nohup/cartpole_dqn-1")), "nohup did not train")
for number in ignored:
    child.send_signal(number)
time.sleep(0.3)
expect(child.poll() is None, "an ignored signal stopped it")
child.send_signal(signal.SIGTERM)
child.communicate()
stopped_cleanly("nohup", "nohup/cartpole_dqn-1", child.returncode, signal.SIGTERM)


# A closed pipe. Standard error: training continues. Standard output: saved, exit 1.
def closed_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def jsonl_is_whole(run):
    with open(run + "/metrics.jsonl") as lines:
        return all(json.loads(line) for line in lines)


child = start("train", *SHORT, "--json", "--out", "no_stderr", stderr=closed_pipe())
out, _ = child.communicate()
expect(
    child.returncode == 0 and json.loads(out)["env_steps"] >= 3000, "closed stderr:", child.returncode, out
)
for name, seeds in (("no_stdout", []), ("no_stdout_jobs", ["--seeds", "2", "--jobs", "2"])):
    for json_flag in (["--json"], []):
        shutil.rmtree(name, ignore_errors=True)
        child = start("train", *SHORT, *seeds, *json_flag, "--out", name, stdout=closed_pipe())
        _, err = child.communicate()
        text = f"cannot write to standard output: Broken pipe; the run is saved in {name}/cartpole_dqn-1"
        expect(child.returncode == 1 and text in err, name, child.returncode, err)
        expect(os.path.exists(name + "/cartpole_dqn-1/result.json"), name, "has no result")
child = start("list", "specs", stdout=closed_pipe())
expect(
    child.communicate()[1] == "" and child.returncode == 128 + signal.SIGPIPE,
    "list | head:",
    child.returncode,
)
with open("/dev/full", "w") as full:
    for command in (["list", "specs"], ["--help"], ["inspect", "no_stdout/cartpole_dqn-1"]):
        child = start(*command, stdout=full)
        expect("No space left" in child.communicate()[1] and child.returncode == 1, command, child.returncode)

# Descriptors that are closed from the start: no file gets their number, and their messages.
for closed in ([0], [1], [2], [1, 2], [0, 1, 2]):
    name = "closed" + "".join(map(str, closed))
    child = start(
        "train",
        *SHORT,
        "--json",
        "--out",
        name,
        preexec_fn=lambda: [os.close(n) for n in closed],
        close_fds=False,
    )
    out, err = child.communicate()
    run = name + "/cartpole_dqn-1"
    expect(child.returncode == (1 if 1 in closed else 0), name, child.returncode, out, err)
    expect(jsonl_is_whole(run) and os.path.exists(run + "/result.json"), name, "is not whole")
    inspected = subprocess.run([hotloop, "inspect", run], capture_output=True, text=True)
    expect(inspected.returncode == 0 and "DAMAGED" not in inspected.stdout, name, inspected.stdout)

# A limit on file sizes, without help from the shell: the newest whole checkpoint stays, no temporary.
subprocess.run([hotloop, "train", *SHORT, "--quiet", "--out", "limit"], capture_output=True)
run = "limit/cartpole_dqn-1"
before = {path: open(path, "rb").read() for path in checkpoints(run)}
child = start(
    "resume",
    run,
    "--steps",
    "9000",
    "--quiet",
    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384)),
)
_, err = child.communicate()
expect(child.returncode == 1 and "File too large" in err, "ulimit -f:", child.returncode, err)
expect(
    {path: open(path, "rb").read() for path in checkpoints(run)} == before, "ulimit -f damaged a checkpoint"
)
expect(not temporaries(run), "ulimit -f left", temporaries(run))


# A closed terminal: SIGHUP, and then every write to it fails.
def close_terminal(name, arguments, is_busy, may_die=False):
    child, terminal = pty.fork()
    if child == 0:
        os.execv(hotloop, [hotloop, *arguments])
    os.set_blocking(terminal, False)
    shown = b""

    def look():
        nonlocal shown
        try:
            shown += os.read(terminal, 1 << 16)
        except BlockingIOError:
            pass
        return is_busy(shown)

    expect(wait_for(look), name, "did not start:", shown)
    os.close(terminal)
    status = None

    def ended():
        nonlocal status
        pid, status = os.waitpid(child, os.WNOHANG)
        return pid == child

    if not wait_for(ended):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        expect(False, name, "did not end")
        return
    if may_die and os.WIFSIGNALED(status):
        expect(os.WTERMSIG(status) == signal.SIGHUP, name, "was killed by", os.WTERMSIG(status))
    else:
        code = os.waitstatus_to_exitcode(status)
        expect(code == 128 + signal.SIGHUP, name, "ended with", code, shown)


run = "tty/cartpole_dqn-1"
close_terminal("train", ["train", *ENDLESS, "--out", "tty"], lambda shown: is_training(run) and b"%" in shown)
stopped_cleanly("train on a closed terminal", run, 129, signal.SIGHUP)
long_ago = newest_step(run)
close_terminal("resume", ["resume", run, "--steps", "100000000"], lambda shown: b"%" in shown)
expect(newest_step(run) > long_ago, "resume on a closed terminal saved nothing")
runs = ["tty/two/a-1", "tty/two/b-1"]
close_terminal(
    "suite", ["suite", "two.yaml", "--jobs", "2", "--out", "tty"], lambda shown: all(map(is_training, runs))
)
expect(all(newest_step(run) > 0 for run in runs), "suite on a closed terminal saved nothing")
close_terminal(
    "train --jobs",
    ["train", *ENDLESS, "--seeds", "2", "--jobs", "2", "--out", "tty"],
    lambda shown: is_training("tty/cartpole_dqn-3"),
)
close_terminal("doctor", ["doctor", "cartpole_dqn", "--minutes", "1"], lambda shown: len(shown) > 0)
close_terminal(
    "profile", ["profile", "cartpole_dqn", "--seconds", "60"], lambda shown: shown.count(b"s left") > 1
)
close_terminal(
    "watch", ["watch", run, "--episodes", "1000000"], lambda shown: b"return" in shown, may_die=True
)
bench = os.path.join(os.path.dirname(hotloop), "hotloop_bench")
if os.path.exists(bench):
    close_terminal("bench", ["bench", "update"], lambda shown: len(shown) > 0, may_die=True)


# Children end with the program: a compiler, an environment that hangs, a sanitised run.
def is_killed(process, flags):
    """Whether it is exiting, or will as soon as it runs again: on a busy machine that takes a while."""
    exiting, kill = 0x4, 1 << (signal.SIGKILL - 1)
    with open(process + "/status") as file:
        pending = [int(line.split()[1], 16) for line in file if line.startswith(("SigPnd", "ShdPnd"))]
    return bool(flags & exiting) or any(signals & kill for signals in pending)


def commands_of(session):
    """The command line of each process of a session that lives and has not been killed."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        try:
            with open(path + "/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            if int(fields[3]) != session or fields[0] == "Z" or is_killed(path, int(fields[6])):
                continue
            with open(path + "/cmdline") as file:
                command = file.read().split("\0")
        except OSError:
            continue
        found.append(command)
    return found


def end_with_children(name, source, program, *command):
    with open(name + ".cpp", "w") as file:
        file.write(source)
    shutil.rmtree("cache", ignore_errors=True)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        child = start(*command, name + ".cpp", start_new_session=True)
        programs = lambda: [words[0] for words in commands_of(child.pid)]
        is_busy = lambda: sum(map(program, programs())) > (program(hotloop))
        expect(wait_for(is_busy), name, "did not start:", programs())
        began = time.time()
        child.send_signal(number)
        _, err = child.communicate()
        expect(child.returncode == 128 + number, name, number, child.returncode, err)
        expect(time.time() - began < 30, name, "took", time.time() - began)
        left = commands_of(child.pid)
        expect(not left, name, "left", left)
        expect(not temporaries("cache") and not temporaries("."), name, "left", temporaries("cache"))


WORLD = """#include <hotloop/env.hpp>
%s
struct Slow {
  static constexpr auto spec = hotloop::EnvSpec{.name = "slow", .obs = 1, .actions = 2, .max_steps = 10};
  int x = 0;
  void reset(hotloop::Rng&) { x = 0; }
  void observe(std::span<float> obs) const { obs[0] = float(x); }
  hotloop::Step step(int a, hotloop::Rng&) { %s return {float(a), ++x > 9}; }
};
HOTLOOP_ENV(Slow)
"""
# Many small evaluations at compile time, each within the compiler's own limit.
LONG = "template <int N> constexpr int count() { int s = N; for (int i = 0; i < 200000; ++i) s ^= i ^ N; return s; }\n"
LONG += "".join(f"static_assert(count<{n}>() != 12345678);\n" for n in range(200))
HANG = "volatile bool forever = true; while (forever) {}"
SANITISED_HANG = "\n#ifdef __SANITIZE_ADDRESS__\n" + HANG + "\n#endif\n"
end_with_children("compiled", WORLD % (LONG, ""), lambda path: path.endswith("cc1plus"), "train")
end_with_children("hanging", WORLD % ("", HANG), lambda path: path == hotloop, "train")
end_with_children(
    "sanitised", WORLD % ("", SANITISED_HANG), lambda path: path.startswith("/proc/self/fd/"), "check"
)

print(f"{len(failures)} failed" if failures else "all checks of signals passed")
sys.exit(len(failures) > 0)
