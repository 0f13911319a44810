"""EnvPool environments inside the engine. EnvPool's own arrays, and Gymnasium's CartPole, are the twins."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
envpool = pytest.importorskip("envpool", reason="EnvPool cannot be imported: pip install envpool")

import hotloop  # noqa: E402
from gymnasium import spaces  # noqa: E402
from hotloop import _envpool, _interface, _worlds  # noqa: E402


def small(**more):
    """A run of a second or so."""
    return {"net": {"hidden": [16]}, "evaluation": {"every": 0, "episodes": 4}, "progress": False, **more}


def ppo(**more):
    return small(algo={"n_steps": 50, "batch": 50}, **more)


def made(id, count, **options):
    """A pool of the user's."""
    return envpool.make_gymnasium(id, num_envs=count, **options)


class Spy:
    """A pool that records its calls: (kind, actions, rows, what it returned)."""

    def __init__(self, pool, seeds):
        self.pool, self.seeds, self.calls = pool, seeds, []

    def __len__(self):
        return len(self.pool)

    def step(self, actions, rows=None):
        result = self.pool.step(actions, rows)
        self.calls.append(("step", np.array(actions), rows, result))
        return result

    def reset(self, rows=None):
        result = self.pool.reset(rows)
        self.calls.append(("reset", None, rows, result))
        return result


@pytest.fixture
def spies(monkeypatch):
    """Every pool that hotloop makes, in order."""
    made_pools = []
    make = _envpool.Pools.make

    def spied(self, seeds):
        made_pools.append(Spy(make(self, seeds), seeds))
        return made_pools[-1]

    monkeypatch.setattr(_envpool.Pools, "make", spied)
    return made_pools


def random_actions(space, shape, seed=0):
    rng = np.random.default_rng(seed)
    if isinstance(space, spaces.Discrete):
        return rng.integers(space.n, size=shape).astype(np.int32)
    return rng.uniform(space.low, space.high, (*shape, *space.shape)).astype(np.float32)


def played(name, count, actions):
    """Transitions of each row as the engine sees them: (s, a, r, s', terminated, truncated)."""
    env = hotloop.make(name, num_envs=count)
    obs, _ = env.reset(seed=5)
    rows = [[] for _ in range(count)]
    for step in actions:
        before = obs.copy()
        obs, rewards, terminated, truncated, infos = env.step(step)
        for row in range(count):
            ended = terminated[row] or truncated[row]
            after = infos["final_obs"][row] if ended else obs[row]
            flags = bool(terminated[row]), bool(truncated[row])
            rows[row].append((before[row].copy(), step[row], float(rewards[row]), np.array(after), *flags))
    return rows


def raw(id, seeds, actions):
    """The same from EnvPool itself, which inserts a step without a transition after each episode."""
    pool = envpool.make_gymnasium(id, num_envs=len(seeds), seed=seeds)
    encode = _interface.Observations(pool.observation_space)

    def floats(values):
        rows = np.empty((len(seeds), encode.size), np.float32)
        for row, value in zip(rows, values):
            encode.write(row, value)
        return rows

    taken = [0] * len(seeds)
    rows = [[] for _ in seeds]
    obs = floats(pool.reset()[0])
    ended = np.zeros(len(seeds), bool)
    while min(taken) < len(actions):
        at = [min(number, len(actions) - 1) for number in taken]
        now = np.array([actions[number][row] for row, number in enumerate(at)])
        after, rewards, terminated, truncated, infos = pool.step(now)
        after = floats(after)
        for row in range(len(seeds)):
            assert (infos["elapsed_step"][row] == 0) == ended[row]
            if ended[row]:
                assert rewards[row] == 0 and not terminated[row] and not truncated[row]
            else:
                taken[row] += 1
                flags = bool(terminated[row]), bool(truncated[row])
                rows[row].append((obs[row], now[row], float(rewards[row]), after[row], *flags))
        obs, ended = after, terminated | truncated
    return [row[: len(actions)] for row in rows]


@pytest.mark.parametrize(
    "id, steps",
    [
        ("CartPole-v1", 300),
        ("Pendulum-v1", 450),  # only truncated
        ("FrozenLake-v1", 300),  # random in every step, and observes an integer
        ("Blackjack-v1", 100),  # many episodes of one step
        ("Catch-v0", 100),  # observes a matrix
        ("HalfCheetah-v4", 1100),  # float64
    ],
)
def test_no_transition_is_lost_or_invented(id, steps, spies):
    name, rows = _worlds.register(f"envpool:{id}")
    assert name == f"envpool:{id}" and rows is None
    actions = random_actions(envpool.make_spec(id).action_space, (steps, 3))
    seen = played(name, 3, actions)
    expected = raw(id, spies[-1].seeds, actions)
    ends = 0
    for row in range(3):
        for here, there in zip(seen[row], expected[row], strict=True):
            for value, other in zip(here, there):
                assert np.array_equal(value, other)
            ends += here[4] or here[5]
            assert not (here[4] and here[5])
    assert ends >= 3
    # One call for each vector step, and one for the rows that ended.
    calls = [kind for kind, *_ in spies[-1].calls]
    assert calls.count("step") == steps and calls.count("reset") <= steps + 1
    for kind, _, _, result in spies[-1].calls:
        elapsed = result[-1]["elapsed_step"]
        assert (elapsed > 0).all() if kind == "step" else (elapsed == 0).all()


def test_cartpole_is_the_one_of_gymnasium():
    """Each transition, and whole episodes from the same start with the same actions."""
    name, _ = _worlds.register("envpool:CartPole-v1")
    actions = random_actions(spaces.Discrete(2), (600, 4), seed=1)
    single = gymnasium.make("CartPole-v1").unwrapped
    twin = gymnasium.make("CartPole-v1").unwrapped
    single.reset(), twin.reset()

    def put(env, state):
        env.state, env.steps_beyond_terminated = tuple(state.astype(np.float64)), None

    episodes = 0
    for row in played(name, 4, actions):
        begins = True
        for before, action, reward, after, terminated, truncated in row:
            if begins:
                assert (np.abs(before) <= 0.05).all()
                put(twin, before)
            put(single, before)
            obs, expected, ended, _, _ = single.step(int(action))
            np.testing.assert_allclose(after, obs, rtol=1e-5, atol=1e-6)
            assert (reward, terminated, truncated) == (expected, ended, False)
            obs, _, ended, _, _ = twin.step(int(action))
            np.testing.assert_allclose(after, obs, rtol=1e-4, atol=1e-4)
            assert terminated == ended
            begins = terminated
            episodes += terminated
    assert episodes > 50


def test_flags_at_a_time_limit(recwarn):
    """EnvPool reports a termination in the very step of the limit as truncated."""
    pool = made("CartPole-v1", 16, seed=1, max_episode_steps=9)
    name, rows = _worlds.register(pool)
    assert rows == 16
    flags = {"terminated": 0, "truncated": 0, "fell at the limit": 0}
    for row in played(name, 16, np.zeros((60, 16), np.int32)):
        length = 0
        for _, _, _, after, terminated, truncated in row:
            length += 1
            fell = bool(abs(after[2]) > 12 * np.pi / 180)
            if length < 9:
                assert (terminated, truncated) == (fell, False)
            else:
                assert (terminated, truncated) == (False, True)
                flags["fell at the limit"] += fell
            flags["terminated"] += terminated
            flags["truncated"] += truncated
            length = 0 if terminated or truncated else length
    assert min(flags.values()) > 5


def test_no_python_runs_per_row():
    def lines_of_a_step(count):
        """How many lines of Python one vector step executes, in hotloop and EnvPool."""
        name, _ = _worlds.register("envpool:CartPole-v1")
        env = hotloop.make(name, num_envs=count)
        env.reset(seed=1)
        actions = np.zeros(count, np.int32)
        env.step(actions)
        lines = [0]

        def hook(frame, event, argument):
            lines[0] += 1
            return hook

        sys.settrace(hook)
        try:
            env.step(actions)
        finally:
            sys.settrace(None)
        return lines[0]

    assert lines_of_a_step(2) == lines_of_a_step(64) > 20


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-np.inf, np.inf, (17,), np.float64),
        spaces.Box(0, 255, (3, 5, 2), np.uint8),
        spaces.Box(0, 9, (2, 3), np.uint8),
        spaces.Box(-5, 31, (3,), np.int32),
        spaces.Box(-1, 1, (), np.float32),
        spaces.MultiBinary((2, 3)),
        spaces.Discrete(7, start=-2),
    ],
)
def test_a_batch_is_written_as_its_rows_are(space):
    space.seed(1)
    values = np.array([space.sample() for _ in range(9)])
    observations = _interface.Observations(space)
    one, all = np.empty((9, observations.size), np.float32), np.empty((9, observations.size), np.float32)
    for row, value in zip(one, values):
        observations.write(row, value)
    _interface.batch_writer(space)(all, values)
    assert one.tobytes() == all.tobytes()
    with pytest.raises(hotloop.UsageError, match="observation: "):
        wrong = values + 9 if isinstance(space, spaces.Discrete) else values[..., None]
        _interface.batch_writer(space)(all, wrong)


def test_images_are_rows_columns_channels_from_0_to_1(tmp_path, spies):
    settings = small(algo={"learning_starts": 8, "train_every": 2}, replay={"capacity": 64}, env_count=2)
    run = hotloop.train("dqn", env="envpool:Pong-v5", steps=40, out=tmp_path, **settings)
    env = hotloop.make("envpool:Pong-v5", num_envs=2)
    obs, _ = env.reset(seed=1)
    images = spies[-1].calls[-1][3][0]
    assert images.shape == (2, 4, 84, 84) and images.dtype == np.uint8 and images.max() > 1
    moved = images.transpose(0, 2, 3, 1).reshape(2, -1)
    assert np.array_equal(obs, moved.astype(np.float32) * np.float32(1 / 255))
    # The agent takes what the pool returns.
    rows, single = run.agent._rows(images)
    assert np.array_equal(rows, obs) and not single
    rows, single = run.agent._rows(images[1])
    assert np.array_equal(rows, obs[1:]) and single
    with pytest.raises(hotloop.UsageError, match=r"allowed: \(N, 4, 84, 84\), or \(4, 84, 84\)"):
        run.agent.act(images.transpose(0, 2, 3, 1))


@pytest.mark.skipif("Play2048-v1" not in envpool.list_all_envs(), reason="needs EnvPool 1.2")
def test_masks_are_obeyed(tmp_path, spies):
    algo = {"learning_starts": 100}
    run = hotloop.train("dqn", env="envpool:Play2048-v1", steps=800, out=tmp_path, **small(algo=algo))
    assert run.result["episodes"] > 0
    pool = max(spies, key=lambda spy: len(spy.calls))
    mask = np.zeros((len(pool), 4), bool)
    narrow = 0
    for kind, actions, rows, result in pool.calls:
        if kind == "step":
            assert mask[np.arange(len(pool)), actions].all()
            narrow += (~mask).sum()
        mask[slice(None) if rows is None else rows] = result[-1]["legal_action_mask"]
    assert narrow > 0


def test_the_seed_of_the_run_reaches_the_rows(tmp_path, spies):
    settings = ppo(steps=400, env_count=2, out=tmp_path)
    runs = []
    for seed in (1, 1, 2):
        begin = len(spies)
        run = hotloop.train("ppo", env="envpool:CartPole-v1", seed=seed, **settings)
        seeds = {tuple(spy.seeds) for spy in spies[begin:] if len(spy.seeds) > 1}  # training, evaluation
        assert {len(set(rows)) for rows in seeds} == {2, 4}  # each row has its own
        runs.append((run.result["params_hash"], seeds))
    assert runs[0] == runs[1]
    assert runs[0][0] != runs[2][0] and runs[0][1].isdisjoint(runs[2][1])


@pytest.mark.parametrize(
    "spec, id", [("dqn", "CartPole-v1"), ("ppo", "Pendulum-v1"), ("ppo", "HalfCheetah-v4")]
)
def test_a_resumed_run_continues_to_the_bit(tmp_path, spec, id):
    settings = small(steps=3_000, seed=3, out=tmp_path, env_count=2, run={"log_every": 100})
    algo = {"ppo": {"n_steps": 50, "batch": 50}, "dqn": {"learning_starts": 100, "train_every": 2}}
    settings["algo"] = algo[spec]
    env = f"envpool:{id}"
    straight = hotloop.train(spec, env=env, **settings)
    half = hotloop.train(spec, env=env, callback=lambda row: row["env_steps"] < 2_300, **settings)
    assert half.result["interrupted"] and half.result["env_steps"] < 3_000
    assert half.result["episodes"] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*precision lowered")  # EnvPool's own
        whole = hotloop.resume(half, progress=False)
    assert whole.result["params_hash"] == straight.result["params_hash"]
    assert whole.result["episodes"] == straight.result["episodes"]


def test_episodes_that_cannot_be_replayed_begin_again_with_a_warning(tmp_path, monkeypatch):
    settings = ppo(steps=2_000, out=tmp_path, run={"log_every": 100})
    half = hotloop.train("ppo", env="envpool:CartPole-v1", callback=lambda row: False, **settings)
    monkeypatch.setattr(_envpool, "MAX_RESETS", 0)
    with pytest.warns(UserWarning, match="could not replay its episodes: new episodes start"):
        whole = hotloop.resume(half, progress=False)
    assert whole.result["env_steps"] == 2_000


def test_another_process_finds_an_id_itself(tmp_path):
    settings = ppo(steps=2_000, out=tmp_path, run={"log_every": 100})
    half = hotloop.train("ppo", env="envpool:CartPole-v1", callback=lambda row: False, **settings)
    code = "import sys, hotloop; print(hotloop.resume(sys.argv[1], progress=False).result['env_steps'])"
    done = subprocess.run([sys.executable, "-c", code, half.folder], capture_output=True, text=True)
    assert done.stdout.split() == ["2000"], done.stderr


def test_a_pool_of_the_user_trains_and_is_evaluated_with_its_own_settings(tmp_path, spies):
    pool = made("CartPole-v1", 4, seed=7, max_episode_steps=11)
    with pytest.warns(UserWarning, match="keeps its own seeds, so the run's seed does not reach it"):
        run = hotloop.train("ppo", env=pool, steps=2_000, out=tmp_path, **ppo())
    assert run.result["env_steps"] == 2_000 and run.result["episodes"] >= 2_000 // 11
    assert run.evaluate(20).lengths.max() <= 11
    assert all(spy.pool is not pool for spy in spies)  # evaluation made its own
    # It is free again, and its rows begin new episodes.
    with pytest.warns(UserWarning, match="keeps its own seeds"):
        again = hotloop.train("ppo", env=pool, steps=400, out=tmp_path, **ppo())
    assert again.result["env_steps"] == 400
    with pytest.raises(hotloop.UsageError, match="4 rows.*env.count: 3"):
        hotloop.train("ppo", env=pool, steps=300, env_count=3, out=tmp_path, **ppo())


@pytest.mark.filterwarnings("ignore:.*keeps its own seeds")
def test_a_run_of_a_pool_is_resumed_with_new_episodes(tmp_path):
    settings = ppo(steps=1_200, out=tmp_path, run={"log_every": 100})
    half = hotloop.train("ppo", env=made("CartPole-v1", 2), callback=lambda row: False, **settings)
    with pytest.warns(UserWarning, match="could not replay its episodes: new episodes start"):
        whole = hotloop.resume(half, env=made("CartPole-v1", 2), progress=False)
    assert whole.result["env_steps"] == 1_200


@pytest.mark.filterwarnings("ignore:.*keeps its own seeds")
def test_eval_env_has_other_settings(tmp_path):
    short = made("CartPole-v1", 1, max_episode_steps=7)
    for env in ("envpool:CartPole-v1", made("CartPole-v1", 2)):
        run = hotloop.train("ppo", env=env, eval_env=short, steps=800, out=tmp_path, **ppo())
        assert run.evaluate(10).lengths.max() <= 7
    with pytest.raises(hotloop.UsageError, match="eval_env: its observations or actions differ"):
        hotloop.train("ppo", env=env, eval_env="envpool:Acrobot-v1", out=tmp_path, **ppo())
    with pytest.raises(hotloop.UsageError, match="eval_env: found a function; allowed: an EnvPool id"):
        hotloop.train("ppo", env=env, eval_env=lambda: 3, out=tmp_path, **ppo())


def test_what_cannot_be_trained_on_is_refused():
    def refused(env, message, **more):
        with pytest.raises(hotloop.UsageError, match=message):
            hotloop.train("ppo", env=env, **more)

    refused("envpool:CartPol-v1", "no environment CartPol-v1; did you mean envpool:CartPole-v1")
    refused(
        "envpool:CheetahRun-v1", "observations of CheetahRun-v1 of EnvPool are a Dict of position, velocity"
    )
    refused(made("CartPole-v1", 2, max_num_players=2), "of EnvPool has 2 players; allowed: one")
    refused(made("CartPole-v1", 8, batch_size=4), "num_envs=8 and batch_size=4; .*Leave batch_size out")
    refused(envpool.make_dm("CartPole-v1", num_envs=2), "dm_env interface; make it with .*make_gymnasium")
    if isinstance(pool := made("CartPole-v1", 8), gymnasium.vector.VectorEnv):  # since EnvPool 1.2
        wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(pool)
        refused(wrapped, "a RecordEpisodeStatistics around an EnvPool; give the pool without wrappers")
    refused(lambda: made("CartPole-v1", 2), "made an EnvPool, which has several rows; give the pool itself")
    refused("envpool:CartPole-v1", "isolate: EnvPool environments run in threads", isolate=True)
    option = "envpool.make_gymnasium\\('CartPole-v1', num_envs=8, max_episode_steps=9\\)"
    refused("envpool:CartPole-v1", option, **{"env.max_episode_steps": 9})
    with pytest.raises(hotloop.UsageError, match="an EnvPool; hotloop.check looks at single"):
        hotloop.check("envpool:CartPole-v1")


def test_a_missing_envpool_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "envpool", None)
    with pytest.raises(
        hotloop.UsageError, match="env: envpool:CartPole-v1 needs EnvPool.*pip install 'envpool>=1'"
    ):
        hotloop.train("ppo", env="envpool:CartPole-v1")


def test_cartpole_of_envpool_is_learnt(tmp_path):
    run = hotloop.train("cartpole_dqn", env="envpool:CartPole-v1", seed=1, out=tmp_path, progress=False)
    assert run.evaluate(100).mean >= 475
    assert run.result["time"]["python"] > 0.1
