"""The engine's environments in Gymnasium."""

import gymnasium
import hotloop
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hotloop._register import IDS


@pytest.mark.parametrize("id", IDS)
@pytest.mark.filterwarnings("ignore:.*(Box observation space m..imum value|normalized space).*")
@pytest.mark.filterwarnings("error")
def test_check_env(id):
    check_env(gymnasium.make(id).unwrapped)


@pytest.mark.parametrize("id", IDS)
def test_spaces(id):
    env, batch = gymnasium.make(id), gymnasium.make_vec(id, num_envs=3)
    assert batch.single_observation_space == env.observation_space
    assert batch.single_action_space == env.action_space
    obs, _ = batch.reset(seed=1)
    assert obs in batch.observation_space
    batch.action_space.seed(1)
    obs, rewards, terminated, truncated, infos = batch.step(batch.action_space.sample())
    assert obs in batch.observation_space
    assert rewards.shape == (3,) and terminated.dtype == truncated.dtype == np.bool_
    assert batch.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


def test_gymnasium_imports_hotloop_by_itself():
    import subprocess
    import sys

    program = "import gymnasium; print(gymnasium.make('hotloop:hotloop/Snake-v0').reset(seed=1)[0].shape)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout == "(10,)\n", found.stderr


@pytest.mark.parametrize("id", IDS)
def test_a_row_is_a_single_environment(id):
    """Row 0 of a batch and the single environment use the same random streams: equal to the bit."""
    env, batch = gymnasium.make(id), gymnasium.make_vec(id, num_envs=3)
    env.action_space.seed(3)
    obs, _ = env.reset(seed=5)
    rows, _ = batch.reset(seed=5)
    assert np.array_equal(obs, rows[0])
    for _ in range(300):
        action = env.action_space.sample()
        obs, reward, terminated, truncated, _ = env.step(action)
        rows, rewards, ended, cut, infos = batch.step(np.stack([action] * 3))
        assert reward == rewards[0] and (terminated, truncated) == (ended[0], cut[0])
        if terminated or truncated:
            assert np.array_equal(infos["final_obs"][0], obs)
            break
        assert np.array_equal(obs, rows[0])


def layout(infos):
    """Keys and the types of their values, without the keys that only hotloop has."""
    return {
        key: value.dtype if isinstance(value, np.ndarray) else type(value)
        for key, value in infos.items()
        if key.strip("_") in ("final_obs", "final_info")
    }


def test_autoreset_as_gymnasium_lays_it_out():
    ours = gymnasium.make_vec("hotloop/CartPole-v1", num_envs=4)
    theirs = SyncVectorEnv(
        [lambda: gymnasium.make("CartPole-v1")] * 4, autoreset_mode=AutoresetMode.SAME_STEP
    )
    seen = {}
    for name, env in (("ours", ours), ("theirs", theirs)):
        env.reset(seed=1)
        for _ in range(200):
            obs, rewards, terminated, truncated, infos = env.step(np.ones(4, np.int64))
            if not (terminated | truncated).any():
                assert infos == {}
                continue
            assert np.array_equal(infos["_final_obs"], terminated | truncated)
            for row, ended in enumerate(terminated | truncated):
                if ended:
                    final = infos["final_obs"][row]
                    assert final.shape == (4,) and final.dtype == np.float32
                    assert abs(final[2]) > 0.2094 or abs(final[0]) > 2.4  # where it fell
                    assert abs(obs[row]).max() <= 0.05  # a first observation
                else:
                    assert infos["final_obs"][row] is None
            seen[name] = layout(infos)
            break
    assert seen["ours"] == seen["theirs"]


def test_truncation_is_the_engines_time_limit():
    env = gymnasium.make_vec("hotloop/MountainCar-v0", num_envs=2)
    env.reset(seed=1)
    for step in range(1, 201):
        obs, rewards, terminated, truncated, infos = env.step(np.ones(2, np.int64))
        assert not terminated.any()
        assert truncated.all() == (step == 200)
    assert list(infos["final_info"]["episode"]["r"]) == [-200, -200]
    assert list(infos["final_info"]["episode"]["l"]) == [200, 200]
    env.step(np.ones(2, np.int64))


def test_steps_of_a_single_environment():
    env = gymnasium.make("hotloop/MountainCar-v0").unwrapped
    with pytest.raises(hotloop.UsageError, match="reset"):
        env.step(1)
    env.reset(seed=1)
    for step in range(1, 201):
        _, _, terminated, truncated, _ = env.step(1)
        assert truncated == (step == 200) and not terminated
    with pytest.raises(hotloop.UsageError, match="reset"):
        env.step(1)


def test_measures_are_reported_at_the_end():
    env = gymnasium.make("hotloop/Snake-v0", grid=6)
    env.reset(seed=1)
    for _ in range(100):
        _, _, terminated, _, info = env.step(0)  # straight into the wall
        if terminated:
            break
        assert info == {}
    assert info["wall"] == 1 and info["score"] >= 0
    batch = gymnasium.make_vec("hotloop/Snake-v0", num_envs=2, grid=6)
    batch.reset(seed=1)
    for _ in range(100):
        *_, infos = batch.step(np.zeros(2, int))
        if infos:
            break
    assert list(infos["final_info"]["wall"]) == [1, 1]


def test_options():
    env = gymnasium.make("hotloop/Snake-v0", grid=6, obs="grid", faithful=True)
    assert env.observation_space.shape == (108,)
    with pytest.raises(hotloop.UsageError, match="did you mean grid"):
        gymnasium.make("hotloop/Snake-v0", gird=6)
    with pytest.raises(hotloop.UsageError, match="4 to 32"):
        gymnasium.make_vec("hotloop/Snake-v0", num_envs=2, grid=3)
    with pytest.raises(hotloop.UsageError, match="did you mean snake"):
        hotloop.make("snaek")
    with pytest.raises(hotloop.UsageError, match="num_envs: found 0; allowed"):
        hotloop.make("snake", 0)


def test_masks_are_in_infos_and_respected():
    env = gymnasium.make_vec("hotloop/SFC-v0", num_envs=3, mask="on")
    _, infos = env.reset(seed=1)
    assert infos["action_mask"].shape == (3, 13) and infos["action_mask"].dtype == np.int8
    for _ in range(200):
        allowed = infos["action_mask"]
        actions = np.array([env.single_action_space.sample(mask=row) for row in allowed])
        *_, infos = env.step(actions)
        assert infos["_action_mask"].all()
    forbidden = np.argmin(infos["action_mask"], axis=1)
    row = int(np.argmin(infos["action_mask"][np.arange(3), forbidden]))
    assert infos["action_mask"][row, forbidden[row]] == 0
    actions = np.argmax(infos["action_mask"], axis=1)
    actions[row] = forbidden[row]
    with pytest.raises(hotloop.UsageError, match=f"row {row} is {forbidden[row]}, which the mask"):
        env.step(actions)
    single = gymnasium.make("hotloop/SFC-v0", mask="on")
    _, info = single.reset(seed=1)
    assert info["action_mask"].shape == (13,)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
def test_any_integer_type_is_an_action(dtype):
    env = hotloop.make("cartpole", 3)
    env.reset(seed=1)
    obs, *_ = env.step(np.array([0, 1, 0], dtype))
    env.reset(seed=1)
    same, *_ = env.step([0, 1, 0])
    assert np.array_equal(obs, same)


def test_actions_in_any_order_of_memory():
    env = hotloop.make("cartpole", 3)
    env.reset(seed=1)
    obs, *_ = env.step(np.array([[0, 9], [1, 9], [0, 9]])[:, 0])
    env.reset(seed=1)
    same, *_ = env.step(np.array([0, 1, 0]))
    assert np.array_equal(obs, same)


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        (np.array([0, 1, 2]), "row 2 is 2; allowed: 0 to 1"),
        (np.array([0, -1, 1]), "row 1 is -1; allowed: 0 to 1"),
        (np.array([0, 2**40, 1]), "row 1 is 1099511627776; allowed: 0 to 1"),
        (np.array([0, 1]), r"shape \(2,\); allowed: \(3,\)"),
        (np.array([[0, 1, 1]]), r"shape \(1, 3\); allowed: \(3,\)"),
        (np.array([0.0, 1.0, 1.0]), "type float64; allowed: any integer"),
        (np.array([True, False, True]), "type bool; allowed: any integer"),
        ("left", "actions"),
    ],
)
def test_bad_discrete_actions_are_reported(actions, words):
    env = hotloop.make("cartpole", 3)
    env.reset(seed=1)
    with pytest.raises((hotloop.UsageError, TypeError), match=words):
        env.step(actions)
    env.step(np.array([0, 1, 0]))  # and nothing is broken


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        (np.array([[0.0], [np.nan]]), "row 1, dimension 0 is nan"),
        (np.array([0.0, 1.0]), r"shape \(2,\); allowed: \(2, 1\)"),
        (np.array([[0], [1]]), "type int64; allowed: float32, float64"),
    ],
)
def test_bad_continuous_actions_are_reported(actions, words):
    env = hotloop.make("pendulum", 2)
    env.reset(seed=1)
    with pytest.raises(hotloop.UsageError, match=words):
        env.step(actions)


def test_step_before_reset_and_odd_seeds():
    env = hotloop.make("cartpole", 2)
    with pytest.raises(hotloop.UsageError, match="reset"):
        env.step(np.zeros(2, int))
    with pytest.raises(hotloop.UsageError, match="one integer"):
        env.reset(seed=[1, 2])
    first = [env.reset(seed=1)[0], env.reset()[0], env.reset(seed=1)[0], env.reset()[0]]
    assert np.array_equal(first[0], first[2]) and np.array_equal(first[1], first[3])
    assert not np.array_equal(first[0], first[1])


def test_arrays_in_use_are_never_overwritten():
    env = hotloop.make("cartpole", 16)
    held, copies = [], []
    obs, _ = env.reset(seed=1)
    for step in range(100):
        held.append(obs[3] if step % 3 == 0 else obs)  # a view is a reference, too
        copies.append(held[-1].copy())
        obs, rewards, terminated, truncated, _ = env.step(np.full(16, step % 2))
        held += [rewards, truncated[::2]]
        copies += [rewards.copy(), truncated[::2].copy()]
    for array, copy in zip(held, copies):
        assert np.array_equal(array, copy)


def test_unreferenced_arrays_are_reused():
    env = hotloop.make("cartpole", 16)
    env.reset(seed=1)
    places = set()
    for step in range(100):
        obs, *_ = env.step(np.full(16, step % 2))
        places.add(obs.__array_interface__["data"][0])
    assert len(places) <= 3  # zero-copy: no new memory


def test_threads_change_nothing():
    results = []
    for threads in (1, 2):
        env = hotloop.make("cartpole", 300, threads=threads)
        env.reset(seed=3)
        for step in range(50):
            obs, *_ = env.step(np.arange(300) % 2)
        results.append(obs)
    assert np.array_equal(*results)


@pytest.mark.parametrize("id", IDS)
def test_rendering(id):
    modes = gymnasium.make(id).unwrapped.metadata["render_modes"]
    if id == "hotloop/SFC-v0":
        assert modes == []
        with pytest.raises(hotloop.UsageError, match="cannot be drawn"):
            gymnasium.make(id, render_mode="rgb_array")
        return
    env = gymnasium.make(id, render_mode="rgb_array")
    env.action_space.seed(1)
    env.reset(seed=1)
    first = env.render()
    assert first.ndim == 3 and first.shape[2] == 3 and first.dtype == np.uint8
    changed = False
    for _ in range(20):
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
        changed = changed or not np.array_equal(first, env.render())
        if terminated or truncated:
            break
    assert changed
    text = gymnasium.make(id, render_mode="ansi")
    text.reset(seed=1)
    shrink = -(-first.shape[1] // 80)  # to at most 80 columns
    assert text.render().count("\n") == (first.shape[0] // shrink + 1) // 2
    assert text.render().count("▀") == first.shape[1] // shrink * text.render().count("\n")
    batch = gymnasium.make_vec(id, num_envs=2, render_mode="rgb_array")
    batch.reset(seed=1)
    pictures = batch.render()
    assert len(pictures) == 2 and np.array_equal(pictures[0], first)


def test_state_can_be_saved_and_restored():
    env = gymnasium.make("hotloop/Snake-v0").unwrapped  # which draws random numbers in its steps
    env.reset(seed=1)
    actions = np.random.default_rng(1).integers(0, 3, 200)
    for action in actions[:5]:
        env.step(action)
    state = env.get_state()

    def play():
        history = []
        for action in actions[5:]:
            obs, reward, terminated, truncated, _ = env.step(action)
            history.append((obs.tolist(), reward, terminated, truncated))
            if terminated or truncated:
                return history
        return history

    first = play()
    env.set_state(state)
    assert env.get_state() == state
    assert play() == first
    with pytest.raises(hotloop.UsageError, match="bytes; allowed"):
        env.set_state(state[:-1])
    with pytest.raises(hotloop.UsageError, match="not a state that .* can continue from"):
        env.set_state(b"\xff" * len(state))
    env.set_state(state)
    assert play() == first
