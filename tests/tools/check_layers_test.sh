#!/bin/sh
# check_layers_test.sh ROOT WORK: the layer check accepts a tree that keeps the rules, and names
# each kind of offence in one that does not.

check=$1/tools/check_layers.sh
tree=$2
failures=0

fresh() {
  rm -rf "$tree"
  mkdir -p "$tree/include/hotloop" "$tree/tests"
  for folder in core env envs net memory algo run doctor cli; do mkdir -p "$tree/src/$folder"; done
}

# accepts FILE INCLUDE / rejects FILE INCLUDE: a tree whose only file includes just that.
accepts() {
  fresh
  printf '#include %s\n' "$2" >"$tree/$1"
  "$check" "$tree" 2>/dev/null && return
  echo "rejected although allowed: $1 includes $2"
  failures=$((failures + 1))
}
rejects() {
  fresh
  printf '#include <span>\n#include %s\n' "$2" >"$tree/$1"
  if said=$("$check" "$tree" 2>&1); then
    echo "accepted although forbidden: $1 includes $2"
  elif ! printf '%s\n' "$said" | grep -qF "$1:2:"; then
    echo "the offence of $1 is not named: $said"
  else
    return
  fi
  failures=$((failures + 1))
}

accepts src/env/a.hpp '"core/arena.hpp"'
accepts src/envs/a.cpp '"env/registry.hpp"'
accepts src/net/a.cpp '<Eigen/Core>'
accepts src/algo/a.cpp '"memory/replay.hpp"'
accepts src/run/a.cpp '"algo/dqn.hpp"'
accepts src/cli/a.cpp '"doctor/a.hpp"'
accepts src/core/a.hpp '<hotloop/rng.hpp>'

rejects src/core/a.hpp '"env/registry.hpp"'
rejects src/net/a.cpp '"env/batch_env.hpp"'
rejects src/net/a.cpp '<env/batch_env.hpp>'
rejects src/net/a.cpp '"src/env/batch_env.hpp"'
rejects src/envs/a.cpp '"net/plan.hpp"'
rejects src/env/a.cpp '"envs/cartpole.hpp"'
rejects src/memory/a.cpp '"net/plan.hpp"'
rejects src/algo/a.cpp '"run/trainer.hpp"'
rejects src/doctor/a.cpp '"cli/main.hpp"'
rejects src/run/a.cpp '"doctor/a.hpp"'
rejects src/net/a.cpp '"reference/dense.hpp"'
rejects src/net/a.cpp '"../core/arena.hpp"'
rejects include/hotloop/a.hpp '"core/arena.hpp"'

fresh
seq 600 >"$tree/tests/long_test.cpp"
"$check" "$tree" 2>/dev/null || { echo "600 lines are allowed" && failures=$((failures + 1)); }
echo >>"$tree/tests/long_test.cpp"
"$check" "$tree" 2>/dev/null && { echo "601 lines are too many" && failures=$((failures + 1)); }

exit $((failures > 0))
