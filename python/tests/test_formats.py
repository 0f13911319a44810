"""The NumPy forward pass in docs/formats.md, against the engine."""

import pathlib
import re

import hotloop
import numpy as np
import pytest

pytest.importorskip("safetensors")

FORMATS = pathlib.Path(__file__).parents[2] / "docs" / "formats.md"


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("normalise", [False, True])
def test_the_forward_pass_of_the_document_is_the_engines(tmp_path, layer_norm, normalise):
    blocks = re.findall(r"^```python\n(.*?)^```$", FORMATS.read_text(), re.MULTILINE | re.DOTALL)
    names = {}
    exec(next(block for block in blocks if "def forward" in block), names)
    run = hotloop.train(
        "dqn",
        env="cartpole",
        steps=2000,
        out=tmp_path,
        progress=False,
        net={"hidden": [16, 24], "layer_norm": layer_norm},
        algo={"normalise": {"obs": normalise}},
    )
    model = str(pathlib.Path(run.folder) / "model-latest.safetensors")
    for observation in np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32):
        expected = run.latest.q_values(observation)
        np.testing.assert_allclose(names["forward"](model, observation), expected, rtol=1e-4, atol=1e-4)
