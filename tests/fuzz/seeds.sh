#!/bin/sh
# seeds.sh HOTLOOP: writes the first inputs of the targets safetensors and transitions, from a real and very
# short run, and from scripts.
set -e
here=$(dirname -- "$(readlink -f -- "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" train cartpole_dqn --quiet --steps 40 --out "$work" --set net.hidden=[2] --set replay.capacity=64 \
  --set algo.batch=4 --set algo.learning_starts=8 --set evaluation.episodes=1 --set evaluation.max_steps=9
mkdir -p "$here/corpus/safetensors"
cp "$work"/*/model-latest.safetensors "$here/corpus/safetensors/model"
cp "$(ls "$work"/*/checkpoints/*.safetensors | tail -n 1)" "$here/corpus/safetensors/checkpoint"
mkdir -p "$here/corpus/transitions"
short="--policy random --episodes 2 --set evaluation.max_steps=6"
"$1" eval cartpole_dqn $short --record "$here/corpus/transitions/discrete"
"$1" eval pendulum_ppo $short --record "$here/corpus/transitions/continuous"
"$1" eval sfc_best $short --set env.mask=on --record "$here/corpus/transitions/masked"
