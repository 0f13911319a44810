"""Stable-Baselines3's own check of every environment that hotloop registers with Gymnasium."""

import warnings

import gymnasium
import hotloop
from stable_baselines3.common.env_checker import check_env

ids = sorted(id for id in gymnasium.registry if id.startswith("hotloop/"))
assert len(ids) >= 8, ids
for id in ids:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(gymnasium.make(id).unwrapped, warn=True)
    # Warnings are only advice: to scale actions, to flatten observations that look like images.
    for warning in caught:
        print(f"{id}: advice: {str(warning.message)[:120]}")
    print(f"{id}: passed (hotloop {hotloop.version})")
