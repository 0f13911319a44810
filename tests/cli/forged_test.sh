#!/bin/bash
# forged_test.sh HOTLOOP WORK: a run folder that was made to do harm: pipes in place of files, metadata that claims to be
# hotloop's own words, and control characters in everything that is shown.
set -u
here=$(cd -- "$(dirname -- "$0")" && pwd)
hotloop=$1 work=$2
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
. "$here/expect.sh"
forge=$here/forge.py
limit=(timeout -s KILL 120)  # a command that waits for a pipe's writer would wait forever

"$hotloop" train cartpole_dqn --steps 2000 --set evaluation.every=1000 --set evaluation.episodes=3 --quiet \
  --out made >out 2>&1 || { cat out; exit 1; }
prepare() { rm -rf RUN && cp -r made/cartpole_dqn-1 RUN; }
pipe() { prepare; rm -f "RUN/$1"; mkfifo "RUN/$1"; }

# Pipes.
for command in "resume RUN --steps 4000" "train RUN/spec.yaml --steps 2000"; do
  prepare
  expect 0 "greedy return" "${limit[@]}" "$hotloop" $command --quiet
done
pipe checkpoints/9999999999999999.safetensors
expect 1 "9999999999999999.safetensors: it is not a regular file" "${limit[@]}" "$hotloop" resume RUN --steps 4000
expect 1 "DAMAGED cannot read RUN/checkpoints/9999999999999999.safetensors" "${limit[@]}" "$hotloop" inspect RUN
pipe spec.yaml
expect 2 "RUN/spec.yaml: it is not a regular file" "${limit[@]}" "$hotloop" resume RUN --steps 4000
expect 2 "RUN/spec.yaml: it is not a regular file" "${limit[@]}" "$hotloop" eval RUN --policy random
expect 1 "RUN/spec.yaml: it is not a regular file" "${limit[@]}" "$hotloop" inspect RUN
pipe run.json
expect 0 "run.json is missing or damaged" "${limit[@]}" "$hotloop" resume RUN --steps 4000 --quiet
pipe run.json
expect 0 "damaged: not JSON" "${limit[@]}" "$hotloop" inspect RUN
pipe model-latest.safetensors
expect 1 "it is not a regular file" "${limit[@]}" "$hotloop" eval RUN --model latest
expect 1 "DAMAGED" "${limit[@]}" "$hotloop" inspect RUN
pipe metrics.jsonl
expect 1 "it is not a regular file" "${limit[@]}" "$hotloop" plot RUN --out out.svg

# What the user names may be a pipe.
small=(--steps 1200 --quiet --set evaluation.episodes=3 --out piped)
expect 0 "greedy return" "${limit[@]}" "$hotloop" train <(cat made/cartpole_dqn-1/spec.yaml) "${small[@]}"
expect 0 "greedy return" "${limit[@]}" "$hotloop" train /dev/stdin "${small[@]}" < <(cat made/cartpole_dqn-1/spec.yaml)
expect 0 "return" "${limit[@]}" "$hotloop" eval <(cat made/cartpole_dqn-1/model-latest.safetensors) --episodes 3

# Metadata cannot replace what inspect found out itself.
prepare
python3 "$forge" RUN/model-latest.safetensors intact no bytes many file /etc/passwd tensors none error bad
expect 0 "RUN/model-latest.safetensors  " "$hotloop" inspect RUN
not_also "/etc/passwd"
expect 0 '"intact":true' "$hotloop" inspect RUN/model-latest.safetensors --json
also '"format":"hotloop-model-2"'

# Nothing that is shown controls the terminal.
shown() {  # shown CODE TEXT COMMAND...: like expect, and there is no control character
  expect "$@"
  ! grep -qP '[\x00-\x08\x0b-\x1f]|\xe2\x80\xae' <<<"$output" || fail "control characters: $(cat -v <<<"$output")"
}
escape='\u001b[2J\u202e'
prepare
echo "{\"version\": \"$escape\", \"cpu\": \"$escape\"}" >RUN/run.json
python3 "$forge" "$(ls RUN/checkpoints/*.safetensors | tail -n 1)" state.record.warnings "[\"$escape\"]"
shown 0 '"version":"\u001b[2J\xe2\x80\xae"' "$hotloop" inspect RUN
shown 0 'started with hotloop \x1b[2J\xe2\x80\xae on \x1b[2J' "$hotloop" resume RUN --steps 4000 --quiet
also 'warning: \x1b[2J'
python3 "$forge" RUN/model-best.safetensors structure $'\e[2J' format $'\e[2J'
shown 0 '\x1b[2J' "$hotloop" inspect RUN
mv RUN $'esc\e[2J'
shown 0 'esc\x1b[2J' "$hotloop" inspect $'esc\e[2J'
printf 'seeds: 1\nspec: cartpole_dqn\nset: [run.steps=1200, evaluation.episodes=3]\nrows: [{title: "\\e[2J"}]\n' >suite.yaml
shown 0 '\x1b[2J' "$hotloop" suite suite.yaml --out suite
printf 'name: "\\e[2J"\nenv: {name: cartpole}\n' >named.yaml
shown 2 'name: "\x1b[2J"' "$hotloop" train named.yaml

finish "forged"
