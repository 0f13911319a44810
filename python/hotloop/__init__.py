"""hotloop: a reinforcement-learning trainer whose hot loop contains nothing but the maths.

import hotloop
run = hotloop.train("cartpole_dqn", seed=1)
print(run.evaluate(100).mean)
action = run.agent.act(observation)
"""

import importlib.util

from ._agent import Agent, Categorical, Evaluation, Gaussian, load
from ._doctor import Report, doctor, profile
from ._errors import Interrupted, RunError, UsageError
from ._hotloop import version
from ._lists import algorithms, envs, specs
from ._run import Run
from ._train import resume, train

__version__ = version

# Training needs no Gymnasium.
if importlib.util.find_spec("gymnasium") is not None:
    from ._check import check
    from ._env import HotloopEnv
    from ._register import register
    from ._vector_env import HotloopVectorEnv, make

    register()

__all__ = [
    "Agent",
    "Categorical",
    "Evaluation",
    "Gaussian",
    "HotloopEnv",
    "HotloopVectorEnv",
    "Interrupted",
    "Report",
    "Run",
    "RunError",
    "UsageError",
    "algorithms",
    "check",
    "doctor",
    "envs",
    "load",
    "make",
    "profile",
    "resume",
    "specs",
    "train",
    "version",
]
