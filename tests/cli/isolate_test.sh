#!/bin/bash
# isolate_test.sh HOTLOOP WORK: environments that write beyond their rows, crash, end the process or never
# return, after their trial: in this process, and in their own (--isolate).
set -u
here=$(cd -- "$(dirname -- "$0")" && pwd)
hotloop=$1 work=$2
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
export XDG_CACHE_HOME=$work/cache
. "$here/expect.sh"

# One world for all: $HOW says what it does wrong, from its 300th reset on.
cat >world.cpp <<'CPP'
#include <hotloop/env.hpp>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>
struct World {
  static constexpr auto spec = hotloop::EnvSpec{.name = "world", .obs = 2, .actions = 2, .max_steps = 100,
                                                .measures = {"place"}};
  int x = 0, goal = 9, steps = 0;
  static bool how(std::string_view what) {
    static const char* how = std::getenv("HOW");
    return how != nullptr && how == what;
  }
  void reset(hotloop::Rng& rng) {
    x = 0; goal = 5 + rng.below(10);
    if (++*count() > 300 && how("reset")) std::abort();
  }
  static int* count() { static int n = 0; return &n; }
  void observe(std::span<float> obs) const {
    obs[0] = x / 20.f; obs[1] = goal / 20.f;
    if (*count() < 300) return;
    float* row = obs.data();
    asm volatile("" : "+r"(row));  // the compiler does not see that the writes are wrong
    if (how("after")) row[2] = 5;
    if (how("before")) row[-1] = 5;
    if (how("far")) std::memset(row, 0, 1 << 16);
    if (how("far_before")) row[-5000] = 1;
    if (how("neighbour") && steps % 2 == 0 && x == 3) row[-1] = 5;
  }
  void measure(std::span<float> values) const {
    values[0] = x;
    float* row = values.data();
    asm volatile("" : "+r"(row));
    if (how("measure") && *count() > 300) row[1] = 1;
  }
  hotloop::Step step(int a, hotloop::Rng&) {
    x += a ? 1 : -1;
    ++steps;
    if (*count() > 300) {
      if (how("exit")) std::exit(0);
      if (how("_exit")) _exit(0);
      if (how("quick")) std::quick_exit(0);
      if (how("syscall")) syscall(SYS_exit_group, 0);
      if (how("crash")) *(volatile int*)nullptr = 1;
      if (how("abort")) std::abort();
      if (how("throw")) throw std::runtime_error("no more");
      volatile bool loops = how("loop");
      while (loops) {}
    }
    return {x == goal ? 1.f : -.01f, x == goal || x < 0};
  }
};
HOTLOOP_ENV(World)
CPP

train=("$hotloop" train world.cpp --set run.steps=8000 --quiet --json --set env.count=8 --set algo.learning_starts=500
       --set evaluation.every=0 --set evaluation.episodes=5 --set run.checkpoint_seconds=0.02)

# A world without a mistake: the same bits, with and without isolation, with one and three threads.
for kind in plain isolated threads; do
  options=()
  [ "$kind" = plain ] || options=(--isolate)
  [ "$kind" = threads ] && options+=(--set run.threads=3)
  "${train[@]}" "${options[@]}" --out "$kind" >"$kind.json" 2>err || fail "$kind: $(cat err)"
  [ -n "$(hash_of "$kind.json")" ] && [ "$(hash_of "$kind.json")" = "$(hash_of plain.json)" ] ||
    fail "$kind: $(hash_of "$kind.json"), plain: $(hash_of plain.json)"
done
# Resumed runs keep it, and may change it.
grep -q 'isolate: true' isolated/world-1/spec.yaml || fail "spec.yaml does not say that the run is isolated"
"${train[@]}" --steps 16000 --out longer >longer.json 2>err || fail "$(cat err)"
"$hotloop" resume plain/world-1 --steps 16000 --isolate --quiet --json >one.json 2>err || fail "$(cat err)"
"$hotloop" resume isolated/world-1 --steps 16000 --set env.isolate=false --quiet --json >two.json 2>err ||
  fail "$(cat err)"
for file in one two; do
  [ "$(hash_of $file.json)" = "$(hash_of longer.json)" ] || fail "$file: $(hash_of $file.json)"
done
expect 2 "allowed: evaluation.*, run.* except run.seed, and env.isolate" \
  "$hotloop" resume plain/world-1 --set env.count=3
"$hotloop" eval longer/world-1 --model latest --episodes 50 --json >one.json
"$hotloop" eval longer/world-1 --model latest --episodes 50 --json --isolate >two.json
cmp -s one.json two.json || fail "eval: $(cat one.json two.json)"
expect 2 "env.isolate: cartpole is part of hotloop" "$hotloop" train cartpole_dqn --isolate
# A suite isolates its rows with environments from files, named or in a spec, and no others.
mkdir suite && cp world.cpp suite/ && printf 'env: {name: world.cpp}\n' >suite/spec.yaml
cat >suite/mixed.yaml <<'YAML'
seeds: 1
set: [run.steps=8000, algo.learning_starts=500, env.count=8, evaluation.every=0, evaluation.episodes=5]
rows:
  - {title: file, spec: world.cpp, algo: dqn}
  - {title: spec, spec: spec.yaml}
  - {title: ours, spec: cartpole, algo: dqn}
YAML
expect 0 '| ours |' "$hotloop" suite suite/mixed.yaml --quiet --out suites --isolate
for row in file:true spec:true ours:false; do
  grep -q "isolate: ${row#*:}" "suites/mixed/${row%:*}-1/spec.yaml" || fail "suite --isolate: row ${row%:*}"
done
HOW=syscall expect 1 '| ours |' "$hotloop" suite suite/mixed.yaml --out ended --isolate
also "FAILED: environment suite/world.cpp: step ended the program with exit code 0"
expect 2 "no row of " "$hotloop" suite classic --isolate
expect 0 "isolated: " "$hotloop" train world.cpp --steps 4000 --isolate --set evaluation.episodes=5
also "us per vector step"

# resumable HOW: the newest checkpoint of the run is whole; without the mistake, it ends like one that never stopped.
resumable() {
  local run
  run=$(ls -dt "$1"/world-* | head -n 1)
  "$hotloop" resume "$run" --steps 8000 --set env.isolate=false --quiet --json >resumed.json 2>err ||
    fail "$1: resume: $(cat err)"
  [ "$(hash_of resumed.json)" = "$(hash_of plain.json)" ] || fail "$1: the resumed run differs"
}

# In this process. Writes next to the rows are found at once, and nothing is saved after them.
wrote="observation: expected exactly 2 values to be written, found a write"
for how in after:1:"$wrote after the row" before:1:"$wrote before the row" \
  far:139:"environment world: observe crashed: an access far beyond its rows (row" \
  far_before:139:"environment world: observe crashed: an access far beyond its rows (row" \
  measure:1:"measures: expected exactly 1 values to be written, found a write after the row" \
  exit:1:"environment world: step called exit() (rows 0 to 7, step " \
  quick:1:"environment world: step called quick_exit() (rows 0 to 7, step " \
  _exit:1:"environment world: step called _exit() (rows 0 to 7, step " \
  crash:139:"environment world: step crashed: a read or write where there is no memory (SIGSEGV) (rows 0 to 7, step" \
  abort:134:"environment world: step crashed: a call to abort" \
  reset:134:"environment world: reset crashed: a call to abort" \
  throw:1:"environment world: step failed, row 0, step"; do
  IFS=: read -r name code text <<<"$how"
  expect "$code" "$text" env HOW="$name" "${train[@]}" --out "in_$name"
  case $name in
  throw) ;;
  exit) also "The newest checkpoint is whole: hotloop resume in_exit/world-1; hotloop check world.cpp" ;;
  *) also "whole: hotloop resume in_$name/world-1" ;;
  esac
  not_also params_hash
  resumable "in_$name"
done
# A write into the row before, by some rows in some states: found when the run would be saved.
expect 1 "observation: expected" env HOW=neighbour "${train[@]}" --out in_neighbour
# Other commands do not end with success either.
for how in exit _exit; do
  expect 1 "environment world: step called $how()" env HOW=$how "$hotloop" eval longer/world-1 --model latest --episodes 2000
done
# A loop: a message, and the run is still saved.
HOW=loop "${train[@]}" --out in_loop --set env.timeout_seconds=1 >out 2>&1 &
pid=$!
wait_until grep -q "step of world.cpp has not returned" out
kill -9 $pid; wait $pid 2>/dev/null
grep -qF "hotloop: step of world.cpp has not returned for" out || fail "no message about a loop: $(cat out)"
grep -qF "Ctrl-C twice ends the run. The newest checkpoint is whole: hotloop resume in_loop/world-1" out || fail "$(cat out)"
resumable in_loop

# In its own process: the same mistakes end the run with a message, and never this process.
for how in after:"$wrote after the row" before:"$wrote before the row" \
  far:"observe crashed: a read or write where there is no memory (SIGSEGV) (row" \
  exit:"environment world.cpp: step ended the program with exit code 0 (rows 0 to 7, step " \
  quick:"step ended the program with exit code 0" _exit:"step ended the program with exit code 0 (rows 0 to 7, step" \
  syscall:"step ended the program with exit code 0" \
  crash:"step crashed: a read or write where there is no memory (SIGSEGV) (rows 0 to 7, step " \
  abort:"step crashed: a call to abort" reset:"reset crashed: a call to abort" \
  neighbour:"observation: expected" throw:"environment world: step failed, row 0, step" \
  loop:"environment world.cpp: step did not return within 1 s (rows 0 to 7, step "; do
  name=${how%%:*}
  limit=60
  [ "$name" = loop ] && limit=1
  expect 1 "${how#*:}" env HOW="$name" "${train[@]}" --isolate --set env.timeout_seconds=$limit --out "own_$name"
  [ "$name" = throw ] || also "the newest checkpoint is whole: hotloop resume own_$name/world-1"
  [ "$name" = neighbour ] || resumable "own_$name"
done
expect 1 "step ended the program with exit code 0" env HOW=_exit "$hotloop" eval longer/world-1 --model latest \
  --episodes 2000 --isolate

# Ctrl-C and a scheduler's signals reach the run, which saves; the host ends with it, also if it is killed.
hosts() { pgrep -f -- "--out $1" | wc -l; }
no_hosts() { [ "$(hosts "$1")" -eq 0 ]; }
for signal in INT TERM KILL; do
  # A shell starts background jobs with SIGINT ignored, which the run would respect.
  setsid env --default-signal=INT "${train[@]}" --isolate --steps 1000000000 --out "end_$signal" >out 2>&1 &
  wait_until test -s "end_$signal/world-1/metrics.jsonl"
  group=$(pgrep -of -- "--out end_$signal")
  [ "$(hosts "end_$signal")" -ge 2 ] || fail "$signal: no host process"
  if [ $signal = KILL ]; then kill -9 "$group"; else kill -$signal -- "-$group"; fi
  wait_until no_hosts "end_$signal" || fail "$signal: processes are left: $(pgrep -af -- "--out end_$signal")"
  [ $signal = KILL ] || grep -q '"interrupted":true' out || fail "$signal: $(cat out)"
done

# A limit of memory, and one of time for a slow constructor.
sed 's/int x = 0, goal = 9, steps = 0;/int x = 0, goal = 9, steps = 0; /; s/++steps;/++steps; if (*count() > 300) { static char* p = (char*)std::malloc(1u << 30); if (p == nullptr) throw std::runtime_error("no memory"); }/' world.cpp >hungry.cpp
expect 1 "no memory" "$hotloop" train hungry.cpp --isolate --set env.memory_gb=0.5 --steps 8000 --quiet
expect 0 "greedy return" "$hotloop" train hungry.cpp --isolate --set env.memory_gb=4 --steps 8000 --quiet

finish "isolated environments"
