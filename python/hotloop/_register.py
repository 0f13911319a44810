"""The Gymnasium ids of the built-in environments. If hotloop is not imported yet, name the module in the id
and Gymnasium imports it: ``gymnasium.make("hotloop:hotloop/Snake-v0")``."""

from __future__ import annotations

import gymnasium

IDS = {
    "hotloop/Acrobot-v1": "acrobot",
    "hotloop/CartPole-v1": "cartpole",
    "hotloop/Durotaxis-v0": "durotaxis",
    "hotloop/MountainCar-v0": "mountaincar",
    "hotloop/MountainCarContinuous-v0": "mountaincar_continuous",
    "hotloop/Pendulum-v1": "pendulum",
    "hotloop/SFC-v0": "sfc",
    "hotloop/Snake-v0": "snake",
}


def register() -> None:
    for id, name in IDS.items():
        if id not in gymnasium.registry:
            gymnasium.register(
                id=id,
                entry_point="hotloop._env:HotloopEnv",
                vector_entry_point="hotloop._vector_env:HotloopVectorEnv",
                kwargs={"name": name},
            )
