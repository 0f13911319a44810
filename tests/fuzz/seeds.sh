#!/bin/sh
# seeds.sh HOTLOOP: writes the first inputs of the target safetensors, from a real and very short run.
set -e
here=$(dirname -- "$(readlink -f -- "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" train cartpole_dqn --quiet --steps 40 --out "$work" --set net.hidden=[2] --set replay.capacity=64 \
  --set algo.batch=4 --set algo.learning_starts=8 --set evaluation.episodes=1 --set evaluation.max_steps=9
mkdir -p "$here/corpus/safetensors"
cp "$work"/*/model-latest.safetensors "$here/corpus/safetensors/model"
cp "$(ls "$work"/*/checkpoints/*.safetensors | tail -n 1)" "$here/corpus/safetensors/checkpoint"
