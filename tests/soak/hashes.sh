#!/bin/bash
# hashes.sh [PROGRAM]: params_hash of every ready-made spec and of each algorithm's general settings, from
# short runs of three seeds, one line each. hashes.txt has the output on an AMD Zen 5. What 0.11.0 did not
# change was equal on an AMD Zen 3 and an Intel with AVX-512; the other lines are so far only from the Zen 5.
# A change that must not affect results leaves the output unchanged:
#
#   tests/soak/hashes.sh | diff tests/soak/hashes.txt -
root=$(cd "$(dirname "$0")/../.." && pwd)
program=${1:-$root/hotloop}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

line() {  # line NAME SEED ARGUMENTS...
  local name=$1 seed=$2
  shift 2
  local hash
  hash=$("$program" train "$@" --seed "$seed" --out "$work" --quiet --json --set evaluation.episodes=5 \
    --set evaluation.stop_when_solved=false --set evaluation.every=0 --set evaluation.max_steps=500 \
    2>"$work/err" | grep -o '"params_hash":"[0-9a-f]*"' | cut -d'"' -f4)
  echo "$name $seed ${hash:-FAILED: $(head -c 200 "$work/err")}"
  rm -rf "$work"/*
}

for spec in "$root"/specs/*.yaml; do
  grep -q 'gymnasium:' "$spec" && continue  # for Python only
  name=$(basename "$spec" .yaml)
  case $name in
    sfc*) steps=6000 ;;
    durotaxis* | snake*) steps=12000 ;;
    *_td3 | mountaincar_continuous_sac) steps=11000 ;;
    *_sac | *_tqc | *_crossq | *_sac_rltools) steps=1500 ;;
    *) steps=20000 ;;
  esac
  for seed in 11 12 13; do line "$name" "$seed" "$name" --steps "$steps"; done
done
for spec in "$root"/specs/algos/*.yaml; do
  name=$(basename "$spec" .yaml)
  env=cartpole steps=20000
  case $name in sac | td3 | ddpg) env=pendulum steps=11000 ;; esac
  for seed in 11 12 13; do line "algos/$name" "$seed" "$env" --algo "$name" --steps "$steps"; done
done
