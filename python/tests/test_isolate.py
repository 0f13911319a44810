"""Python environments in their own process: equal to the bit, and unable to take the trainer with them."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("cloudpickle")

import hotloop  # noqa: E402
from gymnasium import spaces  # noqa: E402
from gymnasium.vector import SyncVectorEnv  # noqa: E402
from hotloop import _worlds  # noqa: E402


class Walk(gymnasium.Env):
    """Nine steps to the left or right; with a mask, and a wish for its end."""

    observation_space = spaces.Box(-20, 20, (2,))
    action_space = spaces.Discrete(3)

    def __init__(self, wish=None, after=200):
        self.wish, self.left = wish, after

    def look(self):
        return np.array([self.at, self.steps], np.float32), {"action_mask": np.array([1, 1, self.steps % 2])}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.steps = float(self.np_random.integers(-5, 5)), 0
        return self.look()

    def step(self, action):
        self.at += action - 1
        self.steps += 1
        self.left -= 1
        if self.left < 0 and self.wish == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.left < 0 and self.wish == "exit":
            os._exit(0)
        if self.left < 0 and self.wish == "loop":
            time.sleep(1000)
        if self.left < 0 and self.wish == "raise":
            raise ZeroDivisionError("no wish")
        obs, info = self.look()
        return obs, self.at, self.steps == 9, False, info


def small(tmp_path, steps=3000):
    return {"steps": steps, "progress": False, "out": tmp_path, "evaluation": {"episodes": 2, "every": 0}}


def test_results_are_equal_to_the_bit(tmp_path):
    count = {"env.count": 4}
    plain = hotloop.train("dqn", env=Walk, **count, **small(tmp_path))
    apart = hotloop.train("dqn", env=Walk, isolate=True, **count, **small(tmp_path))
    assert plain.result["params_hash"] == apart.result["params_hash"]
    longer = hotloop.train("dqn", env=Walk, **count, **small(tmp_path, 6000)).result["params_hash"]
    assert (
        hotloop.resume(plain, env=Walk, steps=6000, isolate=True, progress=False).result["params_hash"]
        == longer
    )
    assert hotloop.resume(apart, env=Walk, steps=6000, progress=False).result["params_hash"] == longer


RESUME = """
import hotloop, os, sys
from test_isolate import Walk
class Where(Walk):
    def reset(self, **given):
        print("process", os.getpid(), flush=True)
        return super().reset(**given)
isolate = {"as trained": None, "isolated": True, "here": False}[sys.argv[2]]
env = None if sys.argv[3] == "id" else Where
print("trainer", os.getpid(), flush=True)
print("hash", hotloop.resume(sys.argv[1], env=env, steps=int(sys.argv[4]), isolate=isolate, progress=False)
      .result["params_hash"])
"""


def resume_elsewhere(run, how, env, steps):
    """Resumes in a new process. Returns whether the environments played in the trainer's, and the hash."""
    words = [sys.executable, "-c", RESUME, run.folder, how, env, str(steps)]
    done = subprocess.run(words, cwd=os.path.dirname(__file__), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = [line.split() for line in done.stdout.splitlines()]
    (trainer,) = (word for what, word in said if what == "trainer")
    (params_hash,) = (word for what, word in said if what == "hash")
    return {word == trainer for what, word in said if what == "process"}, params_hash


def test_a_resumed_run_remembers(tmp_path):
    longer = hotloop.train("dqn", env=Walk, **small(tmp_path, 9000)).result["params_hash"]
    run = hotloop.train("dqn", env=Walk, isolate=30.0, **small(tmp_path))
    said = open(run.folder + "/spec.yaml").read()
    assert "isolate: true" in said and "timeout_seconds: 30" in said
    plays_here, _ = resume_elsewhere(run, "as trained", "again", 4500)
    assert plays_here == {False}
    plays_here, _ = resume_elsewhere(run, "here", "again", 6000)  # from here on, not isolated
    assert plays_here == {True}
    plays_here, _ = resume_elsewhere(run, "as trained", "again", 7500)
    assert plays_here == {True}
    plays_here, params_hash = resume_elsewhere(run, "isolated", "again", 9000)
    assert plays_here == {False}
    assert params_hash == longer


def test_a_gymnasium_id_remembers(tmp_path, monkeypatch):
    run = hotloop.train("dqn", env="CartPole-v1", isolate=True, **small(tmp_path))
    hotloop.train("dqn", env="CartPole-v1", **small(tmp_path))  # the same name, now in this process
    made = []
    register = _worlds.register
    monkeypatch.setattr(
        _worlds, "register", lambda *a, **given: made.append(given["timeout"]) or register(*a, **given)
    )
    hotloop.resume(run, steps=4000, progress=False)
    assert made == [60.0]
    hotloop.resume(run, steps=5000, progress=False)  # still registered
    assert made == [60.0]


def test_the_same_process_remembers(tmp_path):
    run = hotloop.train("dqn", env=Walk, isolate=True, **small(tmp_path))
    hotloop.resume(run, steps=4000, progress=False)
    hotloop.resume(run, steps=5000, isolate=True, progress=False)
    plain = hotloop.train("dqn", env=Walk, **small(tmp_path))
    with pytest.raises(hotloop.UsageError, match="give it again, as env="):
        hotloop.resume(plain, steps=4000, isolate=True, progress=False)


@pytest.mark.parametrize(
    "wish, text",
    [
        ("crash", "env: step crashed: its process was ended by signal 11"),
        ("exit", "env: step ended its process with exit code 0"),
        ("loop", "env: step did not return within 1.5 s"),
    ],
)
def test_the_trainer_survives(tmp_path, wish, text):
    with pytest.raises(hotloop.RunError, match=text):
        hotloop.train(
            "dqn", env=lambda: Walk(wish), isolate=1.5 if wish == "loop" else True, **small(tmp_path)
        )
    (run,) = tmp_path.iterdir()
    whole = hotloop.resume(run, env=Walk, progress=False)
    plain = hotloop.train("dqn", env=Walk, **small(tmp_path))
    assert whole.result["params_hash"] == plain.result["params_hash"]


def test_exceptions_arrive(tmp_path):
    with pytest.raises(ZeroDivisionError, match="no wish"):
        hotloop.train("dqn", env=lambda: Walk("raise"), isolate=True, **small(tmp_path))
    with pytest.raises(ZeroDivisionError):  # while it is made
        hotloop.train("dqn", env=lambda: 1 / 0, isolate=True, **small(tmp_path))


def test_what_cannot_be_isolated(tmp_path):
    with pytest.raises(hotloop.UsageError, match="a vector environment that already exists"):
        hotloop.train("dqn", env=SyncVectorEnv([Walk]), eval_env=Walk, isolate=True, **small(tmp_path))
    with pytest.raises(hotloop.UsageError, match="isolate is -1; allowed"):
        hotloop.train("dqn", env=Walk, isolate=-1, **small(tmp_path))
    with pytest.raises(hotloop.UsageError, match="cartpole is part of hotloop"):
        hotloop.train("cartpole", isolate=True, **small(tmp_path))
