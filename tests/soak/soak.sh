#!/bin/bash
# soak.sh HOTLOOP [STEPS] [cheap|learning] [WORK]: a very long run, whose rate and memory must stay flat.
#
#   cheap      10^9 env steps unless STEPS says otherwise: CartPole with 64 environments and one update per
#              1,000 steps. The cheapest environment reaches counters, files and schedules that few runs reach,
#              in minutes. Metrics are logged every 1,000 steps, 50 times as often per second as usual.
#   learning   10^7 env steps: CartPole by Double DQN with priorities, 4 updates per vector step of 64
#              environments, two threads and pipelining: the memory, the tree and the optimiser wear out first.
#
# Prints the rates in the first and last tenth of the run, in steps per second and per second of CPU time (the
# latter does not depend on what else the machine does), the slope of the resident memory without the first
# tenth, and the size of the run folder. Fails if the last tenth is more than 10 % slower per CPU second, or the
# memory grows by more than 1 MiB per 10^8 steps. Not part of ./test.
set -u
hotloop=$(realpath "$1")
kind=${3:-cheap}
case $kind in
  cheap) steps=${2:-1000000000} settings=(cartpole_dqn --set env.count=64 --set algo.train_every=1024
                                          --set algo.updates_per_step=0.001) ;;
  learning) steps=${2:-10000000} settings=(cartpole_ddqn_per --set env.count=64 --set algo.train_every=64
                                           --set algo.updates_per_step=0.0625 --set algo.pipelined=true
                                           --set run.threads=2) ;;
  *) echo "soak.sh: $kind: expected cheap or learning" >&2; exit 2 ;;
esac
work=${4:-$(mktemp -d)}
rm -rf "$work/soak"
mkdir -p "$work"
"$hotloop" train "${settings[@]}" --steps "$steps" --set evaluation.stop_when_solved=false \
  --set evaluation.every=$((steps / 20)) --set evaluation.episodes=5 --quiet --json --out "$work/soak" \
  >"$work/result.json" 2>"$work/messages" &
pid=$!
trap 'kill "$pid" 2>/dev/null' EXIT
run=$work/soak/${settings[0]}-1

# One line per second: wall seconds, CPU seconds, env steps, resident KiB.
tick=$(getconf CLK_TCK)
while kill -0 "$pid" 2>/dev/null; do
  stat=$(cat "/proc/$pid/stat" 2>/dev/null) || break
  read -r -a fields <<<"${stat##*) }"
  resident=$(awk '/VmRSS/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
  done_steps=$(tail -n 1 "$run/metrics.jsonl" 2>/dev/null | grep -o '"env_steps":[0-9]*' | head -n 1 | cut -d: -f2)
  [ -n "$done_steps" ] && [ -n "$resident" ] &&
    echo "$(date +%s.%N) $(awk -v t="$tick" -v a="${fields[11]}" -v b="${fields[12]}" 'BEGIN { print (a + b) / t }') $done_steps $resident"
  sleep 1
done >"$work/samples"
wait "$pid"
code=$?
if [ "$code" -ne 0 ]; then
  echo "soak.sh: exit $code: $(cat "$work/messages")"
  exit 1
fi
awk -v total="$steps" -v kind="$kind" -v metrics="$(stat -c %s "$run/metrics.jsonl")" \
  -v rows="$(wc -l <"$run/metrics.jsonl")" -v folder="$(du -sb "$run" | cut -f1)" '
  { wall[NR] = $1; cpu[NR] = $2; step[NR] = $3; kib[NR] = $4 }
  function rate(clock, from, to) { return clock[to] > clock[from] ? (step[to] - step[from]) / (clock[to] - clock[from]) : 0 }
  END {
    if (NR < 20) { print "soak.sh: too short: " NR " samples"; exit 1 }
    for (i = 1; i <= NR && step[i] < total / 10; ++i) first = i
    for (i = NR; i >= 1 && step[i] > total * 0.9; --i) last = i
    for (i = first; i <= NR; ++i) { n += 1; x += step[i]; y += kib[i]; xx += step[i] ^ 2; xy += step[i] * kib[i] }
    slope = (n * xy - x * y) / (n * xx - x * x) * 1e8
    early = rate(cpu, 1, first); late = rate(cpu, last, NR)
    printf "%s: %d env steps in %.0f s, %.0f s of CPU time\n", kind, step[NR], wall[NR] - wall[1], cpu[NR]
    printf "  steps per second      %10.0f in the first tenth, %10.0f in the last\n", rate(wall, 1, first), rate(wall, last, NR)
    printf "  steps per CPU second  %10.0f in the first tenth, %10.0f in the last (%+.1f %%)\n", early, late, 100 * (late / early - 1)
    printf "  resident memory       %10d KiB after the first tenth, %10d at the end, slope %+.0f KiB per 10^8 steps\n", kib[first], kib[NR], slope
    printf "  metrics.jsonl         %10d bytes, %d rows; run folder %d bytes\n", metrics, rows, folder
    exit late < 0.9 * early || slope > 1024
  }' "$work/samples"
