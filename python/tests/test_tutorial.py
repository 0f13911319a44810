"""The tutorial, block by block: Python in one session, shell commands and files in the same folder."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("matplotlib").use("Agg")

TUTORIAL = pathlib.Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_block_of_the_tutorial_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    ran = {"python": 0, "sh": 0, "cpp": 0}
    tutorial = TUTORIAL.read_text()
    for language, text in BLOCK.findall(tutorial):
        if language == "python":
            exec(compile(text, f"tutorial block {ran['python'] + 1}", "exec"), names)
        elif language == "sh":
            # pip installed the command in the same folder as this Python.
            path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
            environment = {
                **os.environ,
                "PATH": path,
                "XDG_CACHE_HOME": str(tmp_path),
                "XDG_STATE_HOME": str(tmp_path),
            }
            subprocess.run(["bash", "-euc", text], check=True, env=environment)
        elif language == "cpp":
            name = text.splitlines()[0].removeprefix("// ")
            pathlib.Path(name).write_text(text)
        else:
            assert language == "console", f"a block of the unknown kind {language}"
            continue
        ran[language] += 1
    assert ran["python"] >= 6 and ran["sh"] >= 1 and ran["cpp"] == 1
    assert names["run"].evaluate(100).mean >= 475
    assert names["walk"].evaluate(20).mean > 0.8
    # The text is correct: the best return, the plot that needs more than `pip install .`, the bounds of Walk.
    best = sum(1 - 0.01 * (8 - start - 1) for start in range(-4, 4)) / 8
    assert f"the shortest way gives {best:.3f}" in tutorial
    assert "pip install ." not in tutorial and 'pip install ".[plot]"' in tutorial
    walk = names["Walk"]()
    walk.reset(seed=1)
    walk.place, over = -4, False
    while not over:
        obs, _, _, over, _ = walk.step(0)
        assert obs in walk.observation_space, obs
    assert names["total"] > 400
    assert pathlib.Path("cartpole.png").stat().st_size > 1000
