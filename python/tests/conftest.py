"""Shared fixtures: a small trained run of each kind of agent."""

import hotloop
import numpy as np
import pytest


@pytest.fixture(scope="session")
def value_run(tmp_path_factory):
    """CartPole by dqn, long enough to learn something."""
    out = tmp_path_factory.mktemp("runs")
    evaluation = {"every": 2000, "stop_when_solved": False}
    return hotloop.train("cartpole_dqn", steps=6000, seed=1, progress=False, out=out, evaluation=evaluation)


@pytest.fixture(scope="session")
def policy_run(tmp_path_factory):
    """CartPole by ppo: a policy over discrete actions."""
    out = tmp_path_factory.mktemp("runs")
    return hotloop.train("cartpole_ppo", steps=4096, seed=1, progress=False, out=out)


@pytest.fixture(scope="session")
def box_run(tmp_path_factory):
    """Pendulum by ppo: a policy over continuous actions."""
    out = tmp_path_factory.mktemp("runs")
    return hotloop.train("pendulum_ppo", steps=4096, seed=1, progress=False, out=out)


@pytest.fixture
def rng():
    return np.random.default_rng(7)
