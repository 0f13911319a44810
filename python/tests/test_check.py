"""hotloop.check: mistakes in environments, one by one."""

import re

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import hotloop  # noqa: E402
from gymnasium import spaces  # noqa: E402
from gymnasium.vector import SyncVectorEnv  # noqa: E402


class Sound(gymnasium.Env):
    """Seven steps; observes the position and the steps left."""

    observation_space = spaces.Box(np.array([-20, 0], np.float32), np.array([20, 7], np.float32))
    action_space = spaces.Discrete(2)

    def look(self):
        return np.array([self.at, 7 - self.steps], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.steps = self.np_random.uniform(-5, 5), 0
        return self.look(), {}

    def step(self, action):
        self.at += 1 if action else -1
        self.steps += 1
        return self.look(), float(self.at), self.steps == 7, False, {}


def change(**parts):
    return type("Changed", (Sound,), parts)


def stepping(altered):
    """Sound, with its five values altered."""
    return change(step=lambda self, action: altered(self, *Sound.step(self, action)))


def problems(env, steps=200):
    report = hotloop.check(env, steps)
    assert ("nothing found" in str(report)) == (not report["problems"])
    return report["problems"]


@pytest.mark.parametrize("env", [Sound, "CartPole-v1", "Blackjack-v1", "Pendulum-v1", "hotloop/Snake-v0"])
def test_sound_environments(env):
    assert problems(env) == []


def test_a_report_is_read_and_printed():
    report = hotloop.check(Sound, 70)
    assert str(report) == "Sound: 70 steps, 10 episodes of 7 steps: nothing found"
    assert report["gymnasium"] == [] and report["episodes"] == 10


def test_messages_of_gymnasiums_own_checker_are_reported():
    report = hotloop.check(change(observation_space=spaces.Box(-np.inf, np.inf, (2,))))
    assert any("infinity" in text for text in report["gymnasium"]), report
    assert report["problems"] == []
    assert "Gymnasium's check_env says:" in str(report)


LOW = spaces.Box(np.array([-20, 0], np.float32), np.array([20, 5], np.float32))
NAN_LATER = stepping(
    lambda self, obs, *rest: (np.array([np.nan, 1], np.float32) if self.steps == 3 else obs, *rest)
)
BYTES = change(
    observation_space=spaces.Box(0, 255, (2,), np.uint8), look=lambda self: np.array([0.5, 7 - self.steps])
)


@pytest.mark.parametrize(
    ("env", "words"),
    [
        (change(observation_space=LOW), r"observation\[1\]: 7.0 at step 0, above its high 5.0"),
        (NAN_LATER, r"observation\[0\]: nan at step 3, not finite"),
        (BYTES, "observation: float64, such as 0.5, in a Box of uint8"),
        (
            stepping(lambda self, obs, reward, *rest: (obs, np.inf, *rest)),
            "reward: inf at step 1, which is not finite",
        ),
        (
            stepping(lambda self, obs, reward, *rest: (obs, None, *rest)),
            "the reward None; .* asks for one number",
        ),
        (stepping(lambda self, *result: result[:4]), "step returned 4 values; .* asks for five"),
        (change(reset=lambda self: Sound.reset(self)), "reset of Changed takes no seed"),
        (
            stepping(lambda self, obs, reward, *ends: (obs, reward, False, False, {})),
            "no episode ended within 200",
        ),
        (
            stepping(lambda self, obs, reward, *rest: (obs, np.random.random(), *rest)),
            "the same seed and actions gave a different reward after 1 steps, in the same environment",
        ),
        (change(action_space=spaces.Box(0, 1, (80,))), "a Box of 80 numbers; allowed: up to 64"),
        (stepping(lambda self, *result: 1 // 0), "at step 0: ZeroDivisionError"),
    ],
)
@pytest.mark.filterwarnings("error")  # they are in the report, and nowhere else
def test_mistakes_are_named(env, words):
    found = problems(env)
    assert any(re.search(words, text) for text in found), found


def test_many_entries_are_cut_short():
    wide = change(observation_space=spaces.Box(0, 1, (40,)), look=lambda self: np.full(40, 2, np.float32))
    found = problems(wide)
    assert len(found) == 6 and found[-1] == "and 35 more entries like the last"


def test_masks_are_obeyed():
    class Masked(Sound):
        action_space = spaces.MultiDiscrete([2, 2])

        def reset(self, **more):
            return super().reset(**more)[0], {"action_mask": np.array([0, 0, 1, 0])}

        def step(self, action):
            assert list(action) == [1, 0]
            return *super().step(1)[:4], {"action_mask": np.array([0, 0, 1, 0])}

    assert problems(Masked) == []


def test_what_cannot_be_checked():
    with pytest.raises(hotloop.UsageError, match="a vector environment; check one of the single env"):
        hotloop.check(SyncVectorEnv([Sound]))
    with pytest.raises(
        hotloop.UsageError, match="cartpole is one of hotloop's environments.*'hotloop/CartPole-v1'"
    ):
        hotloop.check("cartpole")
    with pytest.raises(hotloop.UsageError, match="steps is 0"):
        hotloop.check(Sound, 0)
