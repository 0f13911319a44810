"""Shared fixtures: a small trained run of each kind of agent; forged files."""

import ctypes
import ctypes.util

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


@pytest.fixture(scope="session")
def actor_run(tmp_path_factory):
    """Pendulum by td3: a deterministic actor."""
    out = tmp_path_factory.mktemp("runs")
    algo = {"learning_starts": 500, "updates_per_step": 0.1}
    return hotloop.train("pendulum_td3", steps=1000, seed=1, progress=False, out=out, algo=algo)


@pytest.fixture
def seal():
    """Gives a changed model or checkpoint the checksum that it needs, as a forger would."""
    library = ctypes.util.find_library("xxhash")
    if library is None:
        pytest.skip("there is no libxxhash")
    checksum = ctypes.CDLL(library).XXH3_64bits
    checksum.argtypes, checksum.restype = [ctypes.c_char_p, ctypes.c_size_t], ctypes.c_uint64

    def sealed(data):
        at = data.index(b'"xxh3":"') + 8
        data = data[:at] + b"0" * 16 + data[at + 16 :]
        return data[:at] + b"%016x" % checksum(data, len(data)) + data[at + 16 :]

    return sealed


@pytest.fixture
def rng():
    return np.random.default_rng(7)
