#!/bin/bash
# cli_test.sh HOTLOOP WORK: the command line: exit codes, messages, and that no good file is lost.
set -u
here=$(cd -- "$(dirname -- "$0")" && pwd)
hotloop=$1 work=$2
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
. "$here/expect.sh"
small=(--steps 3000 --set evaluation.every=1000 --set evaluation.episodes=10 --quiet)

# Usage.
expect 0 "hotloop" "$hotloop" --help
expect 0 "0." "$hotloop" --version
expect 2 "did you mean train?" "$hotloop" trian cartpole_dqn
expect 2 "--help" "$hotloop" train
expect 2 "did you mean cartpole_dqn?" "$hotloop" train cartpole_dnq
expect 2 "hotloop train ENV --algo ppo" "$hotloop" train ppo
grep -q cartpole_dqn <<<"$output" && fail "specs listed for an algorithm"
expect 2 "did you mean algo.batch?" "$hotloop" train cartpole_dqn --set algo.bach=32
expect 2 "algo.gamma" "$hotloop" train cartpole_dqn --set algo.gamma=1.5
expect 2 "algo.batch" "$hotloop" train cartpole_dqn --set algo.batch=many
expect 2 "did you mean cartpole?" "$hotloop" train cartpole_dqn --set env.name=cartpol
expect 2 "pendulum takes 1 continuous action; dqn supports only discrete ones" "$hotloop" train cartpole_dqn --set env.name=pendulum
expect 2 "needs a target network" "$hotloop" train cartpole_dqn --set algo.double=true --set algo.target.every=0
expect 2 "belongs to algo.name: ddpg, dqn, sac, td3; algo.name is pqn here" "$hotloop" train cartpole_pqn --set algo.n_step=3
expect 2 "belongs to algo.name: ddpg, dqn, sac, td3; algo.name is ppo here" "$hotloop" train cartpole_ppo --set replay.capacity=5000
expect 2 "did you mean optimiser.learning_rate?" "$hotloop" train cartpole_dqn --set lr=0.001
expect 2 "did you mean algo.clip_range?" "$hotloop" train cartpole_ppo --set algo.clip_coef=0.1
expect 2 "did you mean classic?" "$hotloop" suite clasic
memory=$(awk '/MemTotal/ { printf "%d", $2 * 1024 }' /proc/meminfo)
if [ "$memory" -lt 90000000000 ]; then
  expect 2 "GiB" "$hotloop" train cartpole_dqn --set replay.capacity=4000000000
fi
expect 2 "no such spec or file" "$hotloop" train missing/file.yaml
expect 2 "did you mean specs?" "$hotloop" list spec
[ -x "${hotloop%/*}/hotloop_bench" ] && expect 2 "unknown benchmark" "$hotloop" bench updat
[ -e runs ] && fail "a refused request left a run folder"

# Lists.
expect 0 "cartpole_dqn_zoo" "$hotloop" list specs
expect 0 "cartpole" "$hotloop" list envs --json
expect 0 "gelu" "$hotloop" list activations

# Profiles.
expect 2 "did you mean profile?" "$hotloop" profil cartpole_dqn
expect 2 "did you mean cartpole_dqn?" "$hotloop" profile cartpole_dnq
expect 2 "--seconds" "$hotloop" profile cartpole_dqn --seconds 0
expect 2 "page.txt': must end in .html" "$hotloop" profile cartpole_dqn --html page.txt
expect 2 "missing" "$hotloop" profile cartpole_dqn --html missing/page.html
expect 2 "missing" "$hotloop" profile cartpole_dqn --trace missing/trace.json
expect 0 "of wall time" "$hotloop" profile cartpole_dqn --seconds 0.2 --seed 3 --trace trace.json
head -c 15 trace.json | grep -qF '{"traceEvents":' || fail "no trace"
expect 2 "--what-if 'eight': expected threads=N; allowed: 1 <= N <= 256" "$hotloop" profile cartpole_dqn --what-if eight
expect 2 "expected threads=N" "$hotloop" profile cartpole_dqn --what-if threads=0
expect 0 "what if there were 8 threads?" "$hotloop" profile cartpole_dqn_zoo --seconds 0.5 --what-if threads=8
expect 2 "expected an integer or auto, found many" "$hotloop" train cartpole_dqn --set run.threads=many
expect 0 "1 thread" "$hotloop" train cartpole_dqn --set run.threads=auto --steps 2000 --out auto --set evaluation.episodes=2
output=$("$hotloop" profile cartpole_dqn --seconds 0.2 --json --html page.html 2>/dev/null)
[[ "$output" == '{"spec":"cartpole_dqn"'*'"unaccounted_share":'*'}' && "$output" != *$'\n'* ]] ||
  fail "more than one JSON object: $output"
"$hotloop" profile cartpole_dqn --seconds 300 --json >stopped.json 2>/dev/null &
profile=$!
sleep 1 && kill -TERM "$profile" && wait "$profile"
code=$?
[ "$code" -eq 0 ] && grep -qF '"phases":[{' stopped.json ||
  fail "a stopped profile ended with $code: $(cat stopped.json)"
[ -z "$(ls runs 2>/dev/null)" ] || fail "a profile left a run folder"

# The doctor. Logging every step costs most of the time, whatever else the machine does.
expect 2 "did you mean doctor?" "$hotloop" docter cartpole_dqn
expect 2 "must end in .yaml" "$hotloop" doctor cartpole_dqn --apply out.txt
expect 2 "there is no folder" "$hotloop" doctor cartpole_dqn --apply missing/out.yaml
touch taken.yaml
expect 2 "already exists" "$hotloop" doctor cartpole_dqn --apply taken.yaml
expect 0 "log 100 times less often" "$hotloop" doctor cartpole_dqn --set run.log_every=1 --minutes 0.3 --quiet --apply cured.yaml
expect 0 "log_every: 100" cat cured.yaml
expect 0 "greedy return" "$hotloop" train cured.yaml "${small[@]}"
rm -r runs
expect 0 "none.yaml is not written" "$hotloop" doctor cartpole_dqn --minutes 0.05 --quiet --apply none.yaml
output=$("$hotloop" doctor cartpole_dqn --minutes 0.05 --json --quiet 2>/dev/null)
[[ "$output" == '{"spec":"cartpole_dqn"'*'"remedies":['*'}' && "$output" != *$'\n'* ]] ||
  fail "more than one JSON object: $output"
"$hotloop" doctor cartpole_dqn --minutes 5 --quiet >stopped.txt 2>/dev/null &
doctor=$!
sleep 22 && kill -TERM "$doctor" && wait "$doctor"
code=$?
[ "$code" -eq 0 ] && grep -qF 'partial results' stopped.txt ||
  fail "a stopped doctor ended with $code: $(cat stopped.txt)"

# Snake: options, scores, scripts, other boards, pictures.
expect 2 "did you mean grid?" "$hotloop" train snake_dqn_basic --set env.options.gird=8
expect 2 "did you mean env.options.grid?" "$hotloop" train snake_dqn_basic --set env.gird=8
expect 2 "allowed: one of basic, flood" "$hotloop" train snake_dqn_basic --set env.options.obs=flod
expect 2 "cartpole has no such option; it has none" "$hotloop" train cartpole_dqn --set env.options.grid=8
expect 0 "snake.lethal_tail" "$hotloop" list options
expect 0 '"score_last100":' "$hotloop" train snake_dqn_flood --set run.episodes=300 \
  --set evaluation.episodes=10 --out snake --quiet --json
snake=snake/snake_dqn_flood-1
expect 0 '"score":' "$hotloop" eval "$snake" --set env.options.grid=15 --episodes 5 --json
expect 2 "the model expects 13 observations and 3 actions" "$hotloop" eval "$snake" --set env.options.obs=basic
expect 2 "allowed: env.options.*" "$hotloop" eval "$snake" --set algo.gamma=0.5
expect 0 "score" "$hotloop" eval snake_dqn_basic --policy astar --episodes 5
expect 0 "score" "$hotloop" eval "$snake" --policy random --episodes 5
expect 2 "did you mean astar?" "$hotloop" eval snake_dqn_basic --policy astra

# Demonstrations: recorded, trained from, repeated from the run folder, refused before there is one.
expect 0 "recorded" "$hotloop" eval cartpole_dqn --policy random --episodes 20 --record demo.safetensors
expect 2 "no/where" "$hotloop" eval cartpole_dqn --policy random --episodes 2 --record no/where/demo.safetensors
demo=(--set replay.demonstrations=demo.safetensors)
"$hotloop" train cartpole_dqn "${small[@]}" "${demo[@]}" --json --out demo >demo.json
"$hotloop" train demo/cartpole_dqn-1/spec.yaml --quiet --json --out again >again.json
[ -n "$(hash_of demo.json)" ] && [ "$(hash_of demo.json)" = "$(hash_of again.json)" ] || fail "demonstrations: not repeated"
expect 2 "was recorded in cartpole; this run is on acrobot" "$hotloop" train acrobot_dqn "${demo[@]}" --out demo
expect 2 "replay.capacity: 100 is less than the" "$hotloop" train cartpole_dqn "${demo[@]}" --set replay.capacity=100 --out demo
expect 2 "belongs to algo.name" "$hotloop" train cartpole_ppo "${demo[@]}" --out demo
expect 2 "missing.safetensors" "$hotloop" train cartpole_dqn --set replay.demonstrations=missing.safetensors --out demo
"$hotloop" eval cartpole_dqn --policy random --episodes 3 --record demo/cartpole_dqn-1/demonstrations.safetensors >/dev/null
expect 2 "has changed: the hash of its content" "$hotloop" train demo/cartpole_dqn-1/spec.yaml --out demo
[ "$(ls demo)" = cartpole_dqn-1 ] || fail "a refused request left a run folder"
expect 0 "episode 1: return" "$hotloop" watch "$snake" --gif snake.gif --png snake.png
grep -q GIF89a snake.gif && grep -q PNG snake.png || fail "no pictures"
expect 0 "episode 2: return" "$hotloop" watch snake_dqn_basic --policy hamiltonian --episodes 2
expect 2 "cannot be drawn: it has no picture()" "$hotloop" watch sfc_best --policy random
expect 0 "episode 1: return" "$hotloop" watch cartpole_dqn --policy random --png cartpole.png
expect 0 "episode 1: return" "$hotloop" watch pendulum_ppo --policy random --gif pendulum.gif
cp "$snake/spec.yaml" snake.yaml
expect 0 "episode 1: return" "$hotloop" watch snake.yaml --policy astar
expect 0 "episode 1: return" "$hotloop" watch "$snake/model-best.safetensors" --policy astar
expect 0 "score" "$hotloop" eval "$snake/model-best.safetensors" --policy astar --episodes 5

# Comparing: models, scripts, another board; tables and figures.
for option in --seed --set --model; do expect 0 "$option" "$hotloop" compare --help; done
"$hotloop" train snake_dqn_flood --set run.episodes=300 --set evaluation.episodes=10 --seed 2 --out snake --quiet >out 2>&1
expect 0 "| 8 | **snake_dqn_flood**, 2 runs | 10 |" "$hotloop" compare "$snake" snake/snake_dqn_flood-2 \
  --against random,astar --vary env.options.grid=8,12 --episodes 5 --csv compare.csv --markdown compare.md --figure compare.svg
grep -qF "| 12 | astar | 5 |" <<<"$output" || fail "no script in $output"
[ "$output" = "$(cat compare.md)" ] || fail "compare.md differs from the output"
# 2 boards x (2 runs, pooled, 2 scripts) x (6 measures, return), and the heading.
[ "$(wc -l <compare.csv)" -eq 71 ] || fail "compare.csv has $(wc -l <compare.csv) lines"
[ "$(grep -c '<circle' compare.svg)" -eq 6 ] || fail "compare.svg"
# Runs of one name are pooled only if nothing but the seed differs.
for algorithm in ppo dqn; do
  "$hotloop" train cartpole --algo $algorithm "${small[@]}" --set evaluation.every=0 --out pool >out 2>&1
done
"$hotloop" train cartpole --algo dqn "${small[@]}" --set run.log_every=100 --seed 2 --out pool >out 2>&1
expect 0 "| cartpole (ppo), seed 1 |" "$hotloop" compare pool/cartpole-{1,2,3} --model latest --episodes 2
grep -qF "| **cartpole (dqn)**, 2 runs |" <<<"$output" || fail "pooled: $output"
# The same starts as eval, and the same numbers.
mean=$("$hotloop" eval "$snake" --episodes 5 --seed 7 --json | grep -o '"score":[0-9.]*' | head -n 1 | cut -d: -f2)
expect 0 "\"score\":{\"mean\":$mean," "$hotloop" compare "$snake/model-best.safetensors" --episodes 5 --seed 7 --json
expect 0 "| policy | episodes | return |" "$hotloop" compare cartpole_dqn --against random --episodes 5
expect 0 "| policy | episodes | won |" "$hotloop" compare snake.yaml --against astar,direct --episodes 5 --measure won
expect 2 "did you mean astar?" "$hotloop" compare "$snake" --against astra
expect 2 "random is given twice" "$hotloop" compare "$snake" --against random,random
expect 2 "need commas: --against random,astar" "$hotloop" compare "$snake" --against random astar
expect 2 "did you mean score?" "$hotloop" compare "$snake" --measure scor
expect 2 "--vary env.options.gird=8: " "$hotloop" compare "$snake" --vary env.options.gird=8,12
grep -q "did you mean grid?" <<<"$output" || fail "no grid in $output"
expect 2 "--vary env.options.grid=80: " "$hotloop" compare "$snake" --set env.options.max_steps=50 --vary env.options.grid=8,80
expect 2 "--vary: with these options" "$hotloop" compare "$snake" --vary env.options.obs=flood,basic
expect 2 "hotloop: env.options.grid: found 80" "$hotloop" compare "$snake" --set env.options.grid=80 --vary env.options.obs=flood
expect 2 "8 is given twice" "$hotloop" compare "$snake" --vary env.options.grid=8,8
expect 2 "a value is empty" "$hotloop" compare "$snake" --vary env.options.grid=8,
expect 2 "found 80; allowed: integer" "$hotloop" compare "$snake" --vary env.options.grid=8,80
expect 2 "allowed: options of the environment" "$hotloop" compare "$snake" --vary algo.gamma=0.5,0.9
expect 2 "allowed: options of the environment" "$hotloop" compare "$snake" --set algo.gamma=0.5
expect 2 "the model expects 13 observations and 3 actions" "$hotloop" compare "$snake" --vary env.options.obs=flood,basic
expect 2 "did you mean snake_best?" "$hotloop" compare snake_bset --against random
expect 2 "there is no folder 'missing'" "$hotloop" suite classic --figure missing/a.svg

# Named inputs: trained, evaluated and compared, and worlds that differ.
sfc_run="--quiet --set run.steps=600 --set evaluation.every=0 --set evaluation.episodes=2 --set env.options.max_steps=50 --set algo.learning_starts=100"
expect 0 "greedy return" "$hotloop" train sfc_best --out sfc $sfc_run
expect 0 "greedy return" "$hotloop" train sfc_best --out sfc $sfc_run --set env.options.scale=off
expect 0 "greedy return" "$hotloop" train sfc_best --out sfc $sfc_run --set env.options.rounds=2
expect 0 "  utilisation" "$hotloop" eval sfc/sfc_best-1 --episodes 3 --set env.options.centres=3
expect 0 "| 2 | heuristic | 2 |" "$hotloop" compare sfc/sfc_best-1 sfc/sfc_best-2 --against random,heuristic,greedy \
  --vary env.options.centres=2,8 --episodes 2
expect 2 "different env.options.rounds" "$hotloop" compare sfc/sfc_best-1 sfc/sfc_best-3
expect 2 "did you mean global?" "$hotloop" train sfc_best --set "net.branches={h: {from: globel}}"
expect 2 "'snake_best' is a spec: give run folders" "$hotloop" compare snake_best
expect 2 "give a spec alone, with --against" "$hotloop" compare "$snake" snake_best
expect 2 "is given twice" "$hotloop" compare "$snake" "$snake/"
expect 2 "figure must end in .svg" "$hotloop" compare "$snake" --figure compare.png
expect 2 "there is no folder 'missing'" "$hotloop" compare "$snake" --episodes 2 --csv missing/compare.csv

# A suite with its curves.
cat >suite.yaml <<'YAML'
seeds: 2
figure: {y: score}
rows:
  - {title: "plain, basic", spec: snake_dqn_basic, set: [run.episodes=1000, evaluation.every=1000, evaluation.episodes=10]}
YAML
expect 0 "greedy score, median" "$hotloop" suite suite.yaml --quiet --figure suite.svg --csv suite.csv
grep -q '"plain, basic",2,' suite.csv && grep -q polyline suite.svg || fail "no curves"
expect 2 "figure must end in .svg" "$hotloop" suite suite.yaml --figure suite.pdf
# Games that are cut short do not continue in the next one.
cut=(watch snake.yaml --policy direct --set evaluation.max_steps=4)
third=$("$hotloop" "${cut[@]}" --seed 7 --episodes 3 | sed -n 's/^episode 3: //p')
expect 0 "${third:-no third game}" "$hotloop" "${cut[@]}" --seed 9

# Graphs of neurons: training, description, pictures, files.
expect 0 "38 neurons, 172 edges, depth 30" "$hotloop" train topology_tuned --steps 3000 --out graphs
graph=graphs/topology_tuned-1
expect 0 '"depth":30' "$hotloop" inspect "$graph" --json --picture graph.svg
expect 0 '"clustering":0.54' cat "$graph/graph.json"
expect 2 "has no snapshots" "$hotloop" inspect "$graph" --picture graph.gif
expect 0 "graphs/topology_tuned-2" "$hotloop" train topology_tuned --steps 3000 --set run.snapshot_every=10 --out graphs
expect 0 "topology_tuned" "$hotloop" inspect graphs/topology_tuned-2 --picture graph.gif
[ "$(find graphs/topology_tuned-2/snapshots -name '*.safetensors' | wc -l)" -ge 5 ] && grep -q GIF89a graph.gif ||
  fail "no film"
grep -q "</svg>" graph.svg || fail "no picture"
printf '# inputs 4 hidden 1000000000 outputs 2\n0 4\n' > huge.edges
expect 2 "at most 100000 neurons" "$hotloop" train topology_tuned --set net.graph.file=huge.edges
expect 2 "expected one YAML document" "$hotloop" train topology_tuned --set net.graph.degree=,
echo "[0.1, 0.2, 0.3, 0.4]" > obs.json
expect 0 '"activations":[0.1' "$hotloop" inspect "$graph" --activations obs.json
echo "[0.1, 0.2]" > obs.json
expect 2 "expected a JSON array of 4 numbers" "$hotloop" inspect "$graph" --activations obs.json
expect 2 "picture must end in .svg or .png" "$hotloop" inspect "$graph" --picture graph.pdf
expect 2 "net.graph.degree" "$hotloop" train topology_tuned --set net.graph.degree=32
printf '# inputs 4 outputs 2\n0 4\n1 4\n2 4\n3 4\n4 5\n4 6\n' > tiny.edges
expect 0 "7 neurons, 6 edges" "$hotloop" train topology_tuned --steps 3000 --set net.graph.file=tiny.edges --out graphs
printf '# inputs 4 outputs 2\n0 4\n1 4\n2 4\n3 4\n4 5\n5 4\n4 6\n' > tiny.edges
expect 2 "tiny.edges" "$hotloop" train topology_tuned --set net.graph.file=tiny.edges

# Colonies: every episode in a file, charts, other fields, a film with the actions.
small_forest="{tokens: {from: [graph, nodes, edges, parents], layers: [forest 8 rounds 1 heads 2 groups 2]}, \
  critic: {from: tokens, layers: [row 1, dense 8]}, actor: {from: tokens, layers: [flatten, dense 8]}}"
expect 0 "greedy return" "$hotloop" train durotaxis --steps 4096 --set evaluation.every=0 --set evaluation.episodes=2 \
  --set env.max_steps=60 --set "net.branches=$small_forest" --quiet --out colony
colony=colony/durotaxis-1
grep -q '"ratio":' "$colony/episodes.jsonl" || fail "no episodes"
grep -q "max_steps: 60" "$colony/spec.yaml" || fail "env.max_steps was lost"
expect 0 "24 charts" "$hotloop" plot "$colony" --out colony.svg
grep -q ">gamma<" colony.svg && grep -q polyline colony.svg || fail "no charts"
expect 0 "3 charts" "$hotloop" plot "$colony" --out colony.svg --episodes --show return,ratio,gamma
grep -q polygon colony.svg || fail "no band"
expect 2 "did you mean gamma?" "$hotloop" plot "$colony" --out colony.svg --show gama
expect 2 "figure must end in .svg" "$hotloop" plot "$colony" --out colony.png
expect 2 "not a run folder" "$hotloop" plot . --out colony.svg
expect 2 "run.episode_log=true" "$hotloop" plot "$snake" --out snake.svg --episodes
expect 0 "2 charts" "$hotloop" plot "$snake" --out snake.svg --show score,loss
for field in exponential random; do
  expect 0 "\"substrate\":\"$field\"" "$hotloop" eval "$colony" --set env.substrate=$field --episodes 2 --json
  long=$("$hotloop" eval "$colony" --set env.options.substrate=$field --episodes 2 --json)
  [ "$output" = "$long" ] || fail "env.substrate is not env.options.substrate"
done
expect 0 '"substrate":"exponential"' "$hotloop" eval durotaxis --policy fixed --set env.substrate=exponential --episodes 2 --json
expect 0 "| exponential | fixed |" "$hotloop" compare "$colony" --against fixed --vary env.substrate=linear,exponential \
  --set env.max_steps=20 --episodes 2
expect 2 "allowed: env.options.*" "$hotloop" eval "$colony" --set env.count=3
expect 2 "allowed: options of the environment" "$hotloop" compare "$colony" --set env.count=3
expect 2 "did you mean env.options.substrate?" "$hotloop" train durotaxis --set env.substrat=random
expect 0 "episode 1: return" "$hotloop" watch "$colony" --gif colony.gif --png colony.png --scale 1 --set env.max_steps=20
# 150 x 100 for the field, 10 for the bar, 5 x 8 for the actions: the sizes in both headers.
[ "$(od -An -tu2 -j6 -N4 colony.gif | xargs)" = "150 150" ] && [ "$(od -An -tu1 -j16 -N8 colony.png | xargs)" = "0 0 0 150 0 0 0 150" ] ||
  fail "no strips of actions"

# A run, its JSON, its evaluation, its files.
expect 0 '"params_hash":"' "$hotloop" train "${small[@]}" --json cartpole_dqn
json=$("$hotloop" train cartpole_dqn "${small[@]}" --json 2>/dev/null | tail -n 1)
for key in spec seed env_steps updates episodes wall_seconds env_steps_per_second updates_per_second \
  eval_return_mean eval_return_std solved solved_env_steps solved_seconds params_hash run_dir; do
  grep -q "\"$key\":" <<<"$json" || fail "no $key in $json"
done
run=runs/cartpole_dqn-1
for file in spec.yaml run.json metrics.jsonl result.json model-best.safetensors model-latest.safetensors; do
  [ -s "$run/$file" ] || fail "no $run/$file"
done
mean=$(grep -o '"eval_return_mean":[0-9.]*' "$run/result.json" | cut -d: -f2)
expect 0 "\"return_mean\":$mean," "$hotloop" eval "$run" --model latest --json
expect 0 "checksum intact" "$hotloop" inspect "$run"
expect 1 "standard output" bash -c "'$hotloop' train cartpole_dqn ${small[*]@Q} --json >/dev/full"
expect 0 "layer0.weight" "$hotloop" inspect "$run/model-best.safetensors"
expect 2 "does not exist" "$hotloop" inspect nothing
expect 2 "not a run folder" "$hotloop" resume .
expect 2 "must end in .gif" "$hotloop" watch "$run" --gif game.txt
expect 2 "nowhere" "$hotloop" watch "$run" --gif nowhere/game.gif
expect 2 "expected an integer, 0 to" "$hotloop" train cartpole_dqn --seed -1
expect 2 "expected an integer, 0 to" "$hotloop" eval "$run" --seed 18446744073709551616
expect 0 "cartpole" "$hotloop" train cartpole --steps 3000 --out plain --quiet
expect 2 "fewer than the" "$hotloop" resume "$run" --steps 2000
"$hotloop" train cartpole_dqn --steps 3001 --set env.count=7 --set algo.train_every=7 --out beyond >/dev/null 2>&1
rm beyond/cartpole_dqn-1/result.json
expect 0 '"env_steps":3003,' "$hotloop" resume beyond/cartpole_dqn-1 --json
"$hotloop" train cartpole_dqn "${small[@]}" --out twin >/dev/null 2>&1
expect 2 "not a checkpoint of this run" "$hotloop" resume "$run" --checkpoint "$(ls twin/cartpole_dqn-1/checkpoints/* | tail -n 1)"
: >twin/cartpole_dqn-1/result.json
expect 0 "damaged" "$hotloop" inspect twin/cartpole_dqn-1
expect 0 "eval_return_mean" "$hotloop" train cartpole_dqn "${small[@]}" --out "$(printf 'path\xff')" --json
expect 0 "| cartpole_dqn, seed 1 | 30 |" "$hotloop" compare "$run" --model latest --against random
expect 2 "nothing to compare" "$hotloop" compare "$snake" "$run"
lines=$("$hotloop" train cartpole_dqn "${small[@]}" --seeds 3 --json 2>/dev/null | grep -c '"seed":')
[ "$lines" -eq 3 ] || fail "--seeds 3 printed $lines lines"
# Several seeds at a time: one folder per seed, complete lines, the same bits.
hashes() { grep -o '"seed":[0-9]*\|"params_hash":"[0-9a-f]*"\|-[0-9]*","cpu"' | paste -sd '  \n' | sort; }
"$hotloop" train cartpole_dqn "${small[@]}" --seeds 5 --json --out turns 2>/dev/null | hashes >turns.txt
"$hotloop" train cartpole_dqn "${small[@]}" --seeds 5 --jobs 3 --json --out once 2>/dev/null | hashes >once.txt
[ "$(wc -l <once.txt)" -eq 5 ] && cmp -s turns.txt once.txt ||
  fail "--jobs 3 is not the same: $(cat turns.txt once.txt)"
expect 0 "seed 4: " "$hotloop" train cartpole_dqn "${small[@]}" --seeds 4 --jobs 2 --out once
expect 1 "standard output" bash -c "'$hotloop' train cartpole_dqn ${small[*]@Q} --seeds 2 --jobs 2 --json >/dev/full"
expect 1 "hotloop: seed 2 failed: " "$hotloop" train cartpole_dqn "${small[@]}" --seeds 2 --jobs 2 --out once \
  --set optimiser.name=sgd --set optimiser.learning_rate=10 --set algo.loss=mse
env --default-signal=INT "$hotloop" train cartpole_dqn --steps 100000000 --set evaluation.stop_when_solved=false --quiet --seeds 4 --jobs 2 \
  --out both >out 2>&1 &
pid=$!
for _ in $(seq 100); do
  compgen -G "both/cartpole_dqn-2/checkpoints/*" >/dev/null && break
  sleep 0.1
done
sleep 0.2
kill -s INT "$pid"
wait "$pid"
code=$?
[ "$code" -eq 130 ] && grep -q "hotloop resume both/cartpole_dqn-1" out && grep -q "hotloop resume both/cartpole_dqn-2" out &&
  grep -q "not started: seeds 3 to 4" out || fail "two at a time, stopped: exit $code, $(cat out)"

# Ctrl-C, SIGTERM and a closed terminal save and say how to resume. (Background jobs of a script ignore SIGINT.)
for signal in INT TERM HUP; do
  env --default-signal=INT "$hotloop" train cartpole_dqn --steps 100000000 --set evaluation.stop_when_solved=false --quiet \
    --out stopped$signal >out 2>&1 &
  pid=$!
  for _ in $(seq 100); do
    compgen -G "stopped$signal/cartpole_dqn-1/checkpoints/*" >/dev/null && break
    sleep 0.1
  done
  sleep 0.2
  kill -s "$signal" "$pid"
  wait "$pid"
  code=$?
  if [ "$code" -ne $((128 + $(kill -l "$signal"))) ] || ! grep -q "hotloop resume stopped$signal/cartpole_dqn-1" out ||
    ! grep -q "stopping as soon as everything is saved" out; then
    fail "SIG$signal gave exit $code and: $(cat out)"
  fi
  steps=$("$hotloop" inspect stopped$signal/cartpole_dqn-1 --json | grep -o '"counters":{"env_steps":[0-9]*' | tail -n 1 | grep -o '[0-9]*$')
  expect 0 "env steps" "$hotloop" resume stopped$signal/cartpole_dqn-1 --steps $((steps + 1000)) --quiet
done

# A full disk (simulated by a limit on file sizes): one message, and the good checkpoint stays.
"$hotloop" train cartpole_dqn "${small[@]}" --out disk >/dev/null 2>&1
good=$(ls disk/cartpole_dqn-1/checkpoints | tail -n 1)
before=$(sha256sum "disk/cartpole_dqn-1/checkpoints/$good")
output=$(ulimit -f 16; "$hotloop" resume disk/cartpole_dqn-1 --steps 9000 --quiet 2>&1)
code=$?
if [ "$code" -ne 1 ] || ! grep -q "File too large" <<<"$output"; then
  fail "a full disk gave exit $code and: $output"
fi
[ "$before" = "$(sha256sum "disk/cartpole_dqn-1/checkpoints/$good")" ] ||
  fail "the good checkpoint was damaged"
expect 0 "env steps" "$hotloop" resume disk/cartpole_dqn-1 --steps 9000 --quiet

# Damaged and foreign files.
cp -r "$run" cut && truncate -s -1 cut/checkpoints/*3*.safetensors
expect 1 "truncated" "$hotloop" resume cut --steps 5000
expect 1 "DAMAGED" "$hotloop" inspect cut
printf 'not a checkpoint' >cut/checkpoints/9999999999999999.safetensors
expect 1 "9999999999999999" "$hotloop" resume cut --steps 5000
"$hotloop" train cartpole_dqn "${small[@]}" --set 'net.hidden=[8]' --out other >/dev/null 2>&1
rm cut/checkpoints/* && cp other/cartpole_dqn-1/checkpoints/*3000* cut/checkpoints/ 2>/dev/null ||
  cp "$(ls other/cartpole_dqn-1/checkpoints/* | tail -n 1)" cut/checkpoints/
expect 1 "another spec or network" "$hotloop" resume cut --steps 5000
expect 1 "cannot create a run folder" "$hotloop" train cartpole_dqn "${small[@]}" --out "$run/spec.yaml"

finish "the command line"
