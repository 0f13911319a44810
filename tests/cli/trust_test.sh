#!/bin/bash
# trust_test.sh HOTLOOP WORK SOURCE: code that somebody else's folder brings along runs only if the user says so; the
# cache of compiled environments cannot be planted.
set -u
here=$(cd -- "$(dirname -- "$0")" && pwd)
hotloop=$1 work=$2 source=$3
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
cc=$(command -v cc || command -v gcc) || { echo "no C compiler"; exit 1; }
exec </dev/null  # no terminal to ask on
umask 000  # the worst: nothing may depend on it
unset XDG_STATE_HOME
export XDG_CACHE_HOME=$work/cache RAN=$work/ran
cache=$work/cache/hotloop/worlds
. "$here/expect.sh"
# The plug-ins below leave a letter in $RAN when they are loaded.
ran() { grep -q "$1" "$RAN" 2>/dev/null || fail "$1 did not run: $2"; rm -f "$RAN"; }
not_run() { [ -e "$RAN" ] && fail "code ran ($(cat "$RAN")): $1"; rm -f "$RAN"; }
mode_is() { [ "$(stat -c %a "$2")" = "$1" ] || fail "$2 has mode $(stat -c %a "$2"), not $1"; }
user() { export HOME=$work/$1; mkdir -p "$HOME"; }  # another user of the same machine

plugin() {  # plugin FILE LETTER
  cat >plugin.c <<C
#include <stdio.h>
#include <stdlib.h>
#include "$source/tests/env/file/coin_plugin.c"
__attribute__((constructor)) static void mark(void) {
  FILE* file = fopen(getenv("RAN"), "a");
  if (file) { fputs("$2", file); fclose(file); }
}
C
  "$cc" -shared -fPIC -O1 -I "$source/include" -o "$1" plugin.c || fail "cannot compile $1"
}
plugin coin.so a
plugin evil.so b
small=(--steps 600 --quiet --set evaluation.every=0 --set evaluation.episodes=5 --set algo.learning_starts=100)

# A file that the user names runs, and is remembered. What it leaves is the user's own.
user maker
expect 0 "greedy return" "$hotloop" train coin.so "${small[@]}"
ran a "train coin.so"
mode_is 700 runs/coin-1
mode_is 700 "$cache"
mode_is 700 "$HOME/.local/state/hotloop"
mode_is 600 "$HOME/.local/state/hotloop/trusted"
[ -z "$(find "$cache" -type f -perm /022)" ] || fail "others can write to: $(find "$cache" -type f -perm /022)"
grep -Eq "^$(sha256sum <coin.so | cut -d' ' -f1) library [0-9-]{10} coin.so$" "$HOME/.local/state/hotloop/trusted" ||
  fail "the list: $(cat "$HOME/.local/state/hotloop/trusted")"
expect 0 "return" "$hotloop" eval runs/coin-1 --model latest --episodes 5
ran a "eval of the user's own run"

# The same folder, received by somebody else: nothing in it runs, whatever command meets it.
user receiver
cp -r runs/coin-1 received
printf 'env: {name: %s}\n' "$work/coin.so" >absolute.yaml
printf 'seeds: 1\nrows: [{title: x, spec: received/spec.yaml}]\n' >suite.yaml
printf 'seeds: 1\nrows: [{title: x, spec: ./coin.so}]\n' >direct.yaml
for command in "eval received --model latest" "eval received --policy random" "watch received --model latest" \
  "compare received --model latest --against random" "compare received/spec.yaml --against random" \
  "resume received --steps 900" "train received/spec.yaml" "train absolute.yaml" "profile received/spec.yaml" \
  "doctor absolute.yaml" "suite suite.yaml" "suite direct.yaml" "eval received/model-latest.safetensors" \
  "eval received --model latest --set env.options.x=1"; do
  # shellcheck disable=SC2086
  expect 2 "coin.so: not run: this code was not made or used here by you" "$hotloop" $command
  also "a library of"
  also "--trust"
  not_run "$command"
done
expect 0 "model-latest.safetensors" "$hotloop" inspect received
expect 0 "charts of received" "$hotloop" plot received --out plot.svg
not_run "inspect, plot"
[ -e "$HOME/.local/state/hotloop/trusted" ] && fail "a refused content was remembered"

# --trust runs it and remembers the content; another content is refused again.
expect 0 "return" "$hotloop" eval received --model latest --episodes 5 --trust
ran a "--trust"
expect 0 "return" "$hotloop" eval received --model latest --episodes 5
ran a "remembered after --trust"
cp -r received changed && cp evil.so changed/coin.so
expect 2 "changed/coin.so: not run" "$hotloop" eval changed --model latest
not_run "a changed content"
expect 0 "return" "$hotloop" train absolute.yaml --set env.name=evil.so "${small[@]}" --out other
ran b "--set env.name, named by the user"

# On a terminal there is one question. answer TEXT COMMAND...: the exit code of the command, its output in `log`.
answer() {
  local text=$1
  shift
  rm -f in log && mkfifo in
  script -qefc "$*" log <in >/dev/null 2>&1 & local pid=$!
  exec 3>in
  for ((i = 0; i < 300; ++i)); do grep -q "Run it?" log 2>/dev/null && break; sleep 0.1; done
  sleep 0.2
  printf '%s\n' "$text" >&3
  wait $pid
  local code=$?
  exec 3>&-
  return $code
}
user asked
for text in n "" later; do
  answer "$text" "'$hotloop' eval received --model latest --episodes 5"
  [ $? -eq 2 ] || fail "answered '$text': $(cat log)"
  not_run "the answer '$text'"
done
grep -q "$work/received/coin.so" log && grep -q "a library of" log && grep -q "$(sha256sum <coin.so | cut -d' ' -f1)" log ||
  fail "the question does not show path, kind and hash: $(cat log)"
answer y "'$hotloop' eval received --model latest --episodes 5" || fail "answered y: $(cat log)"
ran a "the answer yes"
expect 0 "return" "$hotloop" eval received --model latest --episodes 5
ran a "remembered after yes"
mv received $'esc\e[2J'
user fresh
expect 2 'esc\x1b[2J/coin.so: not run' "$hotloop" eval $'esc\e[2J' --model latest
mv $'esc\e[2J' received

# A list that others can change, or a link, is not believed.
list=$HOME/.local/state/hotloop/trusted
mkdir -p "${list%/*}" && chmod 700 "${list%/*}"
cp "$work/asked/.local/state/hotloop/trusted" "$list" && chmod 666 "$list"
expect 2 "not run" "$hotloop" eval received --model latest
ln -sf "$work/asked/.local/state/hotloop/trusted" "$list"
expect 2 "not run" "$hotloop" eval received --model latest
not_run "a list that is not the user's own"
expect 0 "return" "$hotloop" eval received --model latest --episodes 5 --trust
[ ! -L "$list" ] && mode_is 600 "$list"

# The cache. planted HOW: after somebody planted evil.so, the user's own file is loaded.
cached=$(ls "$cache"/*.so | head -n 1)
for file in "$cache"/*.so; do cmp -s "$file" coin.so && cached=$file; done
rm -f "$RAN"
planted() {
  expect 0 "return" "$hotloop" eval received --model latest --episodes 5
  grep -q b "$RAN" && fail "planted code ran: $1"
  ran a "$1"
  [ -L "$cached" ] && fail "still a link: $1"
  cmp -s "$cached" coin.so || fail "the planted file is still there: $1"
}
rm -f "$cached" && ln -s "$work/evil.so" "$cached" && planted "a link"
cp evil.so "$cached" && chmod 666 "$cached" && planted "a file that others can write to"
rm -f "$cached" && mkfifo "$cached" && planted "a pipe"
truncate -s 0 "$cached" && planted "what a power cut leaves"
cp evil.so "$cached" && chmod 600 "$cached" && chmod 777 "$cache" && touch "$cache/keep.txt" && planted "a folder that others can write to"
mode_is 700 "$cache"
[ -e "$cache/keep.txt" ] || fail "a file that is not hotloop's was deleted from the cache"
mv "$cache" elsewhere && ln -s "$work/elsewhere" "$cache"
expect 0 "return" "$hotloop" eval received --model latest --episodes 5
also "worlds: it is a link, not a folder"
also "are kept in $HOME/.cache/hotloop/worlds"
mode_is 700 "$HOME/.cache"
rm "$cache" && mv elsewhere "$cache" && rm -f "$RAN"
if [ "$(id -u)" -eq 0 ]; then  # another user of the system
  cp evil.so "$cached" && chown 65534 "$cached" && chmod 600 "$cached" && planted "a file of another user"
  chown 65534 "$cache"
  expect 0 "return" "$hotloop" eval received --model latest --episodes 5
  also "worlds: it belongs to another user"
  chown 0 "$cache" && rm -f "$RAN"
  if command -v setpriv >/dev/null && setpriv --reuid=65534 --clear-groups test -x "$hotloop" -a -r coin.so; then
    mkdir -m 777 theirs && TMPDIR=$work/theirs HOME=$work/nowhere expect 0 "return" setpriv --reuid=65534 --clear-groups \
      "$hotloop" eval coin.so --policy random --episodes 2
    also "$cache: Permission denied"
    also "are kept in $work/theirs/hotloop-worlds-65534"
    mode_is 700 theirs/hotloop-worlds-65534
  fi
fi

# A source counts with what it includes, also from outside of its folder, which the refusal names.
user author
rm -f "$RAN"
mkdir -p inner && printf 'inline constexpr int kGoal = 7;\n' >outer.hpp
cat >inner/maze.cpp <<'CPP'
#include <hotloop/env.hpp>
#include "../outer.hpp"
struct Maze {
  static constexpr auto spec = hotloop::EnvSpec{.name = "maze", .obs = 1, .actions = 2, .max_steps = 50};
  int x = 0;
  void reset(hotloop::Rng& rng) { x = rng.below(3); }
  void observe(std::span<float> obs) const { obs[0] = x / 10.f; }
  hotloop::Step step(int a, hotloop::Rng&) { x += a ? 1 : -1; return {-.1f, x == kGoal || x < 0}; }
};
HOTLOOP_ENV(Maze)
CPP
printf 'env: {name: maze.cpp}\n' >inner/spec.yaml
expect 2 "inner/maze.cpp: not run" "$hotloop" train inner/spec.yaml
also "a C++ source of"
also ", with ../outer.hpp"
expect 0 "greedy return" "$hotloop" train inner/maze.cpp "${small[@]}"
expect 0 "greedy return" "$hotloop" train inner/spec.yaml "${small[@]}"
truncate -s 0 "$cache"/*.so  # by a power cut
expect 0 "return" "$hotloop" eval runs/maze-1 --model latest --episodes 5
echo '// changed' >>outer.hpp
expect 2 "inner/maze.cpp: not run" "$hotloop" train inner/spec.yaml
# An include that hotloop cannot see is not looked for in the folder of the source.
printf '#define FILE_NAME "outer.hpp"\n#include FILE_NAME\n' >hidden.cpp
expect 1 "outer.hpp: No such file or directory" "$hotloop" check hidden.cpp

finish "trust"
