#!/bin/bash
# cpu_test.sh HOTLOOP WORK NATIVE: results do not depend on the vector width of the CPU. Matrix products are
# compiled at run time, for this CPU or, on request, for one without AVX-512: the parameters must be the same,
# to the bit. (On a CPU without AVX-512 both take the same path.) Two runs of a NATIVE build must end as they
# did on other machines with the libraries of Debian 12: the first, with prioritised replay, on an AMD EPYC
# with and without AVX-512; the second on an Intel with and without AVX-512, and on an AMD Zen 3.
set -u
here=$(cd -- "$(dirname -- "$0")" && pwd)
hotloop=$1 work=$2 native=$3
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
. "$here/expect.sh"
# SPEC STEPS [SETTINGS]…
compare() {
  spec=$1 steps=$2
  shift 2
  for target in "" hsw; do
    LIBXSMM_TARGET=$target "$hotloop" train "$spec" --steps "$steps" "$@" --set evaluation.episodes=5 --quiet --json \
      --out "runs$target" | grep -o '"params_hash":"[0-9a-f]*"' >"hash$target"
  done
  if [ -s hash ] && cmp -s hash hashhsw; then
    echo "$spec: $(cat hash)"
  else
    fail "$spec: $(cat hash) for this CPU, $(cat hashhsw) without AVX-512"
  fi
}
# HASH SPEC STEPS [SETTINGS]…
expect_hash() {
  expected=$1
  shift
  compare "$@"
  if [ "$native" = 0 ] || [ "$(uname -m)" != x86_64 ] ||
    ! grep -qs "Debian GNU/Linux 12" /etc/os-release; then
    return
  fi
  if ! grep -q "$expected" hash; then
    fail "$1: $(cat hash), on other CPUs $expected"
  fi
}
compare cartpole_dqn 8000 --set evaluation.stop_when_solved=false
compare cartpole_dqn 4000 --set algo.batch=8 --set env.count=1
expect_hash 508aa153c777940f cartpole_rainbow 3000
expect_hash f3f3ffcc515345c9 cartpole_pqn 20000 --set evaluation.stop_when_solved=false
compare acrobot_ppo 40000 --set evaluation.stop_when_solved=false
compare snake_dqn_cnn 3000 --set env.count=16
compare sfc_before 300 --set algo.batch=16
compare durotaxis 2048
compare topology_tuned 3000
finish "CPUs"
