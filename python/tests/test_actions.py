"""Continuous actions of Gymnasium environments: their bounds, and those that a checkpoint has."""

import struct
from pathlib import Path

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import hotloop  # noqa: E402
from gymnasium import spaces  # noqa: E402


def small(**more):
    """A run of a second or so."""
    return {
        "algo": {"n_steps": 50, "batch": 50, **more.pop("algo", {})},
        "net": {"hidden": [16]},
        "evaluation": {"every": 0, "episodes": 4, **more.pop("evaluation", {})},
        "progress": False,
        **more,
    }


def test_actions_stay_in_a_box_of_float64(tmp_path):
    """As floats of the engine, 0.4 is above 0.4, and 0.1 above 0.1."""
    outside = []

    class Narrow(gymnasium.Env):
        observation_space = spaces.Box(-1, 1, (1,))
        action_space = spaces.Box(
            np.array([-0.4, -0.1, -1 / 3]), np.array([0.1, 0.4, 1 / 3]), dtype=np.float64
        )

        def reset(self, *, seed=None, options=None):
            self.steps = 0
            return np.zeros(1, np.float32), {}

        def step(self, action):
            outside.append(not self.action_space.contains(action))
            self.steps += 1
            return np.zeros(1, np.float32), float(np.abs(action).sum()), False, self.steps == 20, {}

    run = hotloop.train("ppo", env=Narrow, **small(steps=1_200, out=tmp_path, algo={"squash": "clip"}))
    assert len(outside) >= 1_200 and not any(outside)
    drawn = run.agent.act(np.zeros((1000, 1)), deterministic=False, seed=1).astype(np.float64)
    low, high = Narrow.action_space.low, Narrow.action_space.high
    assert (drawn >= low).all() and (drawn <= high).all()
    bounds = np.array([drawn.min(axis=0), drawn.max(axis=0)])
    assert np.allclose(bounds, [low, high], rtol=1e-6)  # some are at the bounds


def test_saved_actions_that_are_not_finite_are_refused(tmp_path, seal):
    episodes = []  # the actions of each

    class Long(gymnasium.Env):
        observation_space = spaces.Box(-1, 1, (1,))
        action_space = spaces.Box(-1, 1, (2,))

        def reset(self, *, seed=None, options=None):
            episodes.append([])
            self.taken = episodes[-1]
            return np.zeros(1, np.float32), {}

        def step(self, action):
            self.taken.append(action.copy())
            return np.zeros(1, np.float32), 0.0, False, False, {}

    run = hotloop.train("ppo", env=Long, **small(steps=1_600, out=tmp_path, evaluation={"max_steps": 20}))
    checkpoint = max(Path(run.folder).glob("checkpoints/*.safetensors"))
    data = checkpoint.read_bytes()
    place = max(data.find(np.array(taken[10:14]).tobytes()) for taken in episodes)
    assert place > 0
    checkpoint.write_bytes(seal(data[:place] + struct.pack("<f", np.nan) + data[place + 4 :]))
    episodes.clear()
    with pytest.raises(hotloop.RunError, match="the saved state of .* has the action nan"):
        hotloop.resume(run, env=Long, steps=3_200, progress=False)
    assert not any(episodes)
