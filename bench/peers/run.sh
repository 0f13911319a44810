#!/bin/sh
# run.sh [ARGS]: compares hotloop with Stable-Baselines3 and CleanRL, same settings, interleaved; see peers.py
# for ARGS. Makes its own virtual environments in build/peers (PyTorch takes about 3 GB).
set -eu
root=$(cd "$(dirname -- "$0")/../.." && pwd)
here=$root/bench/peers
work=$root/build/peers
mkdir -p "$work"

"$root/hotloop" --version >/dev/null # builds and installs what the engine needs

environment() {
  echo "making the virtual environment build/peers/$1 …" >&2
  python3 -m venv --clear "$work/$1"
}
done_with() { cp "$here/$2" "$work/$1/.made-from"; }

if ! cmp -s "$here/requirements.txt" "$work/sb3/.made-from"; then
  environment sb3 requirements.txt
  "$work/sb3/bin/pip" install -q --disable-pip-version-check -r "$here/requirements.txt"
  done_with sb3 requirements.txt
fi
if ! cmp -s "$here/requirements-cleanrl.txt" "$work/cleanrl/.made-from"; then
  environment cleanrl requirements-cleanrl.txt
  # PyTorch comes from the other environment, which is last in the search path.
  shared=$("$work/sb3/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  own=$("$work/cleanrl/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  "$work/cleanrl/bin/pip" install -q --disable-pip-version-check absl-py grpcio markdown protobuf werkzeug \
    tensorboard-data-server six packaging python-dateutil pytz tzdata contourpy==1.2.1 matplotlib==3.8.4 \
    numpy==1.26.4
  "$work/cleanrl/bin/pip" install -q --disable-pip-version-check --no-deps -r "$here/requirements-cleanrl.txt"
  "$work/cleanrl/bin/pip" install -q --disable-pip-version-check --no-deps --ignore-requires-python \
    cleanrl==1.2.0
  printf '%s\n' "$shared" >"$own/shared.pth"
  done_with cleanrl requirements-cleanrl.txt
fi
"$work/sb3/bin/pip" install -q --disable-pip-version-check "$root"
"$work/sb3/bin/python" "$here/check.py" >&2
exec "$work/sb3/bin/python" "$here/peers.py" --cleanrl "$work/cleanrl/bin/python" "$@"
