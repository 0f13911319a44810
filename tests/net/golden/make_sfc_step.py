#!/usr/bin/env python3
"""make_sfc_step.py > sfc_step.txt: one learning step of the SFC network, by automatic differentiation.

Needs JAX (pip install jax==0.10.2); everything is computed in double precision. Parameters and
the batch follow from a formula, which tests/net/sfc_step_test.cpp repeats: number(t, r, c) in [-1, 1).
Parameters of tensor t are number(t, r, c) * sqrt(6 / (in + out)) for weights, 0.1 * number(t, 0, c) for
biases; those of the target network have t + 100. Observations are |number(200, row, i)|, those that
follow |number(201, row, i)|.

Lines: q I A VALUE (row I, action A), loss VALUE, gradient T R C VALUE, adam T R C VALUE (the parameter
after one step).
"""

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
BATCH, GAMMA, RATE, BETA1, BETA2, EPSILON = 16, 0.99, 1e-4, 0.9, 0.999, 1e-7
# [out, in] of each dense layer, in the order of the network's tensors
SHAPES = [
    (128, 14),
    (64, 128),
    (64, 13),
    (64, 384),
    (64, 10),
    (64, 384),
    (128, 64),
    (1, 128),
    (256, 256),
    (128, 256),
    (64, 128),
    (13, 64),
]


def number(t, r, c):
    u = np.sin((t + 1) * 12.9898 + (r + 1) * 78.233 + (c + 1) * 37.719) * 43758.5453
    return 2 * (u - np.floor(u)) - 1


def table(t, rows, columns):
    return number(t, np.arange(rows)[:, None], np.arange(columns)[None, :])


def parameters(first):
    tensors = []
    for i, (out, inputs) in enumerate(SHAPES):
        tensors.append(jnp.array(table(first + 2 * i, out, inputs) * np.sqrt(6 / (inputs + out))))
        tensors.append(jnp.array(0.1 * table(first + 2 * i + 1, 1, out)[0]))
    return tensors


def network(p, obs):
    dense = lambda i, x: x @ p[2 * i].T + p[2 * i + 1]
    relu = jax.nn.relu
    h1 = relu(dense(1, relu(dense(0, obs[:, :14]))))
    rows = lambda i, x, width: relu(dense(i, x.reshape(-1, 6, width))).reshape(-1, 384)
    h2 = relu(dense(3, rows(2, obs[:, 14:92], 13)))
    h3 = relu(dense(5, rows(4, obs[:, 92:], 10)))
    stacked = jnp.stack([h1, h2, h3], axis=1)
    weights = jax.nn.softmax(dense(7, jnp.tanh(dense(6, stacked))), axis=1)
    context = (weights * stacked).sum(axis=1)
    x = jnp.concatenate([h1, h2, h3, context], axis=1)
    for i in (8, 9, 10):
        x = relu(dense(i, x))
    return dense(11, x)


online, target = parameters(0), parameters(100)
obs, following = np.abs(table(200, BATCH, 152)), np.abs(table(201, BATCH, 152))
rows = np.arange(BATCH)
actions = rows * 5 % 13
rewards = 2 * number(202, rows, 0)
discounts = np.where(rows % 4 == 3, 0.0, GAMMA)
wanted = rewards + discounts * network(target, following).max(axis=1)


def loss(p):
    return jnp.mean((wanted - network(p, obs)[rows, actions]) ** 2)


value, gradient = jax.value_and_grad(loss)(online)
q = network(online, obs)
for i in (0, 7):
    for a in range(13):
        print(f"q {i} {a} {q[i, a]:.9f}")
print(f"loss {value:.9f}")
for t, (p, g) in enumerate(zip(online, gradient)):
    step = RATE * (g / (jnp.abs(g) + EPSILON))  # after one step both moments are those of g
    p, g, step = (x if x.ndim == 2 else x[None, :] for x in (p, g, step))
    for k in range(5):
        r, c = 11 * k % p.shape[0], 29 * k % p.shape[1]
        print(f"gradient {t} {r} {c} {g[r, c]:.12f}")
        print(f"adam {t} {r} {c} {p[r, c] - step[r, c]:.9f}")
