"""Trained agents: actions, values and distributions, evaluation, threads."""

import json
import struct
import threading
from pathlib import Path

import gymnasium
import hotloop
import numpy as np
import pytest


def layers_of(agent):
    """The weights of a model file, read directly: safetensors is a JSON header, then numbers."""
    data = Path(agent.path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    tensors = {}
    for name, about in header.items():
        if name == "__metadata__" or about["dtype"] != "F32":
            continue
        begin, end = about["data_offsets"]
        tensors[name] = np.frombuffer(data[8 + size :][begin:end], np.float32).reshape(about["shape"])
    return tensors


def test_q_values_are_the_networks(value_run, rng):
    """Against the forward pass written out in NumPy."""
    agent = value_run.agent
    t = layers_of(agent)
    obs = rng.normal(size=(37, 4)).astype(np.float32)
    hidden = np.tanh(obs @ t["layer0.weight"].T + t["layer0.bias"])
    expected = hidden @ t["layer1.weight"].T + t["layer1.bias"]
    found = agent.q_values(obs)
    assert found.shape == (37, 2) and found.dtype == np.float32
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-4)
    actions = agent.act(obs)
    assert actions.dtype == np.int64
    assert np.array_equal(actions, found.argmax(axis=1))


@pytest.mark.parametrize("rows", [1, 2, 3, 16, 17, 255, 256, 257, 1000])
def test_any_number_of_rows(value_run, rng, rows):
    obs = rng.normal(size=(rows, 4))
    agent = value_run.agent
    assert agent.act(obs).shape == (rows,)
    each = np.array([agent.q_values(row) for row in obs])
    assert np.allclose(agent.q_values(obs), each, rtol=1e-4, atol=1e-4)


def test_a_single_observation(value_run, policy_run, box_run):
    assert value_run.agent.act(np.zeros(4)) in (0, 1)
    assert isinstance(value_run.agent.act([0, 0, 0, 0]), int)
    assert value_run.agent.q_values(np.zeros(4)).shape == (2,)
    assert policy_run.agent.distribution(np.zeros(4)).probabilities.shape == (2,)
    action = box_run.agent.act(np.zeros(3))
    assert action.shape == (1,) and action.dtype == np.float32
    assert box_run.agent.distribution(np.zeros(3)).mean.shape == (1,)


def test_no_rows(value_run):
    assert value_run.agent.act(np.zeros((0, 4))).shape == (0,)


def test_named_parts(value_run, rng):
    agent = value_run.agent
    obs = rng.normal(size=(5, 4)).astype(np.float32)
    parts = {"pole": obs[:, 2:], "cart": obs[:, :2]}
    assert np.array_equal(agent.q_values(parts), agent.q_values(obs))
    single = {"pole": obs[0, 2:], "cart": obs[0, :2]}
    assert agent.q_values(single).shape == (2,)
    one_row = {"pole": obs[:1, 2:], "cart": obs[:1, :2]}
    assert agent.q_values(one_row).shape == (1, 2)
    with pytest.raises(hotloop.UsageError, match="pol, cart; allowed: a dict of cart, pole"):
        agent.act({"pol": obs[:, 2:], "cart": obs[:, :2]})
    with pytest.raises(hotloop.UsageError, match="cart 5, pole 3"):
        agent.act({"pole": obs[:3, 2:], "cart": obs[:, :2]})


def test_masks(value_run, policy_run, rng):
    obs = rng.normal(size=(50, 4))
    mask = np.ones((50, 2), bool)
    forbidden = rng.integers(0, 2, 50)
    mask[np.arange(50), forbidden] = False
    for run in (value_run, policy_run):
        assert np.array_equal(run.agent.act(obs, mask=mask), 1 - forbidden)
    assert np.array_equal(policy_run.agent.act(obs, False, mask, seed=1), 1 - forbidden)
    probabilities = policy_run.agent.distribution(obs, mask).probabilities
    assert np.all(probabilities[np.arange(50), forbidden] == 0)
    with pytest.raises(hotloop.UsageError, match=r"mask has shape \(2,\); allowed: \(50, 2\)"):
        value_run.agent.act(obs, mask=[1, 0])
    mask[3] = False
    with pytest.raises(hotloop.UsageError, match="row 3 allows no action"):
        value_run.agent.act(obs, mask=mask)


def test_agents_trained_with_masks_require_one(tmp_path):
    settings = {
        "steps": 2_048,
        "progress": False,
        "out": tmp_path,
        "env.mask": "on",
        "evaluation.episodes": 2,
    }
    run = hotloop.train("ppo", env="sfc", **settings)
    obs = np.zeros(run.agent.inputs)
    for ask in (run.agent.act, run.agent.distribution):
        with pytest.raises(hotloop.UsageError, match="mask: sfc has action masks, .* trained with them"):
            ask(obs)
    only = np.zeros(run.agent.actions)
    only[1] = 1
    assert run.agent.act(obs, mask=only) == 1
    assert run.evaluate(2).returns.size == 2  # the engine applies the masks itself


def test_samples_follow_the_distribution(policy_run):
    agent = policy_run.agent
    obs = np.tile(np.array([0.1, 0.2, 0.05, -0.1]), (20_000, 1))
    p = agent.distribution(obs[0]).probabilities
    assert p.sum() == pytest.approx(1, abs=1e-5)
    drawn = agent.act(obs, deterministic=False, seed=3)
    # Five standard errors of a share of 20,000 samples.
    assert drawn.mean() == pytest.approx(p[1], abs=5 * (0.25 / 20_000) ** 0.5)
    assert np.array_equal(drawn, agent.act(obs, deterministic=False, seed=3))
    assert not np.array_equal(drawn, agent.act(obs, deterministic=False, seed=4))
    assert not np.array_equal(agent.act(obs, deterministic=False), agent.act(obs, deterministic=False))


def test_samples_of_continuous_actions(box_run):
    agent = box_run.agent
    obs = np.tile(np.array([1, 0, 0.5], np.float32), (5000, 1))
    drawn = agent.act(obs, deterministic=False, seed=1)
    assert drawn.shape == (5000, 1) and np.abs(drawn).max() <= 2
    assert drawn.std() > 0.01
    assert agent.distribution(obs).std.min() > 0


@pytest.mark.parametrize(
    ("obs", "words"),
    [
        (np.zeros(3), r"shape \(3,\); allowed: \(N, 4\), or \(4,\)"),
        (np.zeros((2, 2, 4)), r"shape \(2, 2, 4\)"),
        (np.float32(1), r"shape \(\)"),
        (["a", "b", "c", "d"], "type <U1; allowed: numbers"),
    ],
)
def test_bad_observations_are_reported(value_run, obs, words):
    with pytest.raises(hotloop.UsageError, match=words):
        value_run.agent.act(obs)


def test_the_engine_checks_the_sizes_itself(value_run):
    """Whatever the facts in a model file say, no number beyond an array is read."""
    engine = value_run.agent._agent
    rows = np.zeros((2, 4), np.float32)
    assert engine.act(rows, None, None).shape == (2, 1)
    for width in (0, 3, 5):
        for ask in (lambda obs: engine.act(obs, None, None), lambda obs: engine.preferences(obs, None)):
            with pytest.raises(hotloop.UsageError, match=f"rows of {width} numbers; the model has 4 inputs"):
                ask(np.zeros((2, width), np.float32))
    for shape in ((1, 2), (2, 1), (2, 3)):
        for ask in (lambda mask: engine.act(rows, mask, None), lambda mask: engine.preferences(rows, mask)):
            with pytest.raises(hotloop.UsageError, match="mask: . x . flags; allowed: 2 x 2"):
                ask(np.ones(shape, np.uint8))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"obs": 4096, "parts": []}, "field env.obs: expected 4, as cartpole has now, found 4096"),
        (
            {"notes": {"observation": [{"kind": "box", "shape": [3], "scale": None}]}},
            "field env.notes.observation: expected 4 numbers, found 3",
        ),
    ],
)
def test_forged_facts_are_refused(value_run, tmp_path, seal, change, words):
    data = Path(value_run.agent.path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    facts = json.loads(header["__metadata__"]["env"])
    header["__metadata__"]["env"] = json.dumps({**facts, **change})
    head = json.dumps(header, separators=(",", ":")).encode()
    forged = tmp_path / "forged.safetensors"
    forged.write_bytes(seal(struct.pack("<Q", len(head)) + head + data[8 + size :]))
    with pytest.raises(hotloop.RunError, match=words):
        hotloop.load(forged)


def test_a_deterministic_actor_has_no_values_and_no_distribution(actor_run):
    agent, obs = actor_run.agent, np.zeros(3)
    assert agent.act(obs).shape == (1,)
    with pytest.raises(hotloop.UsageError, match=r"td3, which learns a policy; see act\(\)"):
        agent.q_values(obs)
    with pytest.raises(hotloop.UsageError, match=r"td3, which learns a deterministic policy; see act\(\)"):
        agent.distribution(obs)
    with pytest.raises(hotloop.UsageError, match="td3, which learns a deterministic policy; add noise"):
        agent.act(obs, deterministic=False)
    with pytest.raises(hotloop.UsageError, match="a deterministic policy: there is no distribution"):
        agent.evaluate(2, deterministic=False)


def test_each_kind_of_agent_says_what_it_lacks(value_run, policy_run, box_run):
    with pytest.raises(hotloop.UsageError, match="values, not a policy"):
        value_run.agent.act(np.zeros(4), deterministic=False)
    with pytest.raises(hotloop.UsageError, match=r"see q_values\(\)"):
        value_run.agent.distribution(np.zeros(4))
    with pytest.raises(hotloop.UsageError, match=r"see distribution\(\)"):
        policy_run.agent.q_values(np.zeros(4))
    with pytest.raises(hotloop.UsageError, match="actions are continuous; only discrete ones can be masked"):
        box_run.agent.act(np.zeros(3), mask=[1])


def test_threads_share_an_agent(value_run, rng):
    agent = hotloop.load(value_run.folder)
    batches = [rng.normal(size=(rows, 4)) for rows in (1, 7, 64, 300)]
    expected = [agent.q_values(batch) for batch in batches]
    wrong = []

    def work():
        for _ in range(200):
            for batch, right in zip(batches, expected):
                if not np.array_equal(agent.q_values(batch), right):
                    wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_evaluate(value_run):
    result = value_run.evaluate(50)
    assert result.returns.shape == result.lengths.shape == (50,)
    assert np.array_equal(result.returns, result.lengths)  # CartPole's reward is 1 per step
    assert result.mean == result.returns.mean() and result.std == result.returns.std()
    low, high = result.interval
    assert low <= result.mean <= high
    assert "50" in repr(result)
    assert np.array_equal(value_run.evaluate(50).returns, result.returns)
    assert not np.array_equal(value_run.evaluate(50, seed=9).returns, result.returns)
    with pytest.raises(hotloop.UsageError, match="episodes is 0"):
        value_run.evaluate(0)
    with pytest.raises(hotloop.UsageError, match="not a policy"):
        value_run.evaluate(5, deterministic=False)


def test_the_best_model_is_as_good_as_its_evaluation(value_run):
    """Evaluating the model gives exactly the return saved with it."""
    best = value_run.result["best_return_mean"]
    assert value_run.agent.evaluate(100).mean == pytest.approx(best, rel=1e-12)


def test_an_agent_plays_in_gymnasium_as_in_the_engine(value_run):
    """The engine's evaluation and a loop over Gymnasium's own CartPole agree on how good it is."""
    engine = value_run.agent.evaluate(200, seed=3)
    env = gymnasium.make_vec("CartPole-v1", num_envs=50, vectorization_mode="sync")
    obs, _ = env.reset(seed=1)
    total, running = np.zeros(50), np.ones(50, bool)
    while running.any():
        obs, rewards, terminated, truncated, _ = env.step(value_run.agent.act(obs))
        total += rewards * running
        running &= ~(terminated | truncated)
    error = (engine.returns.var() / 200 + total.var() / 50) ** 0.5
    assert abs(engine.mean - total.mean()) <= 4 * error + 1


def test_load(value_run, tmp_path):
    best = hotloop.load(value_run.folder)
    latest = hotloop.load(Path(value_run.folder) / "model-latest.safetensors")
    assert latest.env_steps == 6000 and best.env_steps <= 6000
    assert hotloop.load(value_run.folder, "latest").path.endswith("model-latest.safetensors")
    assert value_run.latest.env_steps == 6000
    assert "dqn on cartpole" in repr(best)
    with pytest.raises(hotloop.UsageError, match="no such run folder or model file"):
        hotloop.load(tmp_path / "nowhere")
    with pytest.raises(hotloop.UsageError, match="'best', 'latest'"):
        hotloop.load(value_run.folder, "last")
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(Path(best.path).read_bytes()[:-5])
    with pytest.raises((hotloop.UsageError, hotloop.RunError), match="broken"):
        hotloop.load(broken)
