#!/usr/bin/env python3
"""make_forest.py > forest.txt: the durotaxis network (its specification, sections 10.1, 10.3 and 10.4,
without the frozen backbone) over one forest of six nodes, from the formulas, with all of its attention.

Needs NumPy; everything is computed in double precision, rounded to single only where the program starts
from single: parameters and features. All follow from a formula, which tests/net/forest_test.cpp repeats:
number(t, r, c) in [-1, 1). Tensor t, in the order of the network, is number(t, r, c) times
sqrt(6 / (in + out)) for weights, 0.1 for biases and shifts; scales are 1 + 0.1 number(t, 0, c). The
features of the graph are number(200, 0, f), of node i number(201, i, f), of the edge to node i
number(202, i, f).

Lines: mean F VALUE, graph F VALUE (feature F of the two rows that the layer writes), mu I VALUE,
log_sigma I VALUE, value I VALUE.
"""

import math

import numpy as np

WIDTH, ROUNDS, HEADS, GROUPS = 128, 4, 4, 16
PARENTS = [-1, 0, 0, 1, -1, 4]


def number(t, r, c):
    u = np.sin((t + 1) * 12.9898 + (r + 1) * 78.233 + (c + 1) * 37.719) * 43758.5453
    return 2 * (u - np.floor(u)) - 1


def single(x):
    return np.asarray(x, dtype=np.float32).astype(np.float64)


class Tensors:
    """Hands out the tensors of the network one after the other."""

    def __init__(self):
        self.t = -1

    def table(self, rows, columns):
        self.t += 1
        return number(self.t, np.arange(rows)[:, None], np.arange(columns)[None, :])

    def weight(self, out, inputs):
        return single(self.table(out, inputs) * math.sqrt(6 / (inputs + out)))

    def bias(self, out):
        return single(0.1 * self.table(1, out)[0])

    def dense(self, inputs, out):
        w = self.weight(out, inputs)
        b = self.bias(out)
        return lambda x: x @ w.T + b

    def norm(self, width):
        scale = single(1 + 0.1 * self.table(1, width)[0])
        shift = self.bias(width)

        def apply(x):
            centred = x - x.mean(axis=-1, keepdims=True)
            return scale * centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5) + shift

        return apply

    def embedding(self, inputs):
        first, norm, last = self.dense(inputs, WIDTH), self.norm(WIDTH), self.dense(WIDTH, WIDTH)
        return lambda x: last(norm(gelu(first(x))))


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


tensors = Tensors()
nodes = len(PARENTS)
rows = np.arange(nodes)[:, None]
graph_features = single(number(200, 0, np.arange(19)))
node_features = single(number(201, rows, np.arange(11)[None, :]))
edge_features = single(number(202, rows, np.arange(3)[None, :]))
edges = [(parent + 1, i + 1) for i, parent in enumerate(PARENTS) if parent >= 0]  # token 0: the graph

graph_token = tensors.embedding(19)(graph_features)
node_tokens = tensors.dense(11, WIDTH)(node_features)
along = tensors.embedding(3)(edge_features[[target - 1 for _, target in edges]])
x = np.vstack([graph_token, node_tokens])
heads = lambda y: y.reshape(y.shape[0], HEADS, WIDTH // HEADS)
for r in range(ROUNDS):
    query, key, value = (heads(tensors.dense(WIDTH, WIDTH)(x)) for _ in range(3))
    e = heads(along @ tensors.weight(WIDTH, WIDTH).T)
    message = np.zeros_like(query)
    u = tensors.dense(WIDTH, WIDTH)(x) + x
    for i in range(nodes + 1):
        into = [k for k, (_, target) in enumerate(edges) if target == i]
        if not into:
            continue
        sources = [edges[k][0] for k in into]
        scores = (query[i] * (key[sources] + e[into])).sum(axis=-1) / math.sqrt(WIDTH // HEADS)
        message[i] = (softmax(scores, 0)[:, :, None] * (value[sources] + e[into])).sum(axis=0)
    x = tensors.norm(WIDTH)(u + message.reshape(nodes + 1, WIDTH))
    if r + 1 < ROUNDS:
        x = gelu(x)
x = softmax(x.reshape(nodes + 1, GROUPS, -1), 2).reshape(nodes + 1, WIDTH)
mean, graph = x[1:].mean(axis=0), x[0]


def head(inputs, out):
    first, second = tensors.dense(inputs, 512), tensors.dense(512, 128)
    norm, last = tensors.norm(128), tensors.dense(128, out)
    return lambda y: last(norm(gelu(second(first(y)))))


policy = head(256, 10)(np.concatenate([mean, graph]))
values = head(128, 6)(graph)
for name, numbers in (
    ("mean", mean),
    ("graph", graph),
    ("mu", policy[:5]),
    ("log_sigma", policy[5:]),
    ("value", values),
):
    for i, v in enumerate(numbers):
        print(f"{name} {i} {v:.9f}")
