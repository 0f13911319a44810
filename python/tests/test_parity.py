"""1,000 complete episodes each in Gymnasium and in hotloop: from the same state, the same actions must give
equal observations (to 1e-6), rewards and terminations.

At the start of an episode, Gymnasium is set to hotloop's state; both then run independently.
Actions are random, but nine of ten pump energy into the cars and the acrobot, so that episodes also end.
The energetic motion of Acrobot is chaotic: a difference in the last digit of a sine grows to 1e-3 within 200
steps. With the C library's maths its episodes are equal to the end. With the engine's own maths, which gives
the same bits on every machine, Gymnasium is set to hotloop's state again every 50 steps.
"""

import math

import gymnasium
import numpy as np
import pytest

EPISODES = 1000
STRETCH = 50  # steps of Acrobot in which differences stay below 1e-7
STATE = {"Acrobot-v1": 4, "CartPole-v1": 4, "MountainCar-v0": 2, "Pendulum-v1": 2}  # numbers


def chosen(id, obs, rng):
    if id == "Pendulum-v1":
        return rng.uniform(-2.5, 2.5, 1).astype(np.float32)  # beyond the bounds as well
    if id == "CartPole-v1" or rng.random() < 0.1:
        return rng.integers(0, 2 if id == "CartPole-v1" else 3)
    if id == "Acrobot-v1":
        return 0 if obs[4] > 0 else 2  # against the upper link
    return 2 if obs[1] > 0 else 0  # with the car


def set_state(env, id, state):
    env.state = np.array(state[: STATE[id]])
    env.steps_beyond_terminated = None


def numpy_has_the_librarys_sine():
    """NumPy uses its own sine on CPUs with AVX-512."""
    angles = np.random.default_rng(0).uniform(-8, 8, 10000)
    return all(np.sin(angles) == [math.sin(a) for a in angles])


@pytest.mark.parametrize("id, options", [(id, {}) for id in STATE] + [("Acrobot-v1", {"maths": "library"})])
def test_the_same_episodes(id, options):
    if options and not numpy_has_the_librarys_sine():
        pytest.skip("NumPy uses its own sine on this CPU")
    in_stretches = id == "Acrobot-v1" and not options
    rng = np.random.default_rng(1)
    ours = gymnasium.make("hotloop/" + id, **options).unwrapped
    theirs = gymnasium.make(id).unwrapped
    theirs.reset(seed=1)
    worst, steps, terminations = 0.0, 0, 0
    for episode in range(EPISODES):
        obs, _ = ours.reset(seed=episode)
        set_state(theirs, id, np.frombuffer(ours.get_state()))
        found, expected = [], []
        terminated = truncated = False
        while not (terminated or truncated):
            if in_stretches and len(found) % STRETCH == 0:
                set_state(theirs, id, np.frombuffer(ours.get_state()))
            action = chosen(id, obs, rng)
            obs, reward, terminated, truncated, _ = ours.step(action)
            their_obs, their_reward, their_terminated, _, _ = theirs.step(action)
            found.append(obs)
            expected.append(their_obs)
            assert abs(reward - float(their_reward)) <= 1e-6, (episode, len(found))
            assert terminated == bool(their_terminated), (episode, len(found))
        worst = max(worst, float(np.abs(np.array(found) - np.array(expected)).max()))
        assert worst <= (0 if options else 1e-6), episode
        steps += len(found)
        terminations += terminated
    print(f"{id} {options}: {EPISODES} episodes, {steps} steps, {terminations} terminated, worst {worst:.2g}")
    assert (terminations > EPISODES // 2) == (id != "Pendulum-v1")
