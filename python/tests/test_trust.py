"""Code that a folder or a spec brings along runs only if the user says so; loading a model never runs it."""

import os
import shutil
import subprocess
import sys
import textwrap

import hotloop
import numpy as np
import pytest

WORLD = """
#include <hotloop/env.hpp>
#include <cstdio>
#include <cstdlib>
struct World {
  static constexpr auto spec = hotloop::EnvSpec{.name = "world", .obs = 2, .actions = 2, .max_steps = 50};
  int x = 0;
  World() { if (const char* path = std::getenv("RAN")) if (auto* f = std::fopen(path, "w")) std::fclose(f); }
  void reset(hotloop::Rng& rng) { x = rng.below(3); }
  void observe(std::span<float> obs) const { obs[0] = x / 10.f; obs[1] = 1; }
  hotloop::Step step(int a, hotloop::Rng&) { x += a ? 1 : -1; return {-.1f, x == 7 || x < 0}; }
};
HOTLOOP_ENV(World)
"""

SETTINGS = {"evaluation.every": 0, "evaluation.episodes": 5, "algo.learning_starts": 100}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run on a C++ file that the user named."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "world.cpp").write_text(WORLD)
    run = hotloop.train(
        "dqn", env=folder / "world.cpp", steps=600, progress=False, out=folder / "runs", **SETTINGS
    )
    assert os.stat(run.folder).st_mode & 0o077 == 0  # code lies in it
    return run


@pytest.fixture
def somebody_else(tmp_path, monkeypatch):
    """Another user, who has trusted nothing; and a file that the code writes when it runs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("RAN", str(tmp_path / "ran"))
    return tmp_path


def test_a_run_made_here_plays_without_a_question(made):
    assert len(hotloop.Run(made.folder).evaluate(3).returns) == 3


def received(made, folder):
    """The same folder with other bytes: this process has trusted those of `made` already."""
    copy = folder / "received"
    shutil.copytree(made.folder, copy)
    with open(copy / "world.cpp", "a") as file:
        file.write(f"// {folder}\n")
    return copy


def test_a_received_run_asks(made, somebody_else):
    copy = received(made, somebody_else)
    agent = hotloop.load(copy, which="latest")
    assert agent.act(np.zeros(2)) in (0, 1)
    assert agent.q_values(np.zeros((3, 2))).shape == (3, 2)
    for play in (
        lambda: agent.evaluate(3),
        lambda: hotloop.Run(copy).evaluate(3),
        lambda: hotloop.resume(copy, steps=900, progress=False),
        lambda: hotloop.train(copy / "spec.yaml", progress=False, out=somebody_else),
        lambda: hotloop.profile(copy / "spec.yaml", seconds=0.1),
        lambda: hotloop.train({"env": {"name": str(copy / "world.cpp")}}, progress=False, out=somebody_else),
    ):
        with pytest.raises(hotloop.UsageError, match=r"(?s)world.cpp: not run: .*trust=True"):
            play()
        assert not (somebody_else / "ran").exists()


def test_trust_is_given_once(made, somebody_else):
    copy = received(made, somebody_else)
    assert len(hotloop.Run(copy).evaluate(3, trust=True).returns) == 3
    assert (somebody_else / "ran").exists()
    assert len(hotloop.Run(copy).evaluate(3).returns) == 3
    assert hotloop.resume(copy, steps=900, progress=False).result["env_steps"] >= 900
    with open(copy / "world.cpp", "a") as file:
        file.write("// changed\n")
    with pytest.raises(hotloop.UsageError, match="not run"):
        hotloop.Run(copy).evaluate(3)


def test_a_file_that_make_names_may_run(somebody_else):
    (somebody_else / "named.cpp").write_text(WORLD + "// named\n")
    assert hotloop.make(str(somebody_else / "named.cpp"), 2).reset(seed=1)[0].shape == (2, 2)


def test_a_module_that_a_run_names_is_not_imported(somebody_else):
    """`module:id` imports a module; in a file from somebody else that is code, too."""
    (somebody_else / "evil_module.py").write_text(
        "import gymnasium, os, pathlib\n"
        "pathlib.Path(os.environ['RAN']).touch()\n"
        "gymnasium.register('Evil-v0', entry_point='gymnasium.envs.classic_control:CartPoleEnv')\n"
    )
    script = textwrap.dedent("""
        import hotloop, os, sys
        if sys.argv[1] == "train":
            run = hotloop.train("dqn", env="evil_module:Evil-v0", steps=300, progress=False, out="runs",
                                **{"evaluation.every": 0, "evaluation.episodes": 2, "algo.learning_starts": 100})
            sys.exit()
        run = hotloop.Run("runs/" + os.listdir("runs")[0])
        try:
            if sys.argv[1] == "resume":
                hotloop.resume(run, steps=310, progress=False)
            elif sys.argv[1] == "spec":
                hotloop.train({"env": {"name": "gymnasium:evil_module:Evil-v0"}}, out="others", progress=False)
            else:
                run.evaluate(2, trust=sys.argv[1] == "trust")
        except hotloop.UsageError as error:
            print(error)
            sys.exit(3)
    """)

    def run(what, state):
        environment = {**os.environ, "XDG_STATE_HOME": str(somebody_else / state)}
        command = [sys.executable, "-c", script, what]  # imports from the current folder
        done = subprocess.run(command, cwd=somebody_else, env=environment, capture_output=True, text=True)
        ran = (somebody_else / "ran").exists()
        (somebody_else / "ran").unlink(missing_ok=True)
        return done.returncode, ran, done.stdout + done.stderr

    assert run("train", "maker")[:2] == (0, True)  # named by the user
    assert run("evaluate", "maker")[:2] == (0, True)  # and remembered
    for what in ("evaluate", "resume", "spec"):
        code, ran, text = run(what, "receiver")
        assert (code, ran) == (3, False), text
        assert "evil_module: not run" in text
    assert run("trust", "receiver")[:2] == (0, True)
    assert run("evaluate", "receiver")[:2] == (0, True)
