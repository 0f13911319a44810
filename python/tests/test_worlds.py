"""Gymnasium environments inside the engine: what the engine sees, and training runs on them."""

import os
import pickle
import signal
import threading
import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import hotloop  # noqa: E402
from gymnasium import spaces  # noqa: E402
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv  # noqa: E402
from hotloop import _worlds  # noqa: E402


class Count(gymnasium.Env):
    """Observes (steps, episode, seed). Terminates after `length` steps; action 1 truncates."""

    observation_space = spaces.Box(-1, 1e10, (3,), dtype=np.float64)
    action_space = spaces.Discrete(2)

    def __init__(self, length=3):
        self.length, self.episode, self.given = length, -1, 0

    def _look(self):
        return np.array([self.steps, self.episode, self.given], np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps, self.episode, self.given = 0, self.episode + 1, seed or 0
        return self._look(), {}

    def step(self, action):
        self.steps += 1
        return self._look(), float(self.steps), self.steps == self.length, action == 1, {}


def small(**more):
    """A run of a second or so."""
    return {
        "algo": {"learning_starts": 100, "updates_per_step": 0.25, "train_every": 8, **more.pop("algo", {})},
        "net": {"hidden": [16]},
        "evaluation": {"every": 0, "episodes": 4},
        "progress": False,
        **more,
    }


def play(env, actions):
    """What the engine sees: a row of (obs, reward, terminated, truncated, final obs) for every step."""
    seen = []
    for action in actions:
        obs, rewards, terminated, truncated, infos = env.step(np.array(action))
        final = infos.get("final_obs", [None] * env.num_envs)
        seen.append(
            [
                (
                    int(obs[i][0]),
                    rewards[i],
                    bool(terminated[i]),
                    bool(truncated[i]),
                    None if final[i] is None else int(final[i][0]),
                )
                for i in range(env.num_envs)
            ]
        )
    return seen


# Row 0 terminates after 3 steps; row 1 is truncated in its second step. No step is empty.
ACTIONS = [(0, 0), (0, 1), (0, 0), (0, 0), (0, 0)]
SEEN = [
    [(1, 1.0, False, False, None), (1, 1.0, False, False, None)],
    [(2, 2.0, False, False, None), (0, 2.0, False, True, 2)],
    [(0, 3.0, True, False, 3), (1, 1.0, False, False, None)],
    [(1, 1.0, False, False, None), (2, 2.0, False, False, None)],
    [(2, 2.0, False, False, None), (0, 3.0, True, False, 3)],
]


def test_single_environments():
    name, rows = _worlds.register(Count)
    assert rows is None
    env = hotloop.make(name, num_envs=2)
    obs, _ = env.reset(seed=5)
    assert obs.dtype == np.float32 and obs[:, 0].tolist() == [0, 0]
    assert obs[0, 2] != obs[1, 2]  # each row has its own seed,
    assert play(env, ACTIONS) == SEEN
    again, _ = env.reset(seed=5)
    assert again[:, 2].tolist() == obs[:, 2].tolist()  # and it repeats


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
def test_vector_environments_in_every_autoreset_mode(mode, kind):
    vector = kind([Count, Count], autoreset_mode=mode)
    name, rows = _worlds.register(vector, eval_env=Count)
    assert rows == 2
    env = hotloop.make(name, num_envs=2)
    obs, _ = env.reset(seed=5)
    assert obs[:, 0].tolist() == [0, 0]
    assert play(env, ACTIONS) == SEEN
    vector.close()


def test_a_vector_environment_that_skips_a_step_is_refused():
    vector = SyncVectorEnv([Count], autoreset_mode=AutoresetMode.NEXT_STEP)

    class Foreign(gymnasium.vector.VectorEnv):
        num_envs = 1
        metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        single_observation_space = vector.single_observation_space
        single_action_space = vector.single_action_space

    with pytest.raises(hotloop.UsageError, match="Foreign.*NEXT_STEP.*SAME_STEP or DISABLED"):
        _worlds.register(Foreign(), eval_env=Count)


def test_a_vector_environment_of_gymnasium_that_skips_a_step_is_made_of_single_ones(tmp_path):
    vector = gymnasium.make_vec("CartPole-v1", num_envs=4)
    with pytest.warns(UserWarning, match="single environments of the same id"):
        run = hotloop.train("dqn", env=vector, steps=800, out=tmp_path, **small())
    assert run.result["env_steps"] == 800


def test_a_foreign_vector_environment_is_seeded_with_one_number():
    class Foreign(gymnasium.vector.VectorEnv):
        num_envs = 2
        metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        single_observation_space = Count.observation_space
        single_action_space = Count.action_space

        def reset(self, *, seed=None, options=None):
            assert isinstance(seed, int)
            return np.full((2, 3), seed % 100, np.float64), {}

        def step(self, actions):
            return np.zeros((2, 3)), np.ones(2), np.zeros(2, bool), np.zeros(2, bool), {}

    name, _ = _worlds.register(Foreign(), eval_env=Count)
    env = hotloop.make(name, num_envs=2)
    first, _ = env.reset(seed=5)
    again, _ = env.reset(seed=5)
    assert first.tolist() == again.tolist()


def test_wrapped_vector_environments_need_another_for_evaluation(tmp_path):
    vector = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    wrapped = gymnasium.wrappers.vector.TransformObservation(vector, lambda obs: obs * 2)
    with pytest.raises(hotloop.UsageError, match="wrappers.*eval_env"):
        hotloop.train("dqn", env=wrapped, steps=100, out=tmp_path, **small())
    with pytest.raises(hotloop.UsageError, match="its observations or actions differ from those of env"):
        hotloop.train("dqn", env=wrapped, eval_env="Acrobot-v1", steps=100, out=tmp_path, **small())
    with pytest.raises(hotloop.UsageError, match="eval_env: only for vector environments"):
        hotloop.train("dqn", env=Count, eval_env=Count, steps=100, out=tmp_path, **small())
    with pytest.raises(hotloop.UsageError, match="built into hotloop; give its name, env='cartpole'"):
        hotloop.train("dqn", env=gymnasium.make_vec("hotloop/CartPole-v1", num_envs=2), out=tmp_path)


class Good(gymnasium.Env):
    """One action is right: five steps of it are worth 5."""

    observation_space = spaces.Box(0, 1, (2,))
    action_space = spaces.Discrete(2)

    def __init__(self, right):
        self.right = right

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.zeros(2, np.float32), float(action == self.right), self.steps == 5, False, {}


def test_functions_of_the_same_name_are_different_environments(tmp_path):
    settings = small(steps=1_500, out=tmp_path)
    runs = [hotloop.train("dqn", env=lambda right=right: Good(right), **settings) for right in (0, 1)]
    assert [run.evaluate(5).mean for run in runs] == [5, 5]
    results = {}

    def work(right):
        run = hotloop.train("dqn", env=lambda: Good(right), **{**settings, "out": tmp_path / str(right)})
        results[right] = run.evaluate(5).mean

    threads = [threading.Thread(target=work, args=(right,)) for right in (0, 1, 0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {0: 5, 1: 5}


def test_another_environment_cannot_take_the_place_of_a_runs_own(tmp_path):
    run = hotloop.train("dqn", env=lambda: Good(0), **small(steps=600, out=tmp_path))
    with pytest.raises(hotloop.UsageError, match="does not match.*3 observed numbers.*instead of 2"):
        run.evaluate(3, env=Count)
    assert run.evaluate(3).mean >= 0  # it is still there


def test_a_function_that_makes_nothing_new_is_refused(tmp_path):
    one = Good(0)
    with pytest.raises(hotloop.UsageError, match="returned the same environment twice"):
        hotloop.train("dqn", env=lambda: one, **small(steps=300, out=tmp_path))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_actions_that_an_environment_keeps_are_repeated_to_the_bit(tmp_path, dtype):
    class Smooth(gymnasium.Env):
        observation_space = spaces.Box(-9, 9, (2,))
        action_space = spaces.Box(-1, 1, (2,), dtype=dtype)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.place, self.last, self.steps = self.np_random.uniform(-1, 1, 2), np.zeros(2, dtype), 0
            return self.place.astype(np.float32), {}

        def step(self, action):
            assert action.dtype == dtype
            cost = float(np.abs(action - self.last).sum())
            self.last = action  # kept, not copied
            self.place = np.clip(self.place + 0.1 * action, -9, 9)
            self.steps += 1
            return self.place.astype(np.float32), -cost, False, self.steps == 60, {}

    settings = small(steps=2_400, seed=3, out=tmp_path, run={"log_every": 100})
    settings["algo"] = {"n_steps": 50, "batch": 50}
    straight = hotloop.train("ppo", env=Smooth, **settings)
    half = hotloop.train("ppo", env=Smooth, callback=lambda row: np.False_, **settings)
    assert half.result["interrupted"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = hotloop.resume(half, progress=False)
    assert whole.result["params_hash"] == straight.result["params_hash"]


class Shown(gymnasium.Env):
    """Always returns the given observation."""

    action_space = spaces.Discrete(3, start=5)
    actions: list = []

    def __init__(self, space, value):
        self.observation_space, self.value = space, value

    def reset(self, *, seed=None, options=None):
        return self.value, {}

    def step(self, action):
        Shown.actions.append(action)
        return self.value, 0.0, False, False, {}


@pytest.mark.parametrize(
    "space, value, row",
    [
        (spaces.Box(0, 1, (2, 2)), np.array([[0.25, 0.5], [0.75, 1]], np.float32), [0.25, 0.5, 0.75, 1]),
        (spaces.Box(0, 255, (2, 1, 1), np.uint8), np.array([[[0]], [[255]]], np.uint8), [0, 1]),
        (spaces.Box(-1, 1, (), np.float32), np.float32(0.5), [0.5]),
        (spaces.Discrete(4, start=1), 3, [0, 0, 1, 0]),
        (spaces.MultiBinary(3), np.array([1, 0, 1], np.int8), [1, 0, 1]),
        (spaces.MultiDiscrete([2, 3]), np.array([1, 2]), [0, 1, 0, 0, 1]),
        (spaces.MultiDiscrete([[2], [3]]), np.array([[0], [1]]), [1, 0, 0, 1, 0]),
        (
            spaces.Tuple([spaces.Discrete(2), spaces.Box(0, 9, (2,))]),
            (1, np.array([7, 8], np.float32)),
            [0, 1, 7, 8],
        ),
        (
            spaces.Dict({"a": spaces.Box(0, 9, (2,)), "b": spaces.Discrete(2)}),
            {"a": np.array([7, 8], np.float32), "b": 1},
            [7, 8, 0, 1],
        ),
    ],
)
def test_observations_of_every_kind(space, value, row):
    name, _ = _worlds.register(lambda: Shown(space, value))
    env = hotloop.make(name, num_envs=1)
    obs, _ = env.reset(seed=1)
    np.testing.assert_allclose(obs[0], row, rtol=1e-6)
    Shown.actions.clear()
    env.step(np.array([2]))
    assert Shown.actions == [7]  # the third action of a space that starts at 5


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"observation_space": spaces.Sequence(spaces.Discrete(2))},
            "Sequence; allowed: Box, Discrete, MultiDiscrete",
        ),
        ({"observation_space": spaces.Tuple([spaces.Tuple([spaces.Discrete(2)])])}, "Tuple; allowed"),
        ({"observation_space": spaces.Dict({"a b": spaces.Discrete(2)})}, "letters, digits and _"),
        ({"observation_space": spaces.Dict({"a": spaces.Text(3)})}, r"observation\['a'\].*Text"),
        ({"action_space": spaces.MultiBinary(3)}, "action: its space is a MultiBinary"),
        ({"action_space": spaces.MultiDiscrete([99, 99])}, "2 choices at a time with 9801 combinations"),
        ({"action_space": spaces.Box(-np.inf, np.inf, (1,))}, "bounds must be finite"),
        ({"action_space": spaces.Box(0, 1e300, (1,), np.float64)}, "bounds must be finite"),
        ({"action_space": spaces.Box(-1, 1, (65,))}, "a Box of 65 numbers; allowed: up to 64"),
    ],
)
def test_spaces_that_do_not_fit_are_refused(change, message):
    bad = type("Bad", (Count,), change)
    with pytest.raises(hotloop.UsageError, match=message):
        _worlds.register(bad)


def test_other_objects_than_environments_are_refused():
    with pytest.raises(hotloop.UsageError, match="an existing Count; give a function"):
        hotloop.train("dqn", env=Count())
    with pytest.raises(hotloop.UsageError, match="found a int; allowed: a Gymnasium id"):
        hotloop.train("dqn", env=3)
    with pytest.raises(hotloop.UsageError, match="made a int; expected a gymnasium.Env"):
        hotloop.train("dqn", env=lambda: 3)
    with pytest.raises(hotloop.UsageError, match="did you mean CartPole-v1"):
        hotloop.train("dqn", env="CartPol-v1")


def test_a_package_that_is_missing_is_named():
    def needs_another():
        raise gymnasium.error.DependencyNotInstalled('run `pip install "gymnasium[mujoco]"`')

    gymnasium.register("Needy-v0", entry_point=needs_another)
    message = r'env: Needy-v0 needs a package that is not installed: run `pip install "gymnasium\[mujoco\]"`'
    with pytest.raises(hotloop.UsageError, match=message):
        hotloop.train("ppo", env="Needy-v0", env_count=8)


def test_an_observation_of_the_wrong_shape_is_named(tmp_path):
    class Wrong(Count):
        def _look(self):
            return np.zeros(4 if self.steps > 2 else 3)

    with pytest.raises(hotloop.UsageError, match=r"observation: expected shape \(3,\), found \(4,\)"):
        hotloop.train("dqn", env=lambda: Wrong(9), steps=200, out=tmp_path, **small())


def test_what_an_environment_raises_reaches_the_caller(tmp_path):
    class Broken(Count):
        def step(self, action):
            if self.episode == 2:
                raise ZeroDivisionError("in step")
            return super().step(action)

    with pytest.raises(ZeroDivisionError, match="in step"):
        hotloop.train("dqn", env=Broken, steps=500, out=tmp_path, **small())


def test_not_a_number_is_named(tmp_path):
    class Nan(Count):
        def _look(self):
            return np.array([self.steps, np.nan if self.episode == 3 else 0, 0])

    with pytest.raises(hotloop.RunError, match=r"non-finite observation\[1\]"):
        hotloop.train("dqn", env=Nan, steps=500, out=tmp_path, **small())


def test_masks_are_kept(tmp_path):
    class Masked(gymnasium.Env):
        observation_space = spaces.Box(0, 1, (1,))
        action_space = spaces.Discrete(4)

        def _info(self):
            self.allowed = self.np_random.integers(4)
            mask = np.zeros(4, np.int8)
            mask[self.allowed] = 1
            return {"action_mask": mask}

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.steps = 0
            return np.zeros(1, np.float32), self._info()

        def step(self, action):
            assert action == self.allowed
            self.steps += 1
            return np.zeros(1, np.float32), 1.0, False, self.steps == 5, self._info()

    run = hotloop.train("dqn", env=Masked, steps=400, out=tmp_path, **small())
    assert run.evaluate(3).mean == 5
    with pytest.raises(hotloop.UsageError, match=r'mask: python:.*Masked@.*give mask=info\["action_mask"\]'):
        run.agent.act(np.zeros(1))
    assert run.agent.act(np.zeros((2, 1)), mask=[[0, 1, 0, 0], [0, 0, 0, 1]]).tolist() == [1, 3]


def test_cartpole_of_gymnasium_is_learnt(tmp_path):
    run = hotloop.train("cartpole_dqn", env="CartPole-v1", seed=1, out=tmp_path, progress=False)
    assert run.evaluate(100).mean >= 475
    assert run.result["time"]["python"] > 0.1


def test_pendulum_of_gymnasium_trains(tmp_path):
    run = hotloop.train(
        "ppo",
        env="Pendulum-v1",
        steps=2_048,
        out=tmp_path,
        progress=False,
        evaluation={"every": 0, "episodes": 2},
    )
    assert run.result["env_steps"] == 2_048
    obs = np.zeros((5, 3), np.float32)
    assert run.agent.act(obs).shape == (5, 1)


@pytest.mark.parametrize("spec, env", [("dqn", "CartPole-v1"), ("ppo", "Pendulum-v1")])
def test_a_resumed_run_continues_to_the_bit(tmp_path, spec, env):
    settings = small(steps=2_000, seed=3, out=tmp_path, run={"log_every": 100})
    if spec == "ppo":
        settings = {**settings, "algo": {"n_steps": 50, "batch": 50}}
    straight = hotloop.train(spec, env=env, **settings)
    half = hotloop.train(spec, env=env, callback=lambda row: row["env_steps"] < 900, **settings)
    assert half.result["interrupted"] and half.result["env_steps"] < 2_000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = hotloop.resume(half, progress=False)
    assert whole.result["params_hash"] == straight.result["params_hash"]
    assert whole.result["episodes"] == straight.result["episodes"]


def test_an_environment_that_cannot_be_replayed_starts_again_with_a_warning(tmp_path):
    class Restless(Count):
        total = 0  # global state, independent of the seed

        def _look(self):
            Restless.total += 1
            return np.array([self.steps, Restless.total % 7, 0])

    settings = small(steps=1_000, out=tmp_path, run={"log_every": 100})
    half = hotloop.train("dqn", env=lambda: Restless(9), callback=lambda row: False, **settings)
    with pytest.warns(UserWarning, match="could not replay its episodes: new episodes start"):
        whole = hotloop.resume(half, env=lambda: Restless(9), progress=False)
    assert whole.result["env_steps"] == 1_000


@pytest.mark.filterwarnings("ignore:.*could not replay its episodes")  # Count observes its episode number
def test_a_run_of_a_function_asks_for_it_again(tmp_path):
    settings = small(steps=600, out=tmp_path, run={"log_every": 100})
    half = hotloop.train("dqn", env=Count, callback=lambda row: False, **settings)
    whole = hotloop.resume(half.folder, env=Count, progress=False)
    assert whole.result["env_steps"] == 600


@pytest.mark.filterwarnings("ignore:.*could not replay its episodes")
def test_control_c_in_the_middle_of_python_saves(tmp_path):
    class Interrupting(Count):
        def step(self, action):
            if self.episode == 40 and self.steps == 1:
                os.kill(os.getpid(), signal.SIGINT)
            return super().step(action)

    assert threading.current_thread() is threading.main_thread()
    settings = small(steps=5_000, out=tmp_path)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
    try:
        with pytest.raises(hotloop.Interrupted) as stopped:
            hotloop.train("dqn", env=lambda: Interrupting(9), **settings)
    finally:
        signal.signal(signal.SIGINT, before)
    run = pickle.loads(pickle.dumps(stopped.value)).run  # as it comes from another process
    assert 0 < run.result["env_steps"] < 5_000
    assert hotloop.resume(run, progress=False, steps=1_000).result["env_steps"] == 1_000


def test_a_vector_environment_trains_and_is_evaluated(tmp_path):
    vector = gymnasium.make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync")
    run = hotloop.train("dqn", env=vector, steps=2_000, out=tmp_path, **small())
    assert run.result["env_steps"] == 2_000
    assert run.evaluate(5).mean > 5


def test_profile_and_doctor_show_python(tmp_path):
    profile = hotloop.profile(
        "dqn", env="CartPole-v1", seconds=1, **{k: v for k, v in small().items() if k != "progress"}
    )
    assert profile["phases"]
    assert "python" in str(profile)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(0, 255, (3, 3, 2), np.uint8),
        spaces.Discrete(5, start=2),
        spaces.MultiBinary(4),
        spaces.MultiDiscrete([2, 5, 3]),
        spaces.Tuple([spaces.Discrete(4), spaces.MultiDiscrete([[2, 2]]), spaces.Box(-1, 1, (2,))]),
        spaces.Dict(
            {"a": spaces.Box(0, 255, (2, 2), np.uint8), "b": spaces.Discrete(3), "c": spaces.Box(-1, 1, (2,))}
        ),
    ],
)
def test_an_agent_takes_what_its_environment_shows(tmp_path, space):
    class Random(gymnasium.Env):
        observation_space = space
        action_space = spaces.Discrete(3, start=5)
        taken: list = []

        def _look(self):
            self.seen = self.observation_space.sample()
            return self.seen

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.observation_space.seed(seed)
            self.steps = 0
            return self._look(), {}

        def step(self, action):
            Random.taken.append((self.seen, action))
            self.steps += 1
            return self._look(), float(action - 6), self.steps == 8, False, {}

    run = hotloop.train("dqn", env=Random, **small(steps=300, out=tmp_path))
    Random.taken.clear()
    run.evaluate(4)
    pairs = Random.taken[:32]
    assert len(pairs) == 32 and {action for _, action in pairs} <= {5, 6, 7}
    for seen, action in pairs:
        assert run.agent.act(seen) == action
    if isinstance(space, spaces.Dict):
        batch = {key: np.stack([seen[key] for seen, _ in pairs]) for key in space.spaces}
    elif isinstance(space, spaces.Tuple):
        batch = tuple(np.stack([seen[i] for seen, _ in pairs]) for i in range(len(space.spaces)))
    else:
        batch = np.stack([seen for seen, _ in pairs])
    assert run.agent.act(batch).tolist() == [action for _, action in pairs]
    with pytest.raises(hotloop.UsageError, match="observations"):
        run.agent.act(np.zeros((3, 7, 9)))


def test_a_run_that_fails_leaves_its_models(tmp_path):
    class Late(Count):
        def step(self, action):
            if self.episode == 300:
                raise RuntimeError("gave up")
            return super().step(action)

    with pytest.raises(RuntimeError, match="gave up") as failed:
        hotloop.train("dqn", env=Late, **small(steps=50_000, out=tmp_path))
    if hasattr(failed.value, "__notes__"):
        assert "row" in failed.value.__notes__[0]
    (folder,) = tmp_path.iterdir()
    assert hotloop.load(folder, "latest").env_steps > 0


def test_models_act_without_their_environment(tmp_path):
    run = hotloop.train("dqn", env=Count, steps=300, out=tmp_path, **small())
    import subprocess
    import sys

    code = (
        "import sys, numpy as np, hotloop\n"
        "agent = hotloop.load(sys.argv[1])\n"
        "print(agent.act(np.zeros((2, 3), np.float32)).tolist())\n"
        "try:\n"
        "    hotloop.resume(sys.argv[1])\n"
        "except hotloop.UsageError as error:\n"
        "    print(error)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(run.folder)], capture_output=True, text=True, check=True
    )
    lines = out.stdout.splitlines()
    assert lines[0] == str(run.agent.act(np.zeros((2, 3), np.float32)).tolist())
    assert "env=" in lines[1]
