#!/usr/bin/env python3
"""plot_learning.py RUN... > FILE.svg: greedy return against wall time, a line per run folder.

Reads metrics.jsonl; needs nothing but Python. The picture in the README is made by
  ./hotloop train cartpole_dqn --seeds 10 --set run.log_every=1000 --out runs/readme
  tools/plot_learning.py runs/readme/cartpole_dqn-* > docs/learning.svg
"""

import json
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 340, 58, 16, 40, 48
COLOURS = [
    "#1f77b4",
    "#ff7f0e",
    "#2ca02c",
    "#d62728",
    "#9467bd",
    "#8c564b",
    "#e377c2",
    "#7f7f7f",
    "#bcbd22",
    "#17becf",
]


def read(folder):
    """Seconds and greedy return of every row that has a greedy return."""
    with open(folder + "/metrics.jsonl") as rows:
        points = [(row["seconds"], row["greedy_return"]) for row in map(json.loads, rows)]
    return [(s, r) for s, r in points if r is not None]


def ticks(top):
    """About five round numbers from 0 to top."""
    step = next(m * 10**e for e in range(-4, 9) for m in (1, 2, 5) if top / (m * 10**e) <= 6)
    return [i * step for i in range(int(top / step) + 1)]


def main(folders):
    runs = [read(folder) for folder in folders]
    right = max(s for run in runs for s, _ in run) * 1.02
    top = max(r for run in runs for _, r in run) * 1.05
    x = lambda s: LEFT + s / right * (WIDTH - LEFT - RIGHT)
    y = lambda r: HEIGHT - BOTTOM - r / top * (HEIGHT - TOP - BOTTOM)
    name = folders[0].rstrip("/").split("/")[-1].rsplit("-", 1)[0]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{name}: greedy return over 100 episodes, '
        f"{len(runs)} seeds, one thread</text>",
    ]
    for s in ticks(right):
        out.append(
            f'<line x1="{x(s):.1f}" x2="{x(s):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#eee"/>'
            f'<text x="{x(s):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{s:g}</text>'
        )
    for r in ticks(top):
        out.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(r):.1f}" y2="{y(r):.1f}" stroke="#eee"/>'
            f'<text x="{LEFT - 8}" y="{y(r) + 4:.1f}" text-anchor="end">{r:g}</text>'
        )
    out.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">'
        "seconds of wall time, evaluation included</text>"
    )
    for i, run in enumerate(runs):
        line = " ".join(f"{x(s):.1f},{y(r):.1f}" for s, r in run)
        colour = COLOURS[i % len(COLOURS)]
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        out.append(f'<circle cx="{x(run[-1][0]):.1f}" cy="{y(run[-1][1]):.1f}" r="3.5" fill="{colour}"/>')
    print("\n".join(out + ["</svg>"]))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
