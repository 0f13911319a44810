"""Writes the golden trajectories of the classic-control worlds: <env>.txt beside this file.

They are what Gymnasium itself computes. To make them again, in a virtual environment:

    python3 -m venv /tmp/golden
    /tmp/golden/bin/pip install gymnasium==1.2.0 numpy==2.4.6
    /tmp/golden/bin/python tests/envs/golden/make_golden.py

A file is a list of episodes:

    episode <what it shows>
    start <state>
    <action> | <state after it> | <observation> | <reward> | <terminated>

Everything is written with the digits that read back exactly: state and reward as float64, the
observation and continuous actions as float32. Episodes start from chosen states rather
than from a seed, and run until they terminate or their actions are used up.
"""

import math
import pathlib
import random

import gymnasium
import numpy

GYMNASIUM, NUMPY = "1.2.0", "2.4.6"
FOLDER = pathlib.Path(__file__).parent


def doubles(values):
    return " ".join(repr(float(v)) for v in values)


def floats(values):
    return " ".join(str(numpy.float32(v)) for v in values)


def play(env, about, start, actions):
    """The lines of one episode. `actions` is a list, or a function of (state, step) and a count."""
    env.reset(seed=0)
    env.state = numpy.array(start, dtype=numpy.float64)
    lines = ["", f"episode {about}", f"start {doubles(env.state)}"]
    policy, count = actions if isinstance(actions, tuple) else (lambda _, t: actions[t], len(actions))
    box = isinstance(env.action_space, gymnasium.spaces.Box)
    for t in range(count):
        action = policy(env.state, t)
        given = numpy.array([action], dtype=numpy.float32) if box else int(action)
        observation, reward, terminated, _, _ = env.step(given)
        shown = floats(given) if box else str(given)
        lines.append(
            f"{shown} | {doubles(env.state)} | {floats(observation)} | {float(reward)!r} | {int(terminated)}"
        )
        if terminated:
            break
    return lines


def write(name, gymnasium_id, episodes):
    env = gymnasium.make(gymnasium_id).unwrapped
    lines = [
        f"# {gymnasium_id} of Gymnasium {GYMNASIUM} with NumPy {NUMPY}, by make_golden.py",
        "# action | state | observation | reward | terminated",
    ]
    for episode in episodes:
        lines += play(env, *episode)
    (FOLDER / f"{name}.txt").write_text("\n".join(lines) + "\n")
    print(f"{name}.txt: {len(episodes)} episodes, {len(lines)} lines")


def any_of(choices, count, seed):
    return random.Random(seed).choices(choices, k=count)


def uniform(low, high, count, seed):
    source = random.Random(seed)
    return [source.uniform(low, high) for _ in range(count)]


def cartpole():
    def balance(s, _):
        return 1 if 0.1 * s[0] + 0.3 * s[1] + 3 * s[2] + s[3] > 0 else 0

    write("cartpole", "CartPole-v1", [
        ("pushed right until it falls", [0.0, 0.0, 0.0, 0.0], [1] * 20),
        ("pushed left until it falls", [0.01, -0.02, 0.03, 0.04], [0] * 20),
        ("pushed at random", [-0.03, 0.02, 0.01, -0.04], any_of([0, 1], 100, 1)),
        ("pushed at random", [0.049, -0.031, -0.022, 0.015], any_of([0, 1], 100, 2)),
        ("balanced", [0.04, 0.03, -0.02, 0.01], (balance, 150)),
        ("out on the right", [2.35, 0.9, 0.02, -0.1], [0, 1] * 10),
        ("out on the left", [-2.39, -0.4, -0.02, 0.1], [1, 0] * 10),
        ("back from just inside the angle", [0.0, 0.0, 0.2094, -1.5], [0, 1] * 10),
    ])  # fmt: skip


def acrobot():
    def pump(s, _):
        return 2 if s[3] > 0 else 0

    fastest = [4 * math.pi, 9 * math.pi]
    write("acrobot", "Acrobot-v1", [
        ("at rest, no torque", [0.0, 0.0, 0.0, 0.0], [1] * 5),
        ("at random", [0.05, -0.03, 0.02, 0.08], any_of([0, 1, 2], 60, 3)),
        ("swung up until the tip is above the line", [-0.04, 0.07, 0.01, -0.09], (pump, 200)),
        ("swung up from elsewhere", [0.09, 0.02, -0.06, 0.03], (pump, 200)),
        ("both links at their speed limits", [1.0, -2.0, *fastest], any_of([0, 2], 15, 4)),
        ("both the other way", [-3.0, 3.0, -fastest[0], -fastest[1]], any_of([0, 2], 15, 5)),
        ("against each other", [0.3, 2.5, fastest[0], -fastest[1]], any_of([0, 1, 2], 15, 6)),
        ("second link spinning over the top", [0.0, 3.0, 0.0, 12.0], [2] * 20),
        ("over the top with the first link folded", [3.1, 3.1, 2.0, -1.0], [1] * 20),
        ("ends at once", [3.0, 0.1, 0.0, 0.0], [1] * 3),
    ])  # fmt: skip


def mountaincar():
    def rock(s, _):
        return 2 if s[1] >= 0 else 0

    write("mountaincar", "MountainCar-v0", [
        ("rocked out of the valley", [-0.5, 0.0], (rock, 200)),
        ("rocked out from elsewhere", [-0.4123456789, 0.0], (rock, 200)),
        ("at random", [-0.58, 0.0], any_of([0, 1, 2], 60, 7)),
        ("into the wall", [-1.1, -0.05], [0] * 12 + [2] * 8),
        ("away from the wall", [-1.2, 0.0], [0, 0, 1, 2, 2]),
        ("at the speed limit to the left", [0.1, -0.0699], [0] * 20),
        ("at the speed limit to the right", [-0.9, 0.0695], [2] * 25),
        ("up at the goal", [0.499, 0.0005], [2, 1, 0, 0]),
        ("down from beyond the goal, then back", [0.55, -0.03], [0, 0, 0] + [2] * 30),
        ("against the right end", [0.57, 0.07], [2] * 5),
    ])  # fmt: skip


def mountaincar_continuous():
    def rock(s, _):
        return 0.8 if s[1] >= 0 else -0.8

    def rock_too_hard(s, t):
        return (1.0 + 0.25 * (t % 3)) * (1 if s[1] >= 0 else -1)

    write("mountaincar_continuous", "MountainCarContinuous-v0", [
        ("rocked out of the valley", [-0.5, 0.0], (rock, 200)),
        ("rocked out at and beyond the bounds", [-0.4123456789, 0.0], (rock_too_hard, 200)),
        ("at random", [-0.58, 0.0], uniform(-1, 1, 60, 8)),
        ("at random beyond the bounds", [-0.47, 0.0], uniform(-3, 3, 60, 9)),
        ("first step clipped", [-0.55, 0.0], [2.5, 0.1, -7.0, 0.2]),
        ("first step clipped the other way", [-0.55, 0.0], [-2.5, -0.1, 7.0, -0.2]),
        ("into the wall", [-1.1, -0.05], [-1.0] * 8 + [-1.5] * 2 + [0.7] * 10),
        ("into the wall with the first step", [-1.19, -0.06], [-0.3, -0.3, 0.5, 0.5]),
        ("at the speed limit to the left", [0.1, -0.0699], [-0.9] * 20),
        ("at the speed limit with the first step", [-0.6, 0.0699], [0.9, 0.9, 0.5]),
        ("up to the goal at the speed limit", [-0.9, 0.069], [1.0] * 25),
        ("against the right end", [0.57, 0.07], [0.1] * 3),
        ("down from beyond the goal, then back", [0.55, -0.03], [-0.2] * 3 + [0.9] * 40),
    ])  # fmt: skip


def pendulum():
    def swing(s, _):
        return 2.0 if s[1] * math.cos(s[0]) < 0 or s[1] > 0 else -2.0

    write("pendulum", "Pendulum-v1", [
        ("at rest upright", [0.0, 0.0], [0.0] * 3),
        ("at random", [2.5, -0.7], uniform(-2, 2, 60, 10)),
        ("at random beyond the bounds", [-1.2, 0.9], uniform(-6, 6, 60, 11)),
        ("at the bounds", [math.pi, 1.0], any_of([-2.0, 2.0], 40, 12)),
        ("swung", [-3.0, 0.1], (swing, 80)),
        ("spun to the left, many turns", [1.0, 8.0], [2.0] * 60),
        ("spun to the right, many turns", [-2.0, -8.0], [-5.0] * 60),
        ("already many turns away", [77.7, -3.0], uniform(-2, 2, 20, 13)),
        ("already many turns away the other way", [-66.6, 3.0], uniform(-2, 2, 20, 14)),
        ("across the bottom", [math.pi - 0.01, 0.3], [0.5] * 10),
    ])  # fmt: skip


if __name__ == "__main__":
    found = (gymnasium.__version__, numpy.__version__)
    if found != (GYMNASIUM, NUMPY):
        raise SystemExit(f"needs gymnasium {GYMNASIUM} and numpy {NUMPY}, found {found}")
    for make in (cartpole, acrobot, mountaincar, mountaincar_continuous, pendulum):
        make()
