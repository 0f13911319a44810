#!/bin/sh
# fuzz.sh MINUTES [TARGET…]: runs fuzz targets (tests/fuzz), all or those named, for MINUTES of CPU time each,
# with address and undefined-behaviour sanitizers. Installs what is missing, builds in build/fuzz. New inputs
# go to build/fuzz/corpus/TARGET, crashes to build/fuzz/crashes/TARGET. Prints for each target the
# executions, the edges covered, the crashes and the CPU time; exits with 1 if there was a crash.
#
# To keep a crash as a regression test, copy its input to tests/fuzz/corpus/TARGET.

self=$(readlink -f -- "$0")
root=${self%/tools/*}
case $1 in
  '' | *[!0-9]*)
    echo "usage: tools/fuzz.sh MINUTES [TARGET…]" >&2
    exit 2
    ;;
esac
minutes=$1
shift
. "$root/tools/setup.sh"
build=$root/build/fuzz
log=$build/build.log
package_lists="packages.txt fuzz_packages.txt"

mkdir -p "$build" && : >"$log" && install_packages || exit 1
say "building the fuzz targets (the first build takes a while) …"
if ! { cmake --preset fuzz -S "$root" -B "$build" &&
  cmake --build "$build" --parallel "$(nproc)" --target fuzz; } >>"$log" 2>&1; then
  tail -n 50 "$log" >&2
  exit 1
fi

# The CPU time of all children so far, in seconds. No subshell: it has no children.
count_cpu() {
  times >"$build/times.$$"
  cpu=$(awk 'NR == 2 { split($1 "m" $2, t, /[ms]+/); printf "%d", t[1] * 60 + t[2] + t[3] * 60 + t[4] }' \
    "$build/times.$$")
  rm "$build/times.$$"
}

[ $# -gt 0 ] || set -- $(cd "$root/tests/fuzz" && ls ./*_target.cpp | sed 's|^./||; s|_target.cpp$||')
failed=0
for target; do
  [ -x "$build/tests/fuzz/fuzz_$target" ] || { say "no such target: $target"; exit 2; }
  corpus=$build/corpus/$target
  crashes=$build/crashes/$target
  mkdir -p "$corpus" "$crashes"
  count_cpu
  before=$cpu
  executions=0
  : >"$build/$target.log"
  # libFuzzer counts wall time, so it runs in pieces. Forked workers continue after a crash; an input may take
  # 10 s and 2 GB.
  while [ $((cpu - before)) -lt $((minutes * 60)) ]; do
    left=$((minutes * 60 - cpu + before))
    "$build/tests/fuzz/fuzz_$target" -fork=1 -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1 \
      -max_total_time=$((left < 300 ? left : 300)) -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
      -artifact_prefix="$crashes/" "$corpus" "$root/tests/fuzz/corpus/$target" \
      >"$build/$target.piece" 2>&1
    cat "$build/$target.piece" >>"$build/$target.log"
    last=$(grep '^#' "$build/$target.piece" | tail -n 1)
    [ -n "$last" ] || break  # it could not run
    executions=$((executions + $(printf '%s' "$last" | sed 's/^#\([0-9]*\).*/\1/')))
    count_cpu
  done
  # On a busy machine, only 10 s of CPU time make an input too slow.
  for input in "$crashes"/timeout-* "$crashes"/slow-unit-*; do
    [ -e "$input" ] || continue
    (ulimit -t 10 && "$build/tests/fuzz/fuzz_$target" -timeout=0 -rss_limit_mb=2048 "$input") \
      >>"$build/$target.log" 2>&1 && rm "$input"
  done
  edges=$(printf '%s' "$last" | sed -n 's/.* cov: \([0-9]*\).*/\1/p')
  found=$(find "$crashes" -type f | wc -l)
  count_cpu
  printf '%-12s %s executions, %s edges, %s crashes, %s s of CPU time\n' "$target" "$executions" \
    "${edges:-0}" "$found" $((cpu - before))
  [ "$found" -eq 0 ] && [ "$executions" -gt 0 ] || failed=1
done
exit $failed
