#!/bin/bash
# links_test.sh HOTLOOP WORK: a run folder from somebody else holds links to files of the user's.
# Whatever the command, they stay as they are, and the run continues or says what is wrong.
set -u
here=$(cd -- "$(dirname -- "$0")" && pwd)
hotloop=$1 work=$2
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
. "$here/expect.sh"

"$hotloop" train cartpole_dqn --steps 2000 --set evaluation.every=1000 --set evaluation.episodes=3 \
  --set run.episode_log=true --quiet --out made >out 2>&1 || { cat out; exit 1; }
resume=(resume RUN --steps 4000 --quiet --json)
cp -r made/cartpole_dqn-1 RUN
expected=$("$hotloop" "${resume[@]}" | grep -o '"params_hash":"[0-9a-f]*"')
[ -n "$expected" ] || { echo "FAILED: no hash"; exit 1; }

prepare() {  # a new copy of the run, and the user's files
  rm -rf RUN victim elsewhere
  cp -r made/cartpole_dqn-1 RUN
  mkdir elsewhere && echo precious >victim && echo precious >elsewhere/0000000000000001.safetensors
}
check() {  # check WHAT CODE TEXT: the exit code and text of resume; the user's files are whole
  local output code
  output=$("$hotloop" "${resume[@]}" 2>&1)
  code=$?
  [ "$code" -eq "$2" ] && grep -qF -- "$3" <<<"$output" || fail "$1: exit $code: $output"
  [ "$(cat victim)" = precious ] && [ ! -L victim ] || fail "$1: the victim was changed"
  [ "$(cat elsewhere/*)" = precious ] && [ "$(ls elsewhere | wc -l)" -eq 1 ] || fail "$1: files elsewhere were changed"
}

prepare; ln -s ../victim RUN/spec.yaml.tmp
check "linked temporary" 0 "$expected"
prepare; rm RUN/metrics.jsonl; ln -s ../victim RUN/metrics.jsonl
check "linked metrics" 1 "RUN/metrics.jsonl: it is a symbolic link"
prepare; rm RUN/metrics.jsonl; ln victim RUN/metrics.jsonl
check "hard-linked metrics" 1 "RUN/metrics.jsonl: the file has other names"
prepare; rm RUN/episodes.jsonl; ln -s ../victim RUN/episodes.jsonl
check "linked episodes" 1 "RUN/episodes.jsonl: it is a symbolic link"
prepare; rm RUN/.lock; ln -s ../victim RUN/.lock
check "linked lock" 1 "RUN/.lock: it is a symbolic link"
prepare; rm RUN/metrics.jsonl; mkfifo RUN/metrics.jsonl
check "a pipe as metrics" 1 "RUN/metrics.jsonl: it is not a regular file"
prepare; rm -r RUN/checkpoints/; cp made/cartpole_dqn-1/checkpoints/* elsewhere/; rm elsewhere/0000000000000001.safetensors
before=$(cat elsewhere/* | cksum); ln -s ../elsewhere RUN/checkpoints
output=$("$hotloop" "${resume[@]}" 2>&1)
[ $? -eq 1 ] && grep -qF "RUN/checkpoints: it is a symbolic link" <<<"$output" || fail "linked checkpoints: $output"
[ "$(cat elsewhere/* | cksum)" = "$before" ] || fail "linked checkpoints: files elsewhere were changed"
for name in model-latest.safetensors model-best.safetensors result.json; do
  prepare; rm "RUN/$name"; ln -s ../victim "RUN/$name"
  check "linked $name" 0 "$expected"
  prepare; rm "RUN/$name"; ln victim "RUN/$name"
  check "hard-linked $name" 0 "$expected"
done

# A lost log, or a lost run.json, is reported and does not matter.
prepare; rm RUN/metrics.jsonl
check "no metrics" 0 "$expected"
prepare; rm RUN/metrics.jsonl
"$hotloop" resume RUN --steps 4000 2>&1 | grep -q "warning: metrics.jsonl lacks [0-9]* bytes" || fail "no warning"
prepare; rm RUN/run.json
check "no run.json" 0 "$expected"
prepare; echo '{"version": 1}' >RUN/run.json
check "a broken run.json" 0 "run.json is missing or damaged"

# A file that the user names replaces a link, and not what it points to.
prepare; ln -s victim out.svg
"$hotloop" plot RUN --out out.svg >out 2>&1 || fail "plot: $(cat out)"
[ "$(cat victim)" = precious ] && [ ! -L out.svg ] && grep -q "<svg" out.svg || fail "plot followed a link"

finish "links"
