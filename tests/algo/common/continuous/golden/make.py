#!/usr/bin/env python3
"""make.py DIRECTORY: writes sac.txt, td3.txt and tqc.txt, single updates of SAC, TD3 and TQC in PyTorch.

Needs torch (any version) and nothing else; written from the papers, with autograd, torch.distributions and
torch.optim.Adam, in double precision. Networks are 3-8-8 with ReLU, batches have 5 rows, actions 2 numbers.

All inputs follow from number(t, i) in [-1, 1), a multiple of 1/1024, so that single precision holds it
exactly; tests/algo/common/continuous/golden.hpp repeats the formula and the scales below. Element i of a tensor
counts along its rows. Network n has tensors t = 10 n, 10 n + 1, ...: weight, bias, weight, ...; the actor is
n = 0, critic k is n = 1 + k, and targets start at n = 5 (the actor's) and n = 6 + k. Data have t = 100 and
above, those of the second TD3 update 200 and above.

Each line: a name and its numbers. NAME.T is tensor T of a network after the last step, by rows.
"""

import struct
import sys
from pathlib import Path

import torch
from torch.distributions import Independent, Normal, TanhTransform, TransformedDistribution

torch.set_default_dtype(torch.float64)

B, D, A, H = 5, 3, 2, 8
QUANTILES, DROP = 5, 1
CRITICS = 2
RATE, TAU = 0.0625, 0.125


def single(x):  # as the program stores it
    return struct.unpack("f", struct.pack("f", x))[0]


# An epsilon as large as the gradients, so that steps depend on their size and not only on their sign.
ADAM = {"lr": RATE, "betas": (single(0.9), single(0.999)), "eps": single(0.05)}


def number(t, i):
    return ((131 * t + 29 * i + 5) ** 3 + 17 * i + 3) % 2039 / 1024 - 1


def tensor(t, *shape, scale=1.0):
    size = torch.Size(shape).numel()
    return torch.tensor([scale * number(t, i) for i in range(size)]).reshape(shape)


class Network:
    """Weights have scale 1, biases 1/4, plus `last` on the last bias."""

    def __init__(self, n, inputs, outputs, last=()):
        self.p = []
        widths = [inputs, H, H, outputs]
        for layer in range(3):
            self.p.append(tensor(10 * n + 2 * layer, widths[layer + 1], widths[layer]))
            self.p.append(tensor(10 * n + 2 * layer + 1, widths[layer + 1], scale=0.25))
        if last:
            self.p[-1] += torch.tensor(last)
        for p in self.p:
            p.requires_grad_()
        self.adam = torch.optim.Adam(self.p, **ADAM)

    def __call__(self, *x):
        x = torch.cat(x, dim=-1)
        for layer in range(3):
            x = torch.nn.functional.linear(x, self.p[2 * layer], self.p[2 * layer + 1])
            if layer < 2:
                x = torch.relu(x)
        return x

    def step(self, loss):
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()

    @torch.no_grad()
    def blend(self, online):
        for p, q in zip(self.p, online.p):
            p.copy_((1 - TAU) * p + TAU * q)


class Data:
    def __init__(self, t):
        self.s, self.next = tensor(t, B, D), tensor(t + 1, B, D)
        self.a = tensor(t + 2, B, A)
        self.r = tensor(t + 3, B, scale=4)
        self.d = torch.tensor([0.9375, 0.0, 0.875, 0.9375, 0.8125])  # one ended; n-step returns
        self.w = 1 + tensor(t + 4, B, scale=0.5)
        self.next_eps, self.eps = tensor(t + 5, B, A, scale=2), tensor(t + 6, B, A, scale=2)


class Text:
    def __init__(self):
        self.lines = []

    def add(self, name, values):
        flat = torch.as_tensor(values).detach().reshape(-1).tolist()
        self.lines.append(" ".join([name] + [f"{v:.8f}" for v in flat]))

    def network(self, name, network):
        for i, p in enumerate(network.p):
            self.add(f"{name}.{i}", p)

    def write(self, path):
        path.write_text("\n".join(self.lines) + "\n")


def sample(actor, s, eps):
    m, log_std = actor(s).chunk(2, dim=-1)
    assert (log_std > 2).any() and (log_std < 2).any()
    std = log_std.clamp(-20, 2).exp()
    squash = TanhTransform(cache_size=1)
    policy = TransformedDistribution(Independent(Normal(m, std), 1), [squash])
    a = squash(m + std * eps)
    return a, policy.log_prob(a)


def least(critics, s, a):
    q = torch.stack([critic(s, a).squeeze(-1) for critic in critics])
    assert len(q.argmin(dim=0).unique()) == CRITICS  # each is the minimum of some row
    return q.min(dim=0).values


REWARD_FACTOR, TARGET_ENTROPY, LOG_ALPHA = 0.5, -2.0, -0.75
LAST = (0.0, 0.0, 2.0, -0.5)  # so that some log stds are clamped


def sac(path):
    out, data = Text(), Data(100)
    actor = Network(0, D, 2 * A, LAST)
    critics = [Network(1 + k, D + A, 1) for k in range(CRITICS)]
    targets = [Network(6 + k, D + A, 1) for k in range(CRITICS)]
    log_alpha = torch.tensor(LOG_ALPHA, requires_grad=True)
    alpha_adam = torch.optim.Adam([log_alpha], **ADAM)
    alpha = log_alpha.exp().detach()

    with torch.no_grad():
        a, log_p = sample(actor, data.next, data.next_eps)
        v = least(targets, data.next, a) - alpha * log_p
        y = REWARD_FACTOR * data.r + data.d * v
    out.add("next_log_p", log_p)
    out.add("targets", y)
    for k, q in enumerate(critics):
        loss = 0.5 * (data.w * (q(data.s, data.a).squeeze(-1) - y) ** 2).mean()
        q.step(loss)
        out.add(f"critic_loss{k}", loss)
    a, log_p = sample(actor, data.s, data.eps)
    loss = (alpha * log_p - least(critics, data.s, a)).mean()
    actor.step(loss)
    out.add("log_p", log_p)
    out.add("actor_loss", loss)
    loss = -(log_alpha * (log_p.detach() + TARGET_ENTROPY)).mean()
    alpha_adam.zero_grad()
    loss.backward()
    alpha_adam.step()
    out.add("log_alpha", log_alpha)
    out.network("actor", actor)
    for k in range(CRITICS):
        targets[k].blend(critics[k])
        out.network(f"critic{k}", critics[k])
        out.network(f"target{k}", targets[k])
    out.write(path)


def td3(path):
    sigma, clip, delay = 0.25, 0.375, 2
    out = Text()
    last = (1.5, 0.0)  # so that some actions are clipped
    actor, actor_target = Network(0, D, A, last), Network(5, D, A, last)
    critics = [Network(1 + k, D + A, 1) for k in range(CRITICS)]
    targets = [Network(6 + k, D + A, 1) for k in range(CRITICS)]
    for update in (1, 2):
        data = Data(100 * update)
        with torch.no_grad():
            noise = sigma * data.next_eps
            a = torch.tanh(actor_target(data.next)) + noise.clamp(-clip, clip)
            assert (a.abs() > 1).any() and (noise.abs() > clip).any()
            a = a.clamp(-1, 1)
            y = REWARD_FACTOR * data.r + data.d * least(targets, data.next, a)
        out.add(f"next_action{update}", a)
        out.add(f"targets{update}", y)
        for k, q in enumerate(critics):
            loss = 0.5 * (data.w * (q(data.s, data.a).squeeze(-1) - y) ** 2).mean()
            q.step(loss)
            out.add(f"critic_loss{update}{k}", loss)
        if update % delay == 0:
            loss = -critics[0](data.s, torch.tanh(actor(data.s))).mean()
            actor.step(loss)
            out.add("actor_loss", loss)
            actor_target.blend(actor)
            for k in range(CRITICS):
                targets[k].blend(critics[k])
    out.network("actor", actor)
    out.network("actor_target", actor_target)
    for k in range(CRITICS):
        out.network(f"critic{k}", critics[k])
        out.network(f"target{k}", targets[k])
    out.write(path)


def tqc(path):
    out, data = Text(), Data(100)
    actor = Network(0, D, 2 * A, LAST)
    critics = [Network(1 + k, D + A, QUANTILES) for k in range(CRITICS)]
    targets = [Network(6 + k, D + A, QUANTILES) for k in range(CRITICS)]
    alpha = torch.tensor(LOG_ALPHA).exp()
    with torch.no_grad():
        a, log_p = sample(actor, data.next, data.next_eps)
        z = torch.cat([q(data.next, a) for q in targets], dim=-1).sort(dim=-1).values
        z = z[:, : CRITICS * (QUANTILES - DROP)]
        y = REWARD_FACTOR * data.r[:, None] + data.d[:, None] * (z - alpha * log_p[:, None])
    out.add("targets", y)
    tau = (torch.arange(QUANTILES) + 0.5) / QUANTILES
    for k, q in enumerate(critics):
        theta = q(data.s, data.a)
        u = y[:, None, :] - theta[:, :, None]  # [B, quantiles, targets]
        assert (u.abs() > 1).any() and (u.abs() < 1).any()
        huber = torch.nn.functional.huber_loss(
            *torch.broadcast_tensors(theta[:, :, None], y[:, None, :]), reduction="none"
        )
        rows = ((tau[None, :, None] - (u < 0).double()).abs() * huber).mean(dim=(1, 2))
        loss = (data.w * rows).mean()
        q.step(loss)
        out.add(f"critic_loss{k}", loss)
        out.network(f"critic{k}", q)
    a, log_p = sample(actor, data.s, data.eps)
    loss = (alpha * log_p - torch.stack([q(data.s, a) for q in critics]).mean(dim=(0, 2))).mean()
    out.add("actor_loss", loss)
    out.write(path)


folder = Path(sys.argv[1])
sac(folder / "sac.txt")
td3(folder / "td3.txt")
tqc(folder / "tqc.txt")
