#!/bin/bash
# kill_resume_test.sh HOTLOOP WORK [KILLS]: SIGKILLs a training process at random moments, resumes it
# each time, and expects the parameters of the undisturbed run, to the bit. Checkpoints are written all
# the time, so that many kills happen during a write.
set -u
here=$(cd -- "$(dirname -- "$0")" && pwd)
hotloop=$1 work=$2 wanted=${3:-50}
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
settings=(--steps 400000 --set run.checkpoint_seconds=0.01 --set evaluation.stop_when_solved=false
          --set evaluation.every=100000 --set replay.capacity=20000 --quiet --json)
. "$here/expect.sh"

RANDOM=${SEED:-1}
kills=0 runs=0
while [ "$kills" -lt "$wanted" ]; do
  runs=$((runs + 1))
  "$hotloop" train cartpole_dqn "${settings[@]}" --seed "$runs" --out straight >straight.json || exit 1
  "$hotloop" train cartpole_dqn "${settings[@]}" --seed "$runs" --out "killed$runs" >killed.json 2>err &
  while :; do
    pid=$!
    if [ "$kills" -lt "$wanted" ]; then  # else it may finish: on a busy machine it would not otherwise
      sleep "0.$(printf '%03d' $((RANDOM % 150)))"
      kill -KILL "$pid" 2>/dev/null
    fi
    wait "$pid" 2>/dev/null
    case $? in
      0) break ;;                        # finished before the kill
      137) kills=$((kills + 1)) ;;
      *) cat err; echo "a resume failed"; exit 1 ;;
    esac
    run=killed$runs/cartpole_dqn-1
    if compgen -G "$run/checkpoints/*.safetensors" >/dev/null; then
      "$hotloop" resume "$run" --quiet --json >killed.json 2>err &
    else  # killed before the first save
      rm -rf "killed$runs"
      "$hotloop" train cartpole_dqn "${settings[@]}" --seed "$runs" --out "killed$runs" >killed.json 2>err &
    fi
  done
  if [ -z "$(hash_of straight.json)" ] || [ "$(hash_of straight.json)" != "$(hash_of killed.json)" ]; then
    echo "seed $runs: undisturbed $(hash_of straight.json), after $kills kills $(hash_of killed.json)"
    exit 1
  fi
done
echo "$kills kills in $runs runs, every hash equal to the undisturbed run's: $(hash_of killed.json)"
