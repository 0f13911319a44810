#!/bin/bash
# gallery_test.sh HOTLOOP WORK SOURCE: every world of examples/ passes `check` and is learnt.
set -u
here=$(cd -- "$(dirname -- "$0")" && pwd)
hotloop=$1 work=$2 source=$3
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
export XDG_CACHE_HOME=$work/cache XDG_STATE_HOME=$work/state
. "$here/expect.sh"
# name, minimum greedy return, settings
while read -r name least settings; do
  file=$source/examples/$name.cpp
  [ "$(wc -l <"$file")" -le 60 ] || fail "$name has more than 60 lines"
  output=$("$hotloop" check "$file" --steps 60 2>&1) || fail "$name: $output"
  json=$("$hotloop" train "$file" --quiet --json $settings 2>err | tail -n 1)
  got=$(grep -o '"eval_return_mean":[-0-9.e]*' <<<"$json" | cut -d: -f2)
  awk -v got="${got:-nothing}" -v least="$least" 'BEGIN { exit !(got != "nothing" && got + 0 >= least) }' ||
    fail "$name: greedy return ${got:-none}, expected at least $least $(cat err)"
  echo "$name: greedy return $got, at least $least"
done <<GALLERY
corridor 0.8 --steps 20000
grid_world 0.5 --steps 60000
pendulum_swing_up 80 --steps 150000
five_tricks 2.9 --steps 40000
forager 4 --algo ppo --steps 150000
GALLERY
[ "$(ls "$source"/examples/*.cpp | wc -l)" -eq 5 ] || fail "a world of examples/ is not tested"
finish "examples"
