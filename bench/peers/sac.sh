#!/bin/sh
# sac.sh [ARGS]: compares hotloop with Stable-Baselines3, SBX and RLtools on continuous control; see sac.py for ARGS.
# Makes its own virtual environments in build/peers (PyTorch takes about 3 GB in each of two).
set -eu
root=$(cd "$(dirname -- "$0")/../.." && pwd)
here=$root/bench/peers
work=$root/build/peers
mkdir -p "$work/rltools"

"$root/hotloop" --version >/dev/null # builds and installs what the engine needs

for name in sac-sb3 sac-sbx sac-rltools; do
  if ! cmp -s "$here/requirements-$name.txt" "$work/$name/.made-from"; then
    echo "making the virtual environment build/peers/$name …" >&2
    python3 -m venv --clear "$work/$name"
    "$work/$name/bin/pip" install -q --disable-pip-version-check -r "$here/requirements-$name.txt"
    cp "$here/requirements-$name.txt" "$work/$name/.made-from"
  fi
done
"$work/sac-sb3/bin/pip" install -q --disable-pip-version-check "$root"
export TMPDIR="$work/rltools" # where RLtools keeps what it compiles
exec "$work/sac-sb3/bin/python" "$here/sac.py" --sbx "$work/sac-sbx/bin/python" \
  --rltools "$work/sac-rltools/bin/python" "$@"
