"""Environments that are easy to get wrong, and the messages about them."""

import os
import re
import sys
import types
import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import hotloop  # noqa: E402
from gymnasium import spaces  # noqa: E402
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv  # noqa: E402


class Walk(gymnasium.Env):
    """Nine steps to the left or right; the seed determines the start."""

    observation_space = spaces.Box(-20, 20, (2,))
    action_space = spaces.Discrete(2)
    unit = 1.0  # of rewards

    def info(self):
        return {}

    def look(self):
        return np.array([self.at, self.steps], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.steps = float(self.np_random.integers(-5, 5)), 0
        return self.look(), {}

    def step(self, action):
        self.at += 1 if action else -1
        self.steps += 1
        return self.look(), self.unit * self.at, self.steps == 9, False, self.info()


def small(**more):
    """A run of a second or so."""
    return {
        "algo": {"learning_starts": 100, "updates_per_step": 0.25, "train_every": 8},
        "net": {"hidden": [16]},
        "run": {"log_every": 100},
        "evaluation": {"every": 0, "episodes": 4},
        "progress": False,
        **more,
    }


@pytest.mark.filterwarnings("ignore:.*could not replay its episodes")  # one row cannot be stepped alone
def test_a_resumed_vector_environment_is_the_one_that_trains(tmp_path):
    steps = []

    class Counted(Walk):
        def step(self, action):
            steps.append(self.unit)
            return super().step(action)

    class Dear(Counted):
        unit = 100.0

    vector = SyncVectorEnv([Counted] * 4)
    half = hotloop.train(
        "dqn", env=vector, eval_env=Dear, steps=800, out=tmp_path, callback=lambda row: False, **small()
    )
    trained = steps.count(1.0)
    whole = hotloop.resume(half, progress=False)
    assert whole.result["env_steps"] == 800
    assert steps.count(1.0) == 800 - 4  # one step of each row was spent on starting again
    assert trained < 400
    steps.clear()
    whole.evaluate(3)
    assert steps == [100.0] * 27


def test_two_runs_cannot_share_a_vector_environment(tmp_path):
    vector = SyncVectorEnv([Walk] * 4)

    def meanwhile(row):
        with pytest.raises(hotloop.UsageError, match="another run is training on this vector environment"):
            hotloop.train("dqn", env=vector, eval_env=Walk, steps=400, out=tmp_path, **small())
        return False

    hotloop.train("dqn", env=vector, eval_env=Walk, steps=400, out=tmp_path, callback=meanwhile, **small())


class Late(Walk):
    def info(self):
        return {"action_mask": np.array([0, 1])}


@pytest.mark.parametrize("env", [Late, SyncVectorEnv([Late] * 2)], ids=["single", "vector"])
def test_a_mask_that_comes_late_is_refused(tmp_path, env):
    more = {"eval_env": Walk} if isinstance(env, SyncVectorEnv) else {}
    with pytest.raises(hotloop.UsageError, match="an action_mask, which the first reset did not have"):
        hotloop.train("dqn", env=env, steps=400, out=tmp_path, **more, **small())


def test_rewards_that_do_not_repeat_are_noticed(tmp_path):
    settings = small(steps=1_000, out=tmp_path)

    def env():
        return gymnasium.wrappers.NormalizeReward(Walk())

    half = hotloop.train("dqn", env=env, callback=lambda row: row["env_steps"] < 304, **settings)
    assert half.result["env_steps"] % 9 > 1  # in the middle of an episode
    with pytest.warns(UserWarning, match="could not replay its episodes"):
        hotloop.resume(half, env=env, progress=False)
    half = hotloop.train("dqn", env=Walk, callback=lambda row: row["env_steps"] < 304, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hotloop.resume(half, env=Walk, progress=False)


def test_boxes_of_integers_are_refused(tmp_path):
    class Integers(Walk):
        action_space = spaces.Box(0, 3, (1,), np.int64)

    with pytest.raises(hotloop.UsageError, match="a Box of int64; allowed: a Box of floats"):
        hotloop.train("ppo", env=Integers, steps=400, out=tmp_path, progress=False)


def test_a_warning_about_channels_that_come_first(tmp_path):
    class Picture(Walk):
        def __init__(self, *shape):
            self.observation_space = spaces.Box(0, 255, shape, np.uint8)

        def look(self):
            return np.zeros(self.observation_space.shape, np.uint8)

    with pytest.warns(UserWarning, match=r"shape \(3, 12, 10\) is taken as rows, columns, channels"):
        hotloop.train("dqn", env=lambda: Picture(3, 12, 10), steps=200, out=tmp_path, **small())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hotloop.train("dqn", env=lambda: Picture(12, 10, 3), steps=200, out=tmp_path, **small())


def test_an_environment_may_change_the_folder(tmp_path, monkeypatch):
    class Wanderer(Walk):
        def reset(self, **more):
            os.chdir("/")
            return super().reset(**more)

    monkeypatch.chdir(tmp_path)
    run = hotloop.train("dqn", env=Wanderer, steps=400, out="runs", **small())
    assert run.folder.startswith(str(tmp_path)) and run.evaluate(2).mean < 100


def test_an_id_may_name_the_module_that_registers_it(tmp_path, monkeypatch):
    def fill(module):
        gymnasium.register("FromElsewhere-v0", entry_point=Walk)
        return module

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name != "elsewhere":
                return None
            return importlib_machinery.ModuleSpec(name, Finder)

        @staticmethod
        def create_module(spec):
            return types.ModuleType(spec.name)

        exec_module = staticmethod(fill)

    import importlib.machinery as importlib_machinery

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    run = hotloop.train("dqn", env="elsewhere:FromElsewhere-v0", steps=400, out=tmp_path, **small())
    assert hotloop.resume(run.folder, steps=800, progress=False).result["env_steps"] == 800
    with pytest.raises(hotloop.UsageError, match="No module named 'nowhere'"):
        hotloop.train("dqn", env="nowhere:FromElsewhere-v0", steps=400, out=tmp_path, **small())


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")
def test_failures_name_their_row(tmp_path):
    class FailsLater(Walk):
        def reset(self, **more):
            if getattr(self, "steps", 0) == 9:  # all rows end together, the first of them first
                raise RuntimeError("no more")
            return super().reset(**more)

    with pytest.raises(RuntimeError, match="no more") as failure:
        hotloop.train("dqn", env=FailsLater, steps=4_000, out=tmp_path, **small())
    assert "in the environment of row 0" in failure.value.__notes__[0]


def test_results_of_reset_and_step_are_checked(tmp_path):
    class Old(Walk):
        def reset(self, **more):
            return super().reset(**more)[0]

    class Forgetful(Walk):
        observation_space = spaces.Dict({"a": spaces.Box(-20, 20, (2,)), "b": spaces.Discrete(3)})

        def look(self):
            return {"a": super().look(), **({"b": 1} if self.steps < 3 else {})}

    with pytest.raises(hotloop.UsageError, match=r"expected \(observation, info\)"):
        hotloop.train("dqn", env=Old, steps=400, out=tmp_path, **small())
    with pytest.raises(hotloop.UsageError, match="there is no part 'b'; found a"):
        hotloop.train("dqn", env=Forgetful, steps=400, out=tmp_path, **small())


def normalised(cls):
    return lambda: getattr(gymnasium.wrappers, cls)(Walk())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (normalised("NormalizeObservation"), "NormalizeObservation keeps .*'normalise': {'obs': True}"),
        (normalised("NormalizeReward"), "NormalizeReward keeps .*'normalise': {'rewards': True}"),
        (
            lambda: gymnasium.wrappers.vector.NormalizeObservation(SyncVectorEnv([Walk] * 2)),
            "NormalizeObservation keeps its own statistics",
        ),
        (
            lambda: SyncVectorEnv([normalised("NormalizeReward")] * 2),
            "NormalizeReward keeps its own statistics",
        ),
    ],
    ids=["obs", "rewards", "vector", "rows"],
)
def test_one_warning_about_wrappers_with_statistics(tmp_path, make, words):
    vector = isinstance(env := make(), gymnasium.vector.VectorEnv)
    more = {"env": env, "eval_env": Walk} if vector else {"env": make}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = hotloop.train("dqn", steps=200, out=tmp_path, **more, **small())
        run.evaluate(2)
    (text,) = [str(warning.message) for warning in caught if "statistics" in str(warning.message)]
    assert re.search(words, text) and "algo.normalise" in text


class Dies(Walk):
    def step(self, action):
        if self.np_random.random() < 0.2:
            os._exit(3)
        return super().step(action)


@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_worker_that_dies_is_reported(tmp_path):
    vector = AsyncVectorEnv([Walk, Dies])
    with pytest.raises(
        hotloop.RunError, match="a worker process of AsyncVectorEnv died, row 1 with exit code 3"
    ):
        hotloop.train("dqn", env=vector, eval_env=Walk, steps=400, out=tmp_path, **small())
    vector.close(terminate=True)


class Four(Walk):
    def step(self, action):
        return super().step(action)[:4]


class NoReward(Walk):
    def step(self, action):
        obs, reward, *rest = super().step(action)
        return obs, self.reward(reward), *rest

    def reward(self, reward):
        return None


class Rewards(NoReward):
    def reward(self, reward):
        return np.array([reward])


class Seedless(Walk):
    def reset(self):
        return super().reset()


@pytest.mark.parametrize(
    ("env", "words"),
    [
        (Four, r"step returned 4 values; .* \(observation, reward, terminated, truncated, info\)"),
        (NoReward, "returned the reward None; Gymnasium's interface asks for one number"),
        (Rewards, r"returned the reward an array of shape \(1,\); Gymnasium's interface asks for one number"),
        (Seedless, r"reset of Seedless takes no seed; .* reset\(self, \*, seed=None, options=None\)"),
    ],
)
def test_other_interfaces_than_gymnasiums_are_named(tmp_path, env, words):
    with pytest.raises(hotloop.UsageError, match=words):
        hotloop.train("dqn", env=env, steps=400, out=tmp_path, **small())


def test_rewards_of_any_type_of_number(tmp_path):
    class Mixed(NoReward):
        def reward(self, reward):
            return [int, float, np.float32, np.int8, bool, np.bool_, np.array][self.steps % 7](1)

    run = hotloop.train("dqn", env=Mixed, steps=400, out=tmp_path, **small())
    assert run.evaluate(2).mean == 9


def test_agents_refuse_nan(value_run):
    obs = np.zeros((3, 4), np.float32)
    obs[1, 2] = np.nan
    for ask in (value_run.agent.act, value_run.agent.q_values):
        with pytest.raises(hotloop.UsageError, match="row 1 has nan, which is not a finite number"):
            ask(obs)


@pytest.mark.parametrize("vector", [False, True], ids=["single", "vector"])
def test_tuples_train(tmp_path, vector):
    env = (
        gymnasium.make_vec("Blackjack-v1", num_envs=4, vectorization_mode="sync")
        if vector
        else "Blackjack-v1"
    )
    run = hotloop.train("dqn", env=env, steps=800, out=tmp_path, **small())
    assert run.agent.inputs == 32 + 11 + 2
    assert run.agent.act((14, 10, 0)) in (0, 1)


@pytest.mark.parametrize("spec", ["dqn", "ppo"])
def test_several_choices_at_a_time(tmp_path, spec):
    class Levers(Walk):
        """Rewards the first lever at 1 and the second at 6: one of six combinations is the best."""

        action_space = spaces.MultiDiscrete([2, 3], start=[0, 4])
        taken: list = []

        def step(self, action):
            assert self.action_space.contains(action), action
            Levers.taken.append((self.look(), action))
            seen = super().step(action[0])
            return seen[0], float(action[0]) + float(action[1] == 6), *seen[2:]

    run = hotloop.train(
        spec, env=Levers, steps=6_000, out=tmp_path, progress=False, evaluation={"episodes": 4}
    )
    assert len({tuple(action) for _, action in Levers.taken}) == 6  # all were tried
    Levers.taken.clear()
    assert run.evaluate(2).mean > 13  # by chance 7.5
    for obs, action in Levers.taken:
        assert run.agent.act(obs).tolist() == action.tolist()
    assert run.agent.act(np.stack([obs for obs, _ in Levers.taken])).shape == (18, 2)
    assert run.agent.actions == 6
    half = hotloop.train(
        spec, env=Levers, out=tmp_path, progress=False, steps=3_000, callback=lambda row: False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # its episodes can be replayed
        hotloop.resume(half, env=Levers, progress=False)


class Escapes(Walk):
    """Leaves its Box after `late` steps."""

    late = 0

    def look(self):
        looks = super().look()
        Escapes.seen = getattr(Escapes, "seen", 0) + 1
        return looks * 100 if self.steps > 4 and Escapes.seen > self.late else looks


@pytest.mark.parametrize("late", [0, 3000])
@pytest.mark.parametrize("vector", [False, True])
def test_observations_outside_their_box_give_one_warning(tmp_path, late, vector):
    Escapes.late, Escapes.seen = late, 0
    small = {"steps": 8000, "progress": False, "out": tmp_path, "evaluation": {"episodes": 1, "every": 0}}
    env = {"env": SyncVectorEnv([Escapes] * 2), "eval_env": Walk} if vector else {"env": Escapes}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hotloop.train("dqn", **env, **small)
    texts = {str(w.message) for w in caught if "its space allows -20 to 20" in str(w.message)}
    assert len(texts) in (1, 2), [str(w.message) for w in caught]  # of training, and of evaluation
    for text in texts:
        assert re.search(
            r"value [01] of the observation of row \d is -?\d+; its space allows -20 to 20", text
        ), text


def test_observations_inside_their_spaces_give_no_warning():
    from hotloop._interface import Observations

    odd = spaces.Dict(
        {
            "image": spaces.Box(0, 255, (4, 4, 1), np.uint8),
            "number": spaces.Discrete(5, start=-2),
            "free": spaces.Box(-np.inf, np.inf, (2,), np.float64),
            "tight": spaces.Box(0.1, 0.3, (3,), np.float64),
            "flags": spaces.MultiBinary(3),
        }
    )
    observations = Observations(odd)
    rows = np.zeros((200, observations.size), np.float32)
    odd.seed(0)
    for row in rows:
        observations.write(row, odd.sample())
    observations.write(rows[0], {**odd.sample(), "tight": odd["tight"].low, "free": np.array([1e30, -1e30])})
    assert observations.outside(rows) is None
    observations.write(rows[7], {**odd.sample(), "tight": np.array([0.2, 0.2, 0.31])})
    assert observations.outside(rows).startswith(
        f"value {3 + 2 + 16 + 5 + 2} of the observation of row 7 is 0.31"
    )
