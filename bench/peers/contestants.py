"""One training run of one library, in its own process; prints one JSON object.

    contestants.py WHO TASK SEED

Only training is timed, without imports, the creation of environments and networks, and the final evaluation
(100 greedy episodes). One thread.
"""

import json
import sys
import tempfile
import time

# The settings of RL Baselines3 Zoo for CartPole-v1; the same as in specs/cartpole_dqn_zoo.yaml.
ZOO_DQN = dict(
    policy="MlpPolicy",
    learning_rate=2.3e-3,
    batch_size=64,
    buffer_size=100_000,
    learning_starts=1_000,
    gamma=0.99,
    target_update_interval=10,
    train_freq=256,
    gradient_steps=128,
    exploration_fraction=0.16,
    exploration_final_eps=0.04,
    policy_kwargs=dict(net_arch=[256, 256]),
)
# And for PPO; the same as in bench/peers/cartpole_ppo_zoo.yaml.
ZOO_PPO = dict(
    policy="MlpPolicy",
    n_steps=32,
    batch_size=256,
    gae_lambda=0.8,
    gamma=0.98,
    n_epochs=20,
    ent_coef=0.0,
    learning_rate=lambda left: 1e-3 * left,
    clip_range=lambda left: 0.2 * left,
)
STEPS = {"dqn_zoo": 50_000, "ppo_zoo": 100_352, "dqn_cleanrl": 500_000}
SPECS = {"dqn_zoo": "cartpole_dqn_zoo", "dqn_cleanrl": "cartpole_dqn_cleanrl"}


def stable_baselines3(task: str, seed: int) -> dict:
    import gymnasium
    import stable_baselines3 as sb3
    import torch
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    torch.set_num_threads(1)
    if task == "dqn_zoo":
        model = sb3.DQN(env=gymnasium.make("CartPole-v1"), seed=seed, device="cpu", **ZOO_DQN)
    else:
        model = sb3.PPO(env=make_vec_env("CartPole-v1", n_envs=8), seed=seed, device="cpu", **ZOO_PPO)
    begin = time.perf_counter()
    model.learn(STEPS[task])
    seconds = time.perf_counter() - begin
    returns, _ = evaluate_policy(
        model, make_vec_env("CartPole-v1", seed=10_000 + seed), 100, return_episode_rewards=True
    )
    return {"seconds": seconds, "updates": model._n_updates, "final_return": sum(returns) / 100}


def cleanrl(task: str, seed: int) -> dict:
    import contextlib
    import importlib.util
    import io
    import os
    import runpy

    import gymnasium
    import torch

    torch.set_num_threads(1)
    script = os.path.join(importlib.util.find_spec("cleanrl").submodule_search_locations[0], "dqn.py")
    sys.argv = [script, "--seed", str(seed), "--cuda", "False", "--total-timesteps", str(STEPS[task])]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with contextlib.redirect_stdout(io.StringIO()):
            names = runpy.run_path(script, run_name="__main__")
        seconds = time.time() - names["start_time"]
        os.chdir("/")
    network, total = names["q_network"], 0.0
    env = gymnasium.make("CartPole-v1")
    for episode in range(100):
        obs, _ = env.reset(seed=10_000 + 100 * seed + episode)
        over = False
        while not over:
            with torch.no_grad():
                action = int(network(torch.as_tensor(obs)).argmax())
            obs, reward, terminated, truncated, _ = env.step(action)
            total += reward
            over = terminated or truncated
    updates = sum(1 for step in range(10_001, STEPS[task]) if step % 10 == 0)
    return {"seconds": seconds, "updates": updates, "final_return": total / 100}


def hotloop(task: str, seed: int, env=None) -> dict:
    import os

    import hotloop as engine

    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cartpole_ppo_zoo.yaml")
    with tempfile.TemporaryDirectory() as out:
        run = engine.train(
            SPECS.get(task, own),
            env=env,
            seed=seed,
            steps=STEPS[task],
            out=out,
            progress=False,
            evaluation={"every": 0, "episodes": 1},
        )
        shares = run.result["time"]
        seconds = run.result["wall_seconds"] * (1 - shares["evaluate"] - shares["start"])
        final = run.latest.evaluate(100, seed=10_000 + seed).mean
        return {"seconds": seconds, "updates": run.result["updates"], "final_return": final}


CONTESTANTS = {
    "Stable-Baselines3": stable_baselines3,
    "CleanRL": cleanrl,
    "hotloop, Gymnasium environment": lambda task, seed: hotloop(task, seed, env="CartPole-v1"),
    "hotloop": hotloop,
}

if __name__ == "__main__":
    who, task, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    print(json.dumps({"steps": STEPS[task], **CONTESTANTS[who](task, seed)}))
