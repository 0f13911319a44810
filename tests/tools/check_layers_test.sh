#!/bin/sh
# check_layers_test.sh ROOT WORK: the layer check accepts a tree that keeps the rules, and names
# each kind of violation in one that does not. A violation is planted in every room, and in every
# folder of ROOT.

root=$1
check=$root/tools/check_layers.sh
tree=$2
failures=0

fail() {
  echo "$1"
  failures=$((failures + 1))
}

# fresh [FILE]: an empty tree with the folder of FILE.
fresh() {
  rm -rf "$tree"
  mkdir -p "$tree/include/hotloop" "$tree/src/core" "$tree/tests" "$tree/$(dirname -- "${1:-src/core/a}")"
}

# accepts FILE INCLUDE / rejects FILE INCLUDE: a tree whose only file has this include.
accepts() {
  fresh "$1"
  printf '#include %s\n' "$2" >"$tree/$1"
  "$check" "$tree" || fail "rejected although allowed: $1 includes $2"
}
rejects() {
  fresh "$1"
  printf '#include <span>\n#include %s\n' "$2" >"$tree/$1"
  if output=$("$check" "$tree" 2>&1); then
    fail "accepted although forbidden: $1 includes $2"
  elif ! printf '%s\n' "$output" | grep -qF "$1:2:"; then
    fail "the violation in $1 is not named: $output"
  fi
}

# Each room: an include that it needs, and the nearest one that is forbidden.
accepts src/core/a.hpp '<hotloop/rng.hpp>'
rejects src/core/a.hpp '"env/registry.hpp"'
accepts src/env/a.hpp '"core/arena.hpp"'
rejects src/env/a.cpp '"env/check/battery.hpp"'
rejects src/env/a.cpp '"env/file/world_file.hpp"'
rejects src/env/a.cpp '"envs/cartpole.hpp"'
accepts src/env/check/a.cpp '"env/batch_env.hpp"'
rejects src/env/check/a.cpp '"env/file/world_file.hpp"'
accepts src/env/file/a.cpp '"env/check/trial.hpp"'
rejects src/env/file/a.cpp '"envs/cartpole.hpp"'
accepts src/envs/a.cpp '"env/registry.hpp"'
accepts src/envs/snake/a.cpp '"envs/option_reader.hpp"'
rejects src/envs/a.cpp '"net/structure.hpp"'
rejects src/envs/a.cpp '"env/check/battery.hpp"'
rejects src/envs/snake/a.cpp '"env/file/world_file.hpp"'
accepts src/graph/a.cpp '"core/file.hpp"'
rejects src/graph/a.cpp '"env/batch_env.hpp"'
rejects src/graph/a.cpp '"net/structure.hpp"'
accepts src/net/a.cpp '<Eigen/Core>'
accepts src/net/a.cpp '"net/layers/dense.hpp"'
accepts src/net/layers/a.cpp '"net/structure.hpp"'
rejects src/net/a.cpp '"env/batch_env.hpp"'
rejects src/net/layers/a.cpp '"memory/replay.hpp"'
accepts src/memory/a.cpp '"core/arena.hpp"'
rejects src/memory/a.cpp '"net/structure.hpp"'
accepts src/algo/common/a.cpp '"memory/replay.hpp"'
rejects src/algo/common/a.cpp '"algo/dqn/dqn.hpp"'
rejects src/algo/common/a.cpp '"spec/spec.hpp"'
accepts src/algo/dqn/a.cpp '"algo/common/learner.hpp"'
accepts src/algo/dqn/a.cpp '"algo/dqn/b.hpp"'
rejects src/algo/dqn/a.cpp '"algo/ppo/ppo.hpp"'
rejects src/algo/new_one/a.cpp '"spec/spec.hpp"'
accepts src/algo/sarsa/a.cpp '"algo/pqn/pqn.hpp"'
rejects src/algo/sarsa/a.cpp '"algo/dqn/dqn.hpp"'
accepts src/spec/a.cpp '"env/file/world_file.hpp"'
rejects src/spec/a.cpp '"algo/dqn/dqn.hpp"'
rejects src/spec/a.cpp '"train/trainer.hpp"'
accepts src/train/a.cpp '"spec/spec.hpp"'
rejects src/train/a.cpp '"evaluate/evaluation.hpp"'
accepts src/evaluate/a.cpp '"train/trainer.hpp"'
rejects src/evaluate/a.cpp '"record/metrics.hpp"'
accepts src/record/a.cpp '"evaluate/evaluation.hpp"'
rejects src/record/a.cpp '"session/session.hpp"'
accepts src/session/a.cpp '"record/metrics.hpp"'
rejects src/session/a.cpp '"draw/chart.hpp"'
accepts src/draw/a.cpp '"record/learning_curve.hpp"'
rejects src/draw/a.cpp '"session/session.hpp"'
accepts src/study/a.cpp '"draw/chart.hpp"'
rejects src/study/a.cpp '"profile/profile.hpp"'
accepts src/profile/a.cpp '"session/session.hpp"'
rejects src/profile/a.cpp '"study/suite.hpp"'
accepts src/doctor/a.cpp '"profile/profile.hpp"'
rejects src/doctor/a.cpp '"cli/commands.hpp"'
accepts src/cli/a.cpp '"doctor/a.hpp"'
accepts src/cli/a.cpp '"env/check/battery.hpp"'
rejects src/cli/a.cpp '"algo/dqn/dqn.hpp"'
rejects src/cli/a.cpp '"tests/a.hpp"'
rejects include/hotloop/a.hpp '"core/arena.hpp"'

# Environments are used only by name.
for room in algo/common algo/dqn spec train evaluate record session draw study profile doctor; do
  rejects src/$room/a.cpp '"envs/cartpole.hpp"'
done

# However the path is written.
rejects src/net/a.cpp '<env/batch_env.hpp>'
rejects src/net/a.cpp '"src/env/batch_env.hpp"'
rejects src/net/a.cpp '"../core/arena.hpp"'
rejects src/net/a.cpp '"reference/dense.hpp"'

# Every existing folder, so that a new one is not forgotten above.
for folder in $(cd "$root" && find src -mindepth 1 -type d); do
  case $folder in
    src/cli*) rejects "$folder/a.cpp" '"bench/measure.hpp"' ;;
    src/algo) ;;  # has folders only
    *) rejects "$folder/a.cpp" '"cli/commands.hpp"' ;;
  esac
done

# A folder that is not in the order.
for file in src/attic/a.cpp src/algo/a.cpp; do
  fresh $file
  echo '#include <span>' >"$tree/$file"
  "$check" "$tree" 2>/dev/null && fail "$file has no place"
done

# full FOLDER N: a folder with N files.
full() {
  fresh "$1/a"
  for i in $(seq "$2"); do echo >"$tree/$1/file_$i.hpp"; done
}
full src/net/layers 25
"$check" "$tree" || fail "25 files are allowed"
full src/net/layers 26
output=$("$check" "$tree" 2>&1) && fail "26 files are too many"
[ "$output" = "src/net/layers: more than 25 files" ] || fail "the full folder is not named: $output"

fresh
seq 600 >"$tree/tests/long_test.cpp"
"$check" "$tree" || fail "600 lines are allowed"
echo >>"$tree/tests/long_test.cpp"
"$check" "$tree" 2>/dev/null && fail "601 lines are too many"

fresh
echo 'x = a.sqrt();' >"$tree/src/core/a.cpp"
"$check" "$tree" 2>/dev/null && fail "Eigen's sqrt() is not found"

fresh
echo 'fmt::print(stderr, "x");' >"$tree/src/core/a.cpp"
"$check" "$tree" 2>/dev/null && fail "fmt::print is not found"

exit $((failures > 0))
