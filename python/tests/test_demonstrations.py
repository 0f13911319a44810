"""Runs that start from recorded transitions: files, Minari data sets, and objects like them."""

import json
import types

import gymnasium
import hotloop
import numpy as np
import pytest
from hotloop._demonstrations import write
from hotloop._source import request
from safetensors.numpy import load_file

QUICK = {"steps": 1600, "seed": 1, "progress": False}


def test_a_run_records_and_another_starts_from_it(value_run, tmp_path):
    path = tmp_path / "demo.safetensors"
    result = value_run.record(path, episodes=10)
    assert result.mean == value_run.evaluate(10).mean
    demo = load_file(path)
    assert len(demo["rewards"]) == result.lengths.sum() == len(demo["obs"])
    assert demo["final_obs"].shape == (10, 4)
    assert (demo["terminated"] + demo["truncated"]).sum() == 10
    agent_actions = value_run.agent.act(demo["obs"])
    assert (agent_actions == demo["actions"]).mean() > 0.99  # products of other batches round differently

    plain = hotloop.train("cartpole_dqn", out=tmp_path, **QUICK)
    runs = [hotloop.train("cartpole_dqn", demonstrations=path, out=tmp_path, **QUICK) for _ in range(2)]
    assert runs[0].result["params_hash"] == runs[1].result["params_hash"] != plain.result["params_hash"]
    assert 'demonstrations: "demonstrations.safetensors"' in runs[0].spec
    copied = load_file(runs[0].folder + "/demonstrations.safetensors")
    assert all((copied[name] == demo[name]).all() for name in demo)


def episode(observations, actions, rewards, terminations, truncations):
    return types.SimpleNamespace(
        observations=observations,
        actions=actions,
        rewards=rewards,
        terminations=terminations,
        truncations=truncations,
    )


def data_set(*episodes, env_id=None):
    spec = types.SimpleNamespace(env_spec=env_id and types.SimpleNamespace(id=env_id))
    return types.SimpleNamespace(iterate_episodes=lambda: iter(episodes), spec=spec)


def cartpole_episode(rng, count, ends="terminated"):
    flags = np.zeros(count, bool)
    flags[-1] = True
    return episode(
        rng.normal(size=(count + 1, 4)),
        rng.integers(0, 2, count),
        np.ones(count),
        flags & (ends == "terminated"),
        flags & (ends == "truncated"),
    )


def written(data, tmp_path, env="CartPole-v1", algorithm="dqn"):
    path = str(tmp_path / "data.safetensors")
    write(path, data, request(algorithm, env, None, {}))
    return load_file(path)


def test_episodes_become_transitions(rng, tmp_path):
    episodes = [cartpole_episode(rng, 5), cartpole_episode(rng, 3, "truncated"), cartpole_episode(rng, 2, "")]
    demo = written(data_set(*episodes), tmp_path)
    assert (demo["obs"] == np.concatenate([e.observations[:-1] for e in episodes]).astype(np.float32)).all()
    assert (demo["final_obs"] == np.stack([e.observations[-1] for e in episodes]).astype(np.float32)).all()
    assert (demo["actions"] == np.concatenate([e.actions for e in episodes])).all()
    assert demo["actions"].dtype == np.int32
    assert list(demo["terminated"]) == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert list(demo["truncated"]) == [0, 0, 0, 0, 0, 0, 0, 1, 0, 1]  # the last recording just stopped


def test_continuous_actions_keep_their_units(rng, tmp_path):
    actions = rng.uniform(-2, 2, (6, 1))
    flags = np.arange(6) == 5
    pendulum = episode(rng.normal(size=(7, 3)), actions, -np.ones(6), np.zeros(6, bool), flags)
    demo = written(data_set(pendulum), tmp_path, "Pendulum-v1", "ppo")
    assert (demo["actions"] == actions.astype(np.float32)).all()
    pendulum.actions[3] = 2.5
    with pytest.raises(hotloop.UsageError, match=r"episode 0: value 0 of action 3 is 2.5; .* -2 to 2"):
        written(data_set(pendulum), tmp_path, "Pendulum-v1", "ppo")


class Grid(gymnasium.Env):
    """A Dict of a number and an image, and several choices at a time."""

    observation_space = gymnasium.spaces.Dict(
        {"at": gymnasium.spaces.Discrete(3), "image": gymnasium.spaces.Box(0, 255, (2, 2), np.uint8)}
    )
    action_space = gymnasium.spaces.MultiDiscrete([2, 3])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return {"at": 0, "image": np.zeros((2, 2), np.uint8)}, {}

    def step(self, action):
        return {"at": 1, "image": np.zeros((2, 2), np.uint8)}, 0.0, False, False, {}


def test_encoded_observations_and_choices(tmp_path):
    observations = {"at": np.array([0, 2, 1]), "image": np.full((3, 2, 2), 255, np.uint8)}
    flags = np.array([False, True])
    demo = written(
        data_set(episode(observations, np.array([[1, 2], [0, 1]]), np.ones(2), flags, ~flags & False)),
        tmp_path,
        Grid,
    )
    assert demo["obs"].tolist() == [[1, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1]]
    assert demo["final_obs"].tolist() == [[0, 1, 0, 1, 1, 1, 1]]
    assert demo["actions"].tolist() == [5, 1]


def broken(rng, **changes):
    good = cartpole_episode(rng, 4)
    for name, value in changes.items():
        setattr(good, name, value)
    return good


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"observations": np.zeros((4, 4))}, "episode 0: 4 observations of 4 steps"),
        ({"observations": np.zeros((5, 3))}, r"episode 0: observations: shape \(5, 3\)"),
        ({"observations": np.full((5, 4), np.nan)}, "obs is nan"),
        ({"actions": np.array([0, 1, 2, 0])}, "not in the action space"),
        ({"actions": np.array([0, 1, -1, 0])}, "not in the action space"),
        ({"actions": np.zeros(4)}, "allowed: integers"),
        ({"actions": np.zeros(3, int)}, "3 actions of 4 steps"),
        ({"terminations": np.array([False, True, False, True])}, "ends before its last step"),
        ({"rewards": np.array([])}, "5 observations of 0 steps"),
        ({"rewards": np.array([0, 0, np.inf, 0])}, "rewards is inf"),
    ],
)
def test_what_does_not_fit_is_refused(rng, tmp_path, changes, message):
    with pytest.raises(hotloop.UsageError, match=message):
        written(data_set(broken(rng, **changes)), tmp_path)


def test_other_things_are_refused(rng, tmp_path):
    def train(demonstrations, spec="cartpole_dqn", **more):
        return hotloop.train(spec, demonstrations=demonstrations, out=tmp_path, **QUICK, **more)

    with pytest.raises(hotloop.UsageError, match="a list; allowed"):
        train([1, 2])
    with pytest.raises(hotloop.UsageError, match="no episodes"):
        train(data_set())
    with pytest.raises(hotloop.UsageError, match="recorded in Acrobot-v1; this run is on cartpole"):
        train(data_set(cartpole_episode(rng, 4), env_id="Acrobot-v1"))
    with pytest.raises(
        hotloop.UsageError, match="recorded in Acrobot-v1; this run is on gymnasium:CartPole-v1"
    ):
        train(data_set(cartpole_episode(rng, 4), env_id="Acrobot-v1"), "dqn", env="CartPole-v1")
    with pytest.raises(hotloop.UsageError, match="nowhere.safetensors"):
        train("nowhere.safetensors")
    with pytest.raises(hotloop.UsageError, match="replay.demonstrations"):
        train(data_set(cartpole_episode(rng, 4)), "cartpole_ppo")
    assert not any(tmp_path.iterdir())  # no run folder was made


def test_a_minari_data_set(tmp_path, monkeypatch):
    """Collected by Minari's own DataCollector; nothing is downloaded."""
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    env = minari.DataCollector(gymnasium.make("CartPole-v1"))
    rng = np.random.default_rng(3)
    steps, rewards = 0, 0.0
    for number in range(12):
        env.reset(seed=number)
        done = False
        while not done:
            _, reward, terminated, truncated, _ = env.step(int(rng.integers(2)))
            steps, rewards, done = steps + 1, rewards + reward, terminated or truncated
    collected = env.create_dataset("test/cartpole-v0", algorithm_name="random")
    env.close()
    demo = written(collected, tmp_path)
    assert len(demo["rewards"]) == steps and demo["rewards"].sum() == rewards
    assert demo["terminated"].sum() == 12 == len(demo["final_obs"])
    first = next(iter(collected.iterate_episodes()))
    assert (demo["obs"][: len(first.rewards)] == first.observations[:-1]).all()

    runs = [
        hotloop.train(
            "dqn", env="CartPole-v1", demonstrations=given, out=tmp_path, algo={"learning_starts": 0}, **QUICK
        )
        for given in (collected, "test/cartpole-v0")
    ]
    assert runs[0].result["params_hash"] == runs[1].result["params_hash"]
    copied = load_file(runs[0].folder + "/demonstrations.safetensors")
    assert (copied["actions"] == demo["actions"]).all()
    built_in = hotloop.train("cartpole_dqn", demonstrations=collected, out=tmp_path, **QUICK)
    assert json.loads(json.dumps(built_in.result))["env_steps"] == 1600
    with pytest.raises(hotloop.UsageError, match="neither a file nor a data set"):
        hotloop.train("cartpole_dqn", demonstrations="test/elsewhere-v0", out=tmp_path, **QUICK)
