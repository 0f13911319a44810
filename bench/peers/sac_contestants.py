"""One library that trains on Pendulum-v1 or HalfCheetah-v5, in its own process and with one thread.

    sac_contestants.py time WHO TASK UPDATES

makes everything, trains until everything is warm, and prints "ready". For each line of standard input it then
makes UPDATES environment steps with one update each, and prints how long they took as one JSON object.

    sac_contestants.py train WHO TASK SEED

trains from the start and prints one JSON object. Only training is timed, without imports, the creation of
environments and networks, compilation by RLtools, and the final evaluation (100 greedy episodes on
Gymnasium's Pendulum-v1; the two hotloop contestants use the environment they trained on). JAX compiles while
it trains, so that is part of its time.
"""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Callable

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "..", "..", "build", "release", "hotloop")


@dataclass(frozen=True)
class Task:
    title: str
    algorithm: str
    width: int  # of the two hidden layers of every network
    batch: int
    learning_starts: int = 500
    learning_rate: float = 3e-4
    steps: int = 0  # of a training run
    spec: str = ""  # hotloop's; these are its settings
    env: str = "Pendulum-v1"
    who: tuple[str, ...] = ("Stable-Baselines3", "SBX")


PYTHON = ("Stable-Baselines3", "SBX", "hotloop, Gymnasium environment")
TIME_TASKS = {
    "sac_64": Task("SAC, 64-64, batch 100", "sac", 64, 100, who=(*PYTHON, "RLtools", "hotloop")),
    "sac_256": Task("SAC, 256-256, batch 256", "sac", 256, 256, who=(*PYTHON, "RLtools", "hotloop")),
    "td3_64": Task("TD3, 64-64, batch 100", "td3", 64, 100, who=(*PYTHON, "RLtools", "hotloop")),
    "td3_256": Task("TD3, 256-256, batch 256", "td3", 256, 256, who=(*PYTHON, "RLtools", "hotloop")),
    "tqc_64": Task("TQC, 25 quantiles, 64-64, batch 100", "tqc", 64, 100, who=(*PYTHON, "hotloop")),
    "tqc_256": Task("TQC, 25 quantiles, 256-256, batch 256", "tqc", 256, 256, who=(*PYTHON, "hotloop")),
    "crossq_64": Task("CrossQ, 64-64, batch 96", "crossq", 64, 96, who=(*PYTHON, "hotloop")),
    "crossq_256": Task("CrossQ, 256-256, batch 256", "crossq", 256, 256, who=(*PYTHON, "hotloop")),
    # 17 observed numbers, 6 actions.
    "sac_cheetah": Task("SAC, HalfCheetah-v5", "sac", 256, 256, who=PYTHON, env="HalfCheetah-v5"),
    "td3_cheetah": Task("TD3, HalfCheetah-v5", "td3", 256, 256, who=PYTHON, env="HalfCheetah-v5"),
    "tqc_cheetah": Task("TQC, HalfCheetah-v5", "tqc", 256, 256, who=PYTHON, env="HalfCheetah-v5"),
    "crossq_cheetah": Task("CrossQ, HalfCheetah-v5", "crossq", 256, 256, who=PYTHON, env="HalfCheetah-v5"),
}
TRAIN_TASKS = {
    "pendulum_sac": Task(
        "SAC, settings of `pendulum_sac`",
        "sac",
        256,
        256,
        learning_starts=100,
        learning_rate=1e-3,
        steps=20_000,
        spec="pendulum_sac",
        who=(*PYTHON, "hotloop"),
    ),
    "pendulum_sac_rltools": Task(
        "SAC, settings of RLtools' example",
        "sac",
        64,
        100,
        learning_starts=100,
        learning_rate=1e-3,
        steps=20_000,
        spec="pendulum_sac_rltools",
        who=("RLtools", "hotloop"),
    ),
}
GAMMA, TAU, CAPACITY = 0.99, 0.005, 100_000
WARM_UP = 100  # updates that are not timed

Piece = Callable[[], dict]  # times UPDATES updates
Training = Callable[[], dict]


class Stopwatch:
    """Seconds, and seconds of CPU time, which other load on the machine affects less."""

    def __enter__(self) -> Stopwatch:
        self.begin = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_) -> None:
        self.end = time.perf_counter(), time.process_time()

    def times(self) -> dict:
        return {"seconds": self.end[0] - self.begin[0], "cpu_seconds": self.end[1] - self.begin[1]}


def gymnasium_return(action_of: Callable, seed: int) -> float:
    """The mean return of 100 episodes."""
    import gymnasium

    env, total = gymnasium.make("Pendulum-v1"), 0.0
    for episode in range(100):
        observation, _ = env.reset(seed=10_000 + 100 * seed + episode)
        over = False
        while not over:
            observation, reward, terminated, truncated, _ = env.step(action_of(observation))
            total += float(reward)
            over = terminated or truncated
    return total / 100


def baselines_model(who: str, task: Task, seed: int):
    """A model of Stable-Baselines3, sb3-contrib or SBX, which share an interface."""
    import gymnasium
    import torch

    torch.set_num_threads(1)
    if who == "SBX":
        import sbx as library
    elif task.algorithm in ("tqc", "crossq"):
        import sb3_contrib as library
    else:
        import stable_baselines3 as library
    own = {}
    policy = {"net_arch": {"pi": [task.width] * 2, "qf": [task.width] * 2}}
    if task.algorithm != "crossq":
        own["tau"] = TAU
    if task.algorithm == "tqc":
        policy["n_quantiles"] = 25
    if task.algorithm == "td3":
        from stable_baselines3.common.noise import NormalActionNoise

        own["action_noise"] = NormalActionNoise([0.0], [0.1])
    kind = {"sac": "SAC", "td3": "TD3", "tqc": "TQC", "crossq": "CrossQ"}[task.algorithm]
    return getattr(library, kind)(
        "MlpPolicy",
        gymnasium.make(task.env),
        learning_rate=task.learning_rate,
        buffer_size=CAPACITY,
        learning_starts=task.learning_starts,
        batch_size=task.batch,
        gamma=GAMMA,
        train_freq=1,
        gradient_steps=1,
        policy_kwargs=policy,
        seed=seed,
        device="cpu",
        **own,
    )


def baselines_piece(who: str, task: Task, updates: int) -> Piece:
    model = baselines_model(who, task, 1)
    model.learn(task.learning_starts + WARM_UP)

    def piece() -> dict:
        before = model._n_updates
        with Stopwatch() as watch:
            model.learn(updates, reset_num_timesteps=False)
        return {**watch.times(), "updates": model._n_updates - before}

    return piece


def baselines_training(who: str, task: Task, seed: int) -> Training:
    model = baselines_model(who, task, seed)

    def train() -> dict:
        with Stopwatch() as watch:
            model.learn(task.steps)
        final = gymnasium_return(lambda obs: model.predict(obs, deterministic=True)[0], seed)
        return {**watch.times(), "updates": model._n_updates, "final_return": final}

    return train


def rltools_module(task: Task, name: str, step_limit: int):
    """The loop of RLtools, compiled for these settings; its other settings are those of its example."""
    import rltools

    warm_up = {"N_WARMUP_STEPS": task.learning_starts}
    if task.algorithm == "sac":
        warm_up |= {
            "N_WARMUP_STEPS_ACTOR": task.learning_starts,
            "N_WARMUP_STEPS_CRITIC": task.learning_starts,
        }
    return {"sac": rltools.SAC, "td3": rltools.TD3}[task.algorithm](
        {"path": os.path.join(HERE, "rltools"), "action_dim": 1, "observation_dim": 3},
        interface_name=name,
        enable_evaluation=False,
        STEP_LIMIT=step_limit,
        REPLAY_BUFFER_CAP=min(step_limit, CAPACITY),
        GAMMA=GAMMA,
        ACTOR_BATCH_SIZE=task.batch,
        CRITIC_BATCH_SIZE=task.batch,
        ACTOR_POLYAK=1 - TAU,
        CRITIC_POLYAK=1 - TAU,
        ACTOR_HIDDEN_DIM=task.width,
        CRITIC_HIDDEN_DIM=task.width,
        OPTIMIZER_ALPHA=task.learning_rate,
        **warm_up,
    )


def rltools_piece(task: Task, updates: int) -> Piece:
    state = rltools_module(task, f"time_{task.width}", 10_000_000).State(1)
    for _ in range(task.learning_starts + WARM_UP):
        state.step()

    def piece() -> dict:
        with Stopwatch() as watch:
            for _ in range(updates):
                state.step()
        return {**watch.times(), "updates": updates}

    return piece


def rltools_training(task: Task, seed: int) -> Training:
    state = rltools_module(task, "train", task.steps).State(seed)

    def train() -> dict:
        with Stopwatch() as watch:
            while not state.step():
                pass
        final = gymnasium_return(lambda obs: 2 * state.action(obs), seed)
        return {**watch.times(), "updates": task.steps - task.learning_starts, "final_return": final}

    return train


def overrides(task: Task, steps: int) -> dict:
    """The keys of hotloop that the pieces of all libraries share; a row of the metrics when warm, and at the end."""
    warm = task.learning_starts + WARM_UP
    return {
        "env.count": 1,
        "algo.batch": task.batch,
        "algo.gamma": GAMMA,
        "algo.learning_starts": task.learning_starts,
        "algo.train_every": 1,
        "algo.updates_per_step": 1,
        **({} if task.algorithm == "crossq" else {"algo.target.tau": TAU}),
        "net.hidden": [task.width] * 2,
        "optimiser.learning_rate": task.learning_rate,
        "replay.capacity": CAPACITY,
        "evaluation.every": 0,
        "evaluation.episodes": 1,
        "run.log_every": math.gcd(warm, steps - warm),
    }


def gymnasium_piece(task: Task, updates: int) -> Piece:
    """hotloop on Gymnasium's environment."""
    import hotloop

    warm = task.learning_starts + WARM_UP

    def piece() -> dict:
        watch, updates_at = Stopwatch(), {}

        def at_row(row: dict) -> None:
            updates_at[row["env_steps"]] = row["updates"]
            if row["env_steps"] == warm:
                watch.__enter__()
            elif row["env_steps"] == warm + updates:
                watch.__exit__()

        with tempfile.TemporaryDirectory() as out:
            hotloop.train(
                f"pendulum_{task.algorithm}",
                env=task.env,
                steps=warm + updates + 1,
                out=out,
                progress=False,
                callback=at_row,
                **overrides(task, warm + updates),
            )
        return {**watch.times(), "updates": updates_at[warm + updates] - updates_at[warm]}

    return piece


def gymnasium_training(task: Task, seed: int) -> Training:
    import hotloop

    def train() -> dict:
        with tempfile.TemporaryDirectory() as out:
            with Stopwatch() as watch:
                run = hotloop.train(
                    task.spec,
                    env="Pendulum-v1",
                    seed=seed,
                    steps=task.steps,
                    out=out,
                    progress=False,
                    evaluation={"every": 0, "episodes": 1},
                )
            shares = run.result["time"]
            seconds = run.result["wall_seconds"] * (1 - shares["evaluate"] - shares["start"])
            final = run.latest.evaluate(100, seed=10_000 + seed).mean
        return {
            **watch.times(),  # its CPU time includes the start and one episode of evaluation
            "seconds": seconds,
            "updates": run.result["updates"],
            "final_return": final,
        }

    return train


def run_program(spec: str, steps: int, settings: dict, seed: int = 1) -> dict:
    """`hotloop train`: its result, with the CPU time of the process."""
    with tempfile.TemporaryDirectory() as out:
        command = [PROGRAM, "train", spec, "--steps", str(steps), "--seed", str(seed), "--out", out]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([*command, "--json", "--quiet"], capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(done.stderr)
    result = json.loads(done.stdout.strip().splitlines()[-1])
    result["cpu_seconds"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result


def program_piece(task: Task, updates: int) -> Piece:
    """The difference of two runs, one of which ends when everything is warm."""
    warm = task.learning_starts + WARM_UP

    def piece() -> dict:
        settings = overrides(task, warm + updates)
        short = run_program(f"pendulum_{task.algorithm}", warm, settings)
        long = run_program(f"pendulum_{task.algorithm}", warm + updates, settings)
        names = {"seconds": "wall_seconds", "cpu_seconds": "cpu_seconds", "updates": "updates"}
        return {name: long[key] - short[key] for name, key in names.items()}

    return piece


def program_training(task: Task, seed: int) -> Training:
    def train() -> dict:
        result = run_program(task.spec, task.steps, {"evaluation.every": 0, "evaluation.episodes": 100}, seed)
        training = 1 - result["time"]["evaluate"] - result["time"]["start"]
        return {
            "seconds": result["wall_seconds"] * training,
            "cpu_seconds": result["cpu_seconds"] * training,
            "updates": result["updates"],
            "final_return": result["eval_return_mean"],
        }

    return train


def piece_of(who: str, task: Task, updates: int) -> Piece:
    if who == "RLtools":
        return rltools_piece(task, updates)
    if who == "hotloop":
        return program_piece(task, updates)
    if who.startswith("hotloop"):
        return gymnasium_piece(task, updates)
    return baselines_piece(who, task, updates)


def training_of(who: str, task: Task, seed: int) -> Training:
    if who == "RLtools":
        return rltools_training(task, seed)
    if who == "hotloop":
        return program_training(task, seed)
    if who.startswith("hotloop"):
        return gymnasium_training(task, seed)
    return baselines_training(who, task, seed)


if __name__ == "__main__":
    mode, who, name, number = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    if mode == "time":
        piece = piece_of(who, TIME_TASKS[name], number)
        print("ready", flush=True)
        for _ in sys.stdin:
            print(json.dumps(piece()), flush=True)
    else:
        train = training_of(who, TRAIN_TASKS[name], number)
        print("ready", flush=True)
        print(json.dumps(train()), flush=True)
