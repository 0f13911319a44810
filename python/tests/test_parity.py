"""1,000 episodes each in Gymnasium and in hotloop: from the same state, the same actions must give equal
observations (to 1e-6), rewards and terminations.

Gymnasium is put into the state that hotloop starts an episode from; both then go on by themselves. The
motion of Acrobot is chaotic, so that a last digit grows to 1e-11 within an episode
(docs/environments.md), far below what is allowed here.
"""

import gymnasium
import numpy as np
import pytest

EPISODES = 1000
STEPS = {"Acrobot-v1": 60, "CartPole-v1": 500, "MountainCar-v0": 200, "Pendulum-v1": 200}

ACTIONS = {"Acrobot-v1": 3, "CartPole-v1": 2, "MountainCar-v0": 3}


def set_state(env, id, state):
    # Acrobot keeps its state in float32 until its first step; ours is rounded alike.
    env.state = np.array(state, np.float32) if id == "Acrobot-v1" else np.array(state)
    if id in ("CartPole-v1", "MountainCar-v0"):
        env.state = tuple(state)
    env.steps_beyond_terminated = None


@pytest.mark.parametrize("id", STEPS)
def test_the_same_episodes(id):
    rng = np.random.default_rng(1)
    ours = gymnasium.make("hotloop/" + id).unwrapped
    theirs = gymnasium.make(id).unwrapped
    theirs.reset(seed=1)
    worst, steps, ends = 0.0, 0, 0
    for episode in range(EPISODES):
        obs, _ = ours.reset(seed=episode)
        state = np.frombuffer(ours.get_state())[: {"Acrobot-v1": 4, "CartPole-v1": 4}.get(id, 2)]
        set_state(theirs, id, state)
        if id in ACTIONS:
            actions = rng.integers(0, ACTIONS[id], STEPS[id])
        else:
            actions = rng.uniform(-2.5, 2.5, (STEPS[id], 1)).astype(np.float32)
        for action in actions:
            obs, reward, terminated, truncated, _ = ours.step(action)
            expected, their_reward, their_terminated, _, _ = theirs.step(action)
            worst = max(worst, float(np.abs(obs - expected).max()))
            assert worst <= 1e-6, (episode, obs, expected)
            assert reward == pytest.approx(float(their_reward), abs=1e-6)
            assert terminated == bool(their_terminated)
            steps += 1
            if terminated or truncated:
                ends += terminated
                break
    print(f"{id}: {EPISODES} episodes, {steps} steps, {ends} terminated, worst {worst:.2g}")
