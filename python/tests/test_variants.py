"""Environments passed to evaluate and resume replace only the run's own environment."""

import subprocess
import sys

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import hotloop  # noqa: E402
from gymnasium import spaces  # noqa: E402


class Paid(gymnasium.Env):
    """Five steps with a constant reward."""

    observation_space = spaces.Box(-1, 1, (1,))
    action_space = spaces.Discrete(2)
    pay = 1.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.zeros(1, np.float32), self.pay, self.steps == 5, False, {}


class Dear(Paid):
    pay = 100.0


def small(**more):
    return {
        "algo": {"learning_starts": 100, "updates_per_step": 0.25, "train_every": 8},
        "net": {"hidden": [8]},
        "run": {"log_every": 100},
        "evaluation": {"every": 0, "episodes": 4},
        "progress": False,
        **more,
    }


def test_an_environment_given_to_evaluate_holds_for_that_call(tmp_path):
    run = hotloop.train("dqn", env=Paid, steps=400, out=tmp_path, **small())
    assert run.evaluate(3, env=Dear).mean == 500
    assert run.evaluate(3).mean == 5
    assert hotloop.load(run.folder).evaluate(3).mean == 5
    longer = hotloop.resume(run, steps=800, progress=False)
    assert longer.metrics["exploring_return"][-1] == 5
    assert longer.evaluate(3, env=Dear).mean == 500 and longer.latest.evaluate(3).mean == 5


def test_an_id_stays_what_it_is(tmp_path):
    settings = {"steps": 2_048, "out": tmp_path, "progress": False, "evaluation": {"every": 0, "episodes": 2}}
    run = hotloop.train("ppo", env="Pendulum-v1", **settings)
    other = hotloop.train("ppo", env="Pendulum-v1", **settings)

    def floating():
        return gymnasium.make("Pendulum-v1", g=0)

    own = run.evaluate(4).returns
    assert not np.array_equal(run.evaluate(4, env=floating).returns, own)
    assert np.array_equal(run.evaluate(4).returns, own)
    with pytest.warns(UserWarning, match="could not replay its episodes"):
        resumed = hotloop.resume(run, env=floating, steps=4_096, progress=False)
    afloat = resumed.evaluate(4).returns
    assert np.array_equal(resumed.evaluate(4, env=floating).returns, afloat)
    assert not np.array_equal(resumed.evaluate(4, env="Pendulum-v1").returns, afloat)
    assert np.array_equal(other.evaluate(4).returns, own)  # trained alike


def test_an_environment_given_to_resume_is_that_of_the_run(tmp_path):
    run = hotloop.train("dqn", env=Paid, steps=400, out=tmp_path, **small())
    resumed = hotloop.resume(run, env=Dear, steps=800, progress=False)
    assert resumed.metrics["exploring_return"][-1] == 500
    assert resumed.evaluate(3).mean == resumed.agent.evaluate(3).mean == 500
    again = hotloop.resume(resumed, steps=1_200, progress=False)
    assert again.metrics["exploring_return"][-1] == 500
    assert run.evaluate(3).mean == hotloop.Run(run.folder).evaluate(3).mean == 5
    assert "python:Paid@" in again.spec  # files keep the name


def test_engine_environments_need_their_gymnasium_id(tmp_path):
    settings = {"steps": 2_048, "out": tmp_path, "progress": False, "evaluation": {"every": 0, "episodes": 2}}
    run = hotloop.train("ppo", env="Pendulum-v1", **settings)
    with pytest.raises(
        hotloop.UsageError, match="pendulum is one of hotloop's environments.*: 'hotloop/Pendulum-v1'"
    ):
        run.evaluate(2, env="pendulum")
    with pytest.raises(hotloop.UsageError, match="own.cpp is one of hotloop's environments.*a Gymnasium id"):
        run.evaluate(2, env="own.cpp")
    assert run.evaluate(2, env="hotloop/Pendulum-v1").mean < 0


def test_in_another_process_too(tmp_path):
    run = hotloop.train("dqn", env=Paid, steps=400, out=tmp_path, **small())
    program = (
        "import sys, hotloop\n"
        f"sys.path.insert(0, {__file__.rsplit('/', 1)[0]!r})\n"
        "from test_variants import Dear, Paid\n"
        "agent = hotloop.load(sys.argv[1])\n"
        "print(agent.evaluate(3, env=Dear).mean, agent.evaluate(3, env=Paid).mean)\n"
        "resumed = hotloop.resume(sys.argv[1], env=Paid, steps=800, progress=False)\n"
        "print(resumed.evaluate(3).mean)\n"
        "try:\n"
        "    agent.evaluate(3)\n"
        "except hotloop.UsageError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, run.folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["500.0 5.0", "5.0"]
    assert "give it again, as env=" in lines[2]
