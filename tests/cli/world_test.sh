#!/bin/bash
# world_test.sh HOTLOOP WORK SOURCE: worlds in files from the command line: written, checked, trained, moved,
# and broken in every way that has its own message.
set -u
here=$(cd -- "$(dirname -- "$0")" && pwd)
hotloop=$1 work=$2 source=$3
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
export XDG_CACHE_HOME=$work/cache XDG_STATE_HOME=$work/state
. "$here/expect.sh"

# world FILE RESET OBSERVE STEP [MEMBERS]: a corridor with parts replaced.
world() {
  cat >"$1" <<CPP
#include <hotloop/env.hpp>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
struct World {
  static constexpr auto spec = hotloop::EnvSpec{.name = "world", .obs = 2, .actions = 2, .max_steps = 100};
  int x = 0, goal = 9;
  ${5:-}
  void reset(hotloop::Rng& rng) { x = 0; goal = 5 + rng.below(10); $2 }
  void observe(std::span<float> obs) const { obs[0] = x / 20.f; obs[1] = goal / 20.f; $3 }
  hotloop::Step step(int a, hotloop::Rng&) { x += a ? 1 : -1; $4 return {x == goal ? 1.f : -.01f, x == goal || x < 0}; }
};
HOTLOOP_ENV(World)
CPP
}

# A world that prints or ends the process in the middle of training, depending on HOW.
world ending.cpp "" "" 'static int n = 0; const char* how = std::getenv("HOW");
  if (how == nullptr) __builtin_puts("a step");
  else if (++n == 3000) { if (how[0] == 101) std::exit(0); std::abort(); }'
for how in "exit:1:called exit()" "abort:134:crashed: a call to abort"; do
  IFS=: read -r name code text <<<"$how"
  expect "$code" "environment world: step $text" env HOW="$name" "$hotloop" train ending.cpp --steps 4000 --quiet --json
  also "The newest checkpoint is whole: hotloop resume runs/ending-"
  also "; hotloop check ending.cpp looks for mistakes"
done
for command in "check ending.cpp" "train ending.cpp --steps 2000 --quiet"; do
  # shellcheck disable=SC2086
  [ "$("$hotloop" $command --json 2>/dev/null | sed 's/^{.*}$/JSON/')" = JSON ] ||
    fail "$command --json is not JSON if a world prints"
done

# A world that never ends.
world endless.cpp "" "" 'x = 1;'
sed -i 's/max_steps = 100/max_steps = 0/' endless.cpp
expect 0 '"warnings":["greedy episodes did not end within 100000 steps' \
  "$hotloop" train endless.cpp --steps 2000 --set evaluation.episodes=1 --quiet --json
expect 0 '"warnings":[]' "$hotloop" train endless.cpp --steps 2000 --set evaluation.episodes=1 \
  --set evaluation.max_steps=500 --quiet --json

expect 0 "warning: no episode ended in 25600 random steps, and there is no time limit" "$hotloop" check endless.cpp
sed -i 's/max_steps = 0/max_steps = 1000000/' endless.cpp
expect 0 "warning: no episode ended in 25600 random steps, and the time limit is 1000000" "$hotloop" check endless.cpp
sed -i 's/max_steps = 1000000/max_steps = 1000/' endless.cpp
expect 0 "world: passed" "$hotloop" check endless.cpp
grep -q "no episode ended" <<<"$output" && fail "a world with a time limit gets a warning: $output"

# A world from the template, from creation to a result.
expect 0 "wrote maze.cpp" "$hotloop" new env maze
expect 2 "already exists" "$hotloop" new env maze
expect 2 "lower-case letters" "$hotloop" new env "My World"
expect 2 "allowed: env" "$hotloop" new spec maze
expect 0 "maze: passed" "$hotloop" check maze.cpp
also "steps/s on one thread"
grep -q warning <<<"$output" && fail "the template gets a warning: $output"
expect 0 '"passed":true' "$hotloop" check maze.cpp --json
small=(--quiet --set evaluation.every=0 --set evaluation.episodes=20)
expect 0 "greedy return" "$hotloop" train maze.cpp --steps 4000 "${small[@]}"
[ -d runs/maze-1 ] || fail "the run is not named after the file"
expect 0 "episode 1: return" "$hotloop" watch runs/maze-1 --gif maze.gif
grep -q GIF89a maze.gif || fail "no film of a world in a file"

# The run folder is enough: it is moved, and the file is deleted.
cmp -s maze.cpp runs/maze-1/maze.cpp || fail "the run folder does not have a copy of the world"
grep -q '^  name: "maze.cpp"$' runs/maze-1/spec.yaml || fail "spec.yaml: $(head -n 5 runs/maze-1/spec.yaml)"
mkdir elsewhere && mv runs/maze-1 elsewhere/ && mv maze.cpp maze.gone
"$hotloop" resume elsewhere/maze-1 --steps 8000 --quiet --json >moved.json 2>err || fail "resume: $(cat err)"
mv maze.gone maze.cpp
"$hotloop" train maze.cpp --steps 8000 "${small[@]}" --out straight --json >straight.json 2>err || fail "$(cat err)"
[ -n "$(hash_of moved.json)" ] && [ "$(hash_of moved.json)" = "$(hash_of straight.json)" ] ||
  fail "resumed after a move $(hash_of moved.json), straight $(hash_of straight.json)"
expect 0 "return" "$hotloop" eval elsewhere/maze-1 --model latest --episodes 5
expect 0 "| policy |" "$hotloop" compare elsewhere/maze-1 --model latest --against random --episodes 5
expect 0 "2 runs" "$hotloop" compare elsewhere/maze-1 straight/maze-1 --model latest --episodes 5
# A model whose world was changed afterwards.
cp -r elsewhere/maze-1 changed && sed -i 's/.obs = 2,/.obs = 3,/; s/obs\[1\] =/obs[2] = obs[1] =/' changed/maze.cpp
expect 2 "the model expects 2 observations" "$hotloop" eval changed --model latest --episodes 5 --trust
expect 2 "nothing to compare" "$hotloop" compare elsewhere/maze-1 changed --model latest --episodes 5
# Loading a model runs no code of its world's file.
echo garbage >changed/maze.cpp && echo '[0, 0]' >obs.json
expect 2 "the network is not a graph" "$hotloop" inspect changed --activations obs.json
expect 2 "changed/maze.cpp:1: 'garbage' does not name a type" "$hotloop" eval changed --model latest --episodes 5 --trust
# A model alone can still be described, but its world is missing.
cp elsewhere/maze-1/model-latest.safetensors alone.safetensors && mv maze.cpp maze.gone
expect 0 "layer0.weight" "$hotloop" inspect alone.safetensors
expect 2 "is not available" "$hotloop" eval alone.safetensors --episodes 5
mv maze.gone maze.cpp

# A picture with more bytes than its size: refused before it is copied.
cat >painter.cpp <<'CPP'
#include <hotloop/env.hpp>
struct Painter {
  static constexpr auto spec = hotloop::EnvSpec{.name = "painter", .obs = 1, .actions = 2, .max_steps = 5};
  float x = 0;
  void reset(hotloop::Rng&) { x = 0; }
  void observe(std::span<float> obs) const { obs[0] = x; }
  hotloop::Step step(int a, hotloop::Rng&) { x += 0.1f * a; return {1, false}; }
  hotloop::Picture picture() const { return {2, 2, std::vector<std::uint8_t>(100'000)}; }
};
HOTLOOP_ENV(Painter)
CPP
expect 1 "100000 bytes of rgb for 2 x 2 pixels; expected width * height * 3" \
  "$hotloop" watch painter.cpp --policy random --episodes 1 --png painter.png

# Settings: an algorithm, a spec that names the file next to it, a name that is not a file.
for algorithm in pqn sarsa ppo; do
  expect 0 "greedy return" "$hotloop" train maze.cpp --algo $algorithm --steps 4096 "${small[@]}"
done
mkdir specs && cp maze.cpp specs/den.cpp && printf 'env: {name: den.cpp}\n' >specs/mine.yaml
expect 0 "greedy return" "$hotloop" train specs/mine.yaml --steps 2000 "${small[@]}"
expect 0 "of wall time" "$hotloop" profile maze.cpp --algo dqn --seconds 0.2 --quiet
expect 2 "did you mean dqn?" "$hotloop" train maze.cpp --algo dqm
mkdir sweep && cp maze.cpp sweep/
cat >sweep/rates.yaml <<'YAML'
seeds: 1
spec: maze.cpp
algo: ppo
set: [run.steps=4096, evaluation.every=0, evaluation.episodes=5]
rows:
  - {title: fast, set: [optimiser.learning_rate=0.003]}
  - {title: slow, set: [optimiser.learning_rate=0.0003]}
YAML
expect 0 '| slow | `maze` | 4096 |' "$hotloop" suite sweep/rates.yaml --quiet --out swept
# Existing runs are not trained again, unless the world has changed.
rm swept/rates/slow-1/result.json
expect 0 "runs already in swept/rates: 1 finished, results reused; 1 unfinished, resumed" \
  "$hotloop" suite sweep/rates.yaml --quiet --out swept
echo '// changed' >>sweep/maze.cpp
expect 0 '| slow | `maze` | 4096 |' "$hotloop" suite sweep/rates.yaml --out swept --trust
grep -q already <<<"$output" && fail "runs of a changed world were reused: $output"
expect 2 "is a spec, which already names its algorithm" "$hotloop" train cartpole_dqn --algo ppo
expect 0 "greedy return" "$hotloop" train cartpole --algo ppo --steps 4096 "${small[@]}"
expect 2 "no such file" "$hotloop" train mase.cpp
expect 2 "no such file" "$hotloop" check mase.cpp
expect 2 "did you mean cartpole?" "$hotloop" check cartpol
expect 0 "cartpole: passed" "$hotloop" check cartpole --steps 50

# The cache: nothing is compiled twice, two processes at once work, an edit is noticed.
count() { ls cache/hotloop/worlds/*.so | wc -l; }
before=$(count)
"$hotloop" check maze.cpp >/dev/null
[ "$(count)" -eq "$before" ] || fail "compiled again without need"
printf '#pragma once\ninline constexpr int kGoal = 3;\n' >goal.hpp
world edited.cpp "goal = kGoal + rng.below(5);" "" ""
sed -i '1i #include "goal.hpp"' edited.cpp
"$hotloop" check edited.cpp >one 2>&1 & first=$!
"$hotloop" check edited.cpp >two 2>&1 & second=$!
wait $first; code=$?
wait $second && [ "$code" -eq 0 ] && grep -q "world: passed" one two || fail "two at once: $(cat one two)"
[ -z "$(ls cache/hotloop/worlds | grep tmp)" ] || fail "temporary files were left in the cache"
[ "$(count)" -eq $((before + 1)) ] || fail "two processes left $(count) plug-ins, not $((before + 1))"
sed -i 's/3/12/' goal.hpp
expect 0 "greedy return" "$hotloop" train edited.cpp --steps 1000 --set algo.learning_starts=500 "${small[@]}"
[ "$(count)" -eq $((before + 2)) ] || fail "a change in an included file was not noticed"
mkdir alone && cp -r runs/edited-1 alone/
expect 0 "return" "$hotloop" eval alone/edited-1 --model latest --episodes 5
[ "$(count)" -eq $((before + 2)) ] || fail "the copy in the run folder was compiled again"

# Broken worlds. What `check` explains, `train` refuses before it makes a folder.
rm -r runs
world lacks.cpp "" "" "" && sed -i '/hotloop::Step step/d' lacks.cpp
expect 1 "lacks.cpp:12: the world lacks 'hotloop::Step step(int action, hotloop::Rng& rng)'" "$hotloop" check lacks.cpp
expect 2 "lacks.cpp:12: the world lacks" "$hotloop" train lacks.cpp
[ "$(wc -l <<<"$output")" -le 3 ] || fail "too many lines: $output"
world wide.cpp "" "" "" && sed -i 's/\.actions = 2/.action_size = 65/; s/step(int a,/step(std::span<const float>,/; s/x += a ? 1 : -1/++x/' wide.cpp
expect 1 "wide.cpp:13: 'step' takes floats: spec.action_size must be 1 to 64" "$hotloop" check wide.cpp
world typo.cpp "" "" "y += 1;"
expect 1 "typo.cpp:11: " "$hotloop" check typo.cpp
also "'y' was not declared"
world size.cpp "" "obs[2] = 1;" ""
expect 1 "expected exactly 2 values to be written, found a write after the row" "$hotloop" check size.cpp
also "spec.obs is 2, so observe may write obs[0] to obs[1]"
also "FAILED: size.cpp:10: an index beyond the end of a std::span"
expect 2 "row 0, step 0: observation: expected exactly 2 values" "$hotloop" train size.cpp
world nan.cpp "" "" "if (x == 2) return {std::sqrt(-1.f * x), false};"
expect 1 "reward: expected a finite number, found" "$hotloop" check nan.cpp
also "division by zero"
world throws.cpp 'if (goal > 6) throw std::runtime_error("no goal");' "" ""
expect 1 "environment world: reset failed, row" "$hotloop" check throws.cpp
also "no goal"
expect 2 "no goal" "$hotloop" train throws.cpp
world hangs.cpp "" "" "while (x == 3) goal += a ? 0 : 1;"
expect 1 "step did not return within 1 s (row" "$hotloop" check hangs.cpp --timeout 1
also "a loop whose condition never becomes false"
world crash.cpp "" "" "" 'World() = default; int* nowhere = nullptr;'
sed -i 's/int x = 0, goal = 9;/int x = std::getenv("HOME") ? *(volatile int*)nullptr : 1, goal = 9;/; s/World() = default; //' crash.cpp
expect 1 "the constructor crashed: a read or write where there is no memory (SIGSEGV)" "$hotloop" check crash.cpp
expect 2 "the constructor crashed" "$hotloop" train crash.cpp
# A world that fails late is accepted, and the run ends with the reason, on any thread.
world late.cpp "" "" 'if (x == -15) throw std::runtime_error("too far");'
sed -i 's/|| x < 0/|| x < -50/' late.cpp
expect 1 "step failed, row" "$hotloop" check late.cpp
also "too far"
expect 1 "environment world: step failed, row" "$hotloop" train late.cpp --set run.threads=2 --set algo.epsilon=1 --out late "${small[@]}"
also "too far"
world carry.cpp "" "" "if (++total > 30) return {1, false};" "int total = 0;"
expect 1 "FAILED: reset: step" "$hotloop" check carry.cpp
also "after reset, bytes 8 to 11 of its 12 bytes of state differ from a fresh environment's"
also "a member is probably not set in reset"
# Accesses beyond arrays: into the next member, beyond a table, beyond the state, beyond a std::array.
world visited.cpp "visited[0] = next = 0;" "" "if (x >= 0 && x <= 12) visited[x] = 1;" "int visited[12] = {}; int next = 0;"
sed -i 's/below(10)/below(12)/; s/visited\[0\] = next = 0/*this = {}; goal = 5 + rng.below(12)/' visited.cpp
expect 1 "FAILED: visited.cpp:11: index 12 of an array of 12; allowed: 0 to 11" "$hotloop" check visited.cpp
mkdir -p "with blanks" && sed 's/ int next = 0;//' visited.cpp >"with blanks/last.cpp"
expect 1 "FAILED: with blanks/last.cpp:11: index 12 of an array of 12" "$hotloop" check "with blanks/last.cpp"
world table.cpp "" "" "static const int moves[4] = {1, -1, 2, -2}; x += moves[a];"
sed -i 's/actions = 2/actions = 5/' table.cpp
expect 1 "FAILED: table.cpp:11: index 4 of an array of 4; allowed: 0 to 3" "$hotloop" check table.cpp
also "Is spec.actions larger than an array that is indexed by the action?"
world overrun.cpp "" "" "for (int i = 0; i < 400 && x == 3; ++i) (&x)[i + goal / 20] = 3;"
expect 1 "FAILED: overrun.cpp:11: an access beyond the environment's own state" "$hotloop" check overrun.cpp
cp overrun.cpp "with blanks"
expect 1 "FAILED: with blanks/overrun.cpp:11: an access beyond" "$hotloop" check "with blanks/overrun.cpp"
world array.cpp "" "" "cells[x < 0 ? 0 : x % 13] = x;" "std::array<int, 12> cells{};"
sed -i 's/x = 0; goal = 5/*this = {}; goal = 5/; s/below(10)/below(12)/' array.cpp
expect 1 "FAILED: array.cpp:11: an index beyond the end of a std::array" "$hotloop" check array.cpp
world overflow.cpp "" "" "hash = hash * 31 + x;" "int hash = 7;"
sed -i 's/x = 0; goal = 5/*this = {}; goal = 5/' overflow.cpp
expect 0 "warning: overflow.cpp:11: signed integer overflow" "$hotloop" check overflow.cpp
# A static record that all copies share, and tables that are made once: by a function, and on first use.
world shared.cpp "" "" 'static int best = 0; static const float pay = std::sqrt(float(goal)) > 0 ? 1.f : 2.f;
  if (x <= best) return {0, x < 0}; best = x; return {pay, false};' "inline static const float table = std::sqrt(2.f);"
expect 0 "a static or global variable changed while the environment was played: World::step::best" "$hotloop" check shared.cpp
also "make it a member of the struct"
also "perhaps because of the shared variable"
grep -q "make the goal easier" <<<"$output" && fail "the goal is blamed for a static variable: $output"
world state.cpp "" "obs[1] += hidden;" "hidden = x;" "inline static float hidden = 0;"
expect 1 "FAILED" "$hotloop" check state.cpp
also "static"
also "World::hidden"
world dull.cpp "" "obs[0] = 0; obs[1] = 5000;" "x = 1; goal = 3;" && sed -i 's/goal = 5 + rng.below(10);/(void)rng;/; s/-.01f/-5e6f/' dull.cpp
expect 0 "actions made no difference" "$hotloop" check dull.cpp
also "observation values 0, 1 never changed"
also "every reward was"
also "is large"
also "rewards are large (one was 5e+06)"
world two.cpp "" "" "" && sed -n '5,$p' two.cpp | sed 's/World/Other/; s/(World)/(Other)/; s/"world"/"other"/' >more && cat more >>two.cpp
expect 1 "has 2 environments (world and other)" "$hotloop" check two.cpp
printf '#include <hotloop/env.hpp>\n' >none.cpp
expect 1 "has no environment: end it with HOTLOOP_ENV(Name)" "$hotloop" check none.cpp
expect 2 "has no environment" "$hotloop" train none.cpp
[ -e runs ] && fail "a refused world left a run folder"

# Plug-ins in C: one that works, one without the symbol, one for another version.
cc=$(command -v cc || command -v gcc)
if [ -n "$cc" ]; then
  "$cc" -shared -fPIC -O2 -Wall -Wextra -I "$source/include" -o coin.so "$source/tests/env/file/coin_plugin.c" || fail "coin_plugin.c"
  expect 0 "coin: passed" "$hotloop" check coin.so
  expect 0 "greedy return" "$hotloop" train coin.so --steps 3000 "${small[@]}"
  expect 0 "return" "$hotloop" eval runs/coin-1 --model latest --episodes 5
  "$cc" -shared -fPIC -DCOIN_VERSION=99 -I "$source/include" -o old.so "$source/tests/env/file/coin_plugin.c"
  expect 2 "a plug-in for version 99 of hotloop's interface; this hotloop needs version 1" "$hotloop" train old.so
  echo 'int x;' >nothing.c && "$cc" -shared -fPIC -o nothing.so nothing.c
  expect 2 "does not export hotloop_plugin_v1" "$hotloop" train nothing.so
  echo 'no library' >text.so
  expect 2 "cannot be loaded" "$hotloop" train text.so
fi

finish "worlds in files"
