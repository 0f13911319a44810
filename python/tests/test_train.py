"""Training, resuming, stopping, and the contents of a run."""

import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import hotloop
import numpy as np
import pytest

QUICK = {"steps": 3000, "seed": 1, "progress": False}


def test_a_run_has_its_results(value_run):
    assert os.path.isdir(value_run.folder)
    assert value_run.result["env_steps"] == 6000
    assert value_run.result["seed"] == 1
    assert "algo" in value_run.spec
    assert "cartpole_dqn-1" in repr(value_run)
    same = hotloop.Run(value_run.folder)
    assert same.result["params_hash"] == value_run.result["params_hash"]


def test_metrics_are_columns(value_run):
    metrics = value_run.metrics
    assert metrics["env_steps"].dtype == np.int64
    assert list(metrics["env_steps"]) == [1000, 2000, 3000, 4000, 5000, 6000]
    assert metrics["loss"].dtype == np.float64
    assert math.isnan(metrics["greedy_return"][0])  # before the first evaluation
    assert np.isfinite(metrics["greedy_return"][-1])
    shares = sum(column[-1] for name, column in metrics.items() if name.startswith("time."))
    assert shares == pytest.approx(1, abs=0.01)


def test_the_same_seed_gives_the_same_bits(tmp_path):
    hashes = {hotloop.train("cartpole_dqn", out=tmp_path, **QUICK).result["params_hash"] for _ in range(2)}
    assert len(hashes) == 1
    other = hotloop.train("cartpole_dqn", out=tmp_path, **{**QUICK, "seed": 2})
    assert other.result["params_hash"] not in hashes


def test_seeds(tmp_path):
    def seed_of(**arguments):
        run = hotloop.train("cartpole_dqn", steps=1200, progress=False, out=tmp_path, **arguments)
        return run.result["seed"]

    assert seed_of() == 0
    assert seed_of(seed=5) == 5
    assert seed_of(seed=None) == 1  # the spec's own
    assert seed_of(seed=None, run={"seed": 9}) == 9


def test_overrides_nested_and_dotted(tmp_path):
    nested = hotloop.train("cartpole_dqn", out=tmp_path, algo={"batch": 16}, **QUICK)
    dotted = hotloop.train("cartpole_dqn", out=tmp_path, **QUICK, **{"algo.batch": np.int32(16)})
    assert nested.result["params_hash"] == dotted.result["params_hash"]
    assert "batch: 16" in nested.spec


def test_keys_of_the_environment(tmp_path):
    run = hotloop.train("cartpole_dqn", out=tmp_path, env_count=4, **QUICK)
    assert run.spec.split("env:")[1].split("algo:")[0].count("count: 4") == 1
    with pytest.raises(hotloop.UsageError, match="env.cuont.*did you mean env.count"):
        hotloop.train("cartpole_dqn", out=tmp_path, env_cuont=4, **QUICK)


BRANCHES = {
    "p": {"from": "pole", "layers": ["dense 16"]},
    "all": {"from": ["p", "cart"], "layers": ["concat"]},
}


@pytest.mark.parametrize("given", [{"net": {"branches": BRANCHES}}, {"net.branches": BRANCHES}])
def test_branches_are_a_value(tmp_path, given):
    run = hotloop.train("ppo", env="cartpole", steps=2_048, out=tmp_path, progress=False, **given)
    assert run.agent.act(np.zeros(4)) in (0, 1)
    assert "p: {from: [pole], layers: [dense 16]}" in run.spec


def test_a_schedule_takes_the_place_of_a_constant(tmp_path):
    rate = {"kind": "linear", "from": 1e-3, "to": 1e-4, "over": 1000}
    run = hotloop.train(
        "ppo", env="cartpole", steps=4_096, out=tmp_path, progress=False, optimiser={"learning_rate": rate}
    )
    assert run.metrics["learning_rate"][-1] == pytest.approx(1e-4)
    run = hotloop.train(
        "cartpole_dqn", out=tmp_path, algo={"epsilon": {"to": 0.25}}, **QUICK
    )  # a part of one
    assert "to: 0.25, over: 4000" in run.spec


def test_a_schedule_of_any_algorithm(tmp_path):
    """An algorithm that is not the default, with a spec that has a number there."""
    weight = {"kind": "linear", "from": 0.02, "to": 0.01, "over": 1000}
    run = hotloop.train("cartpole_ppo", steps=4_096, out=tmp_path, progress=False, algo={"ent_coef": weight})
    assert "ent_coef: {kind: linear, from: 0.02, to: 0.01, over: 1000}" in run.spec
    assert run.metrics["ent_coef"][-1] == pytest.approx(0.01)


def test_metrics_have_the_columns_of_their_algorithm(value_run, policy_run):
    assert {"loss", "mean_q", "gradient_norm", "epsilon"} <= set(value_run.metrics)
    assert not {"entropy", "kl", "clipped", "ent_coef"} & set(value_run.metrics)
    assert {"loss", "mean_q", "gradient_norm", "entropy", "kl", "clipped", "ent_coef"} <= set(
        policy_run.metrics
    )
    assert not {"epsilon", "beta", "temperature"} & set(policy_run.metrics)


def test_a_dict_is_a_spec(tmp_path):
    run = hotloop.train(
        {
            "name": "mine",
            "env": {"name": "cartpole", "count": 2},
            "algo": {"name": "dqn", "batch": 16},
            "run": {"steps": 1500},
        },
        progress=False,
        out=tmp_path,
    )
    assert Path(run.folder).name == "mine-1"
    assert run.result["env_steps"] == 1500


def test_a_path_is_a_spec(tmp_path, value_run):
    copy = tmp_path / "copied.yaml"
    copy.write_text(value_run.spec)
    run = hotloop.train(copy, out=tmp_path, steps=1200, progress=False)
    assert run.result["env_steps"] == 1200


def test_a_spec_may_name_a_gymnasium_environment(tmp_path):
    spec = tmp_path / "cartpole.yaml"
    spec.write_text(
        "env: {name: 'gymnasium:CartPole-v1', count: 2, isolate: true}\n"
        "algo: {name: dqn, batch: 16, learning_starts: 100}\n"
        "evaluation: {every: 0, episodes: 2}\n"
        "run: {steps: 400}\n"
    )
    run = hotloop.train(spec, out=tmp_path, progress=False)
    assert run.result["env_steps"] == 400
    whole = hotloop.train(spec, env="CartPole-v1", out=tmp_path, progress=False, steps=600)
    resumed = hotloop.resume(run, steps=600, progress=False)
    assert resumed.result["params_hash"] == whole.result["params_hash"]
    with pytest.raises(hotloop.UsageError, match="CartPoll"):
        hotloop.train({"env": {"name": "gymnasium:CartPoll-v1"}}, out=tmp_path, progress=False)


def test_another_environment_of_the_engine(tmp_path):
    run = hotloop.train("cartpole_dqn", env="acrobot", out=tmp_path, steps=1200, progress=False)
    assert 'name: "acrobot"' in run.spec


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"spec": "cartpole_dqm"}, ["cartpole_dqm", "did you mean cartpole_dqn"]),
        ({"algo": {"bach": 3}}, ["bach", "did you mean algo.batch"]),
        ({"algo": {"batch": -1}}, ["algo.batch", "-1"]),
        (
            {"algo": {"n_epochs": 3}},
            ["algo.n_epochs", "belongs to algo.name: ppo, pqn, sarsa; algo.name is dqn here"],
        ),
        ({"algo": {"buffer_size": 3}}, ["algo.buffer_size", "did you mean replay.capacity?"]),
        ({"algo.batch": object()}, ["algo.batch", "object", "allowed"]),
        ({"spec": 3}, ["int is not a spec", "allowed"]),
        ({"seed": -1}, ["run.seed", "-1"]),
        ({"callback": 3}, ["callback", "int"]),
        ({"env": "cartpol"}, ["cartpol", "did you mean cartpole"]),
        (
            {"spec": "impala", "env": "pendulum"},
            ["impala is unknown\nalgorithms: ddpg, dqn, ppo, pqn, sac, sarsa, td3\nready-made"],
        ),
        ({"spec": "a2c"}, ["a2c is unknown", "\nalgorithms: ddpg, dqn"]),
        (
            {"env": "Pendulum-v1", "env.g": 2.5},
            [
                "env.g: a Python environment gets its options where it is made",
                "env=lambda: gymnasium.make('Pendulum-v1', g=2.5)",
            ],
        ),
        ({"env": "Pendulum-v1", "env.options": {"on": True}}, ["env.options.on", "'Pendulum-v1', on=True)"]),
    ],
)
def test_a_bad_request_says_what_is_wrong(tmp_path, arguments, words):
    with pytest.raises(hotloop.UsageError) as caught:
        hotloop.train(**{"spec": "cartpole_dqn", "out": tmp_path, "progress": False, **arguments})
    assert isinstance(caught.value, ValueError)
    for word in words:
        assert word in str(caught.value)
    assert list(tmp_path.iterdir()) == []  # and leaves no folder behind


def test_callback_sees_every_row_and_may_stop(tmp_path):
    rows = []

    def stop_after_two(row):
        rows.append(row)
        return len(rows) < 2

    run = hotloop.train("cartpole_dqn", out=tmp_path, callback=stop_after_two, **QUICK)
    assert [row["env_steps"] for row in rows] == [1000, 2000]
    assert run.result["interrupted"]
    assert run.result["env_steps"] == 2000

    whole = hotloop.train("cartpole_dqn", out=tmp_path, **QUICK)
    resumed = hotloop.resume(run, progress=False)
    assert resumed.result["params_hash"] == whole.result["params_hash"]
    assert len(resumed.metrics["env_steps"]) == 3


def test_a_callback_that_returns_nothing_does_not_stop(tmp_path):
    run = hotloop.train("cartpole_dqn", out=tmp_path, callback=lambda row: None, **QUICK)
    assert not run.result["interrupted"]


def test_what_a_callback_raises_arrives_and_the_run_is_saved(tmp_path):
    def fail(row):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        hotloop.train("cartpole_dqn", out=tmp_path, callback=fail, **QUICK)
    folder = tmp_path / "cartpole_dqn-1"
    assert hotloop.resume(folder, progress=False).result["env_steps"] == 3000


def test_resume_longer(tmp_path):
    short = hotloop.train("cartpole_dqn", out=tmp_path, evaluation={"stop_when_solved": False}, **QUICK)
    longer = hotloop.resume(short.folder, steps=5000, progress=False)
    assert longer.result["env_steps"] == 5000
    with pytest.raises(hotloop.UsageError, match="algo.batch"):
        hotloop.resume(short, algo={"batch": 3}, progress=False)
    with pytest.raises(hotloop.UsageError, match="not a run folder"):
        hotloop.resume(tmp_path / "nowhere", progress=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGXCPU])
def test_ctrl_c_leaves_a_resumable_run(tmp_path, number):
    """In its own process, as a user would press it, or a batch system would send it."""
    program = textwrap.dedent(
        """
        import json, signal, sys, hotloop
        signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
        try:
            hotloop.train("cartpole_dqn", steps=1_000_000_000, out=sys.argv[1], progress=False,
                          evaluation={"stop_when_solved": False},
                          callback=lambda row: print("row", flush=True))
        except KeyboardInterrupt as stopped:
            assert isinstance(stopped, hotloop.Interrupted)
            print(json.dumps([stopped.run.folder, stopped.run.result["env_steps"]]))
            sys.exit(0)
        sys.exit(3)
        """
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "row\n"
    child.send_signal(number)
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    folder, env_steps = json.loads(output.splitlines()[-1])
    assert env_steps >= 1000
    resumed = hotloop.resume(folder, steps=env_steps + 500, progress=False)
    assert resumed.result["env_steps"] >= env_steps + 500


def test_python_signals_work_again_after_training(tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
    try:
        hotloop.train("cartpole_dqn", out=tmp_path, **{**QUICK, "steps": 1200})
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_of_the_program_stays(tmp_path):
    """Frameworks for batch systems use SIGUSR1 themselves."""
    calls = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: calls.append(number))
    try:

        def send(row):
            os.kill(os.getpid(), signal.SIGUSR1)

        run = hotloop.train("cartpole_dqn", out=tmp_path, callback=send, **{**QUICK, "steps": 1200})
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert calls and run.result["env_steps"] >= 1200 and not run.result["interrupted"]


def test_the_interpreter_lock_is_released(tmp_path):
    """Another thread counts while training runs: with the lock held it could not."""
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before, start = counted[0], time.monotonic()
        hotloop.train(
            "cartpole_dqn", steps=30_000, progress=False, out=tmp_path, evaluation={"stop_when_solved": False}
        )
        elapsed, during = time.monotonic() - start, counted[0] - before
    finally:
        done.set()
        thread.join()
    assert during > 50 * elapsed  # of at most 1000 a second


def test_training_in_two_threads(tmp_path):
    alone = hotloop.train("cartpole_dqn", out=tmp_path / "alone", **QUICK).result["params_hash"]
    results = {}

    def work(i):
        run = hotloop.train("cartpole_dqn", out=tmp_path / "together", **QUICK)
        results[i] = run.result["params_hash"]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(results.values()) == {alone} and len(results) == 2


def test_progress_is_plain_lines_away_from_a_terminal():
    import io

    from hotloop._progress import Progress, short_number

    assert [short_number(v) for v in (12345.6, 0.5, math.nan, 2e6)] == ["12.3k", "0.5", "-", "2M"]
    stream = io.StringIO()
    progress = Progress(stream)
    state = dict(
        env_steps=500,
        updates=100,
        episodes=3,
        share=0.25,
        seconds=2.0,
        exploring_return=20.0,
        greedy_return=math.nan,
        python_share=0.4,
    )
    progress._next_line = 0
    progress(state)
    text = stream.getvalue()
    assert text.endswith("\n") and "\r" not in text
    for word in (
        "25%",
        "500 steps",
        "return 20",
        "greedy -",
        "250 steps/s",
        "50 updates/s",
        "6 s left",
        "40% in Python",
    ):
        assert word in text
    assert "Python" not in progress.text({**state, "python_share": 0.005})


def test_progress_is_shown_in_place_on_a_terminal(tmp_path):
    import pty

    try:
        leader, follower = pty.openpty()
    except OSError as error:  # a bare container without /dev/pts
        pytest.skip(f"no terminal available: {error}")
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import hotloop, sys; hotloop.train('cartpole_dqn', steps=200000, out=sys.argv[1],"
            "evaluation={'stop_when_solved': False})",
            str(tmp_path),
        ],
        stderr=follower,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    assert child.wait(60) == 0
    os.close(leader)
    assert b"steps/s" in shown and b"\r\x1b[K" in shown


def test_plot(tmp_path, value_run):
    pytest.importorskip("matplotlib")
    path = tmp_path / "learning.png"
    value_run.plot(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(hotloop.UsageError, match="lss"):
        value_run.plot(columns=["lss"])


def test_lists():
    assert "cartpole" in hotloop.envs()
    assert "cartpole_dqn" in hotloop.specs()
    assert set(hotloop.algorithms()) >= {"dqn", "ppo"}
    assert hotloop.version == hotloop.__version__
