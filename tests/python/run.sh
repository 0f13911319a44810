#!/bin/sh
# run.sh ROOT WORK: the tests of the Python package, in the environment made by ./test. Exit code 77
# means skipped; the output says why.
root=$1 work=$2
if [ -e "$root/build/python-skipped" ]; then
  echo "skipped: $(cat "$root/build/python-skipped")"
  exit 77
fi
python=$root/build/python-venv/bin/python
if ! [ -x "$python" ]; then
  echo "skipped: there is no build/python-venv; ./test makes it"
  exit 77
fi
# Runs outside of the checkout, so that only the installed package can be imported.
# Writes nothing next to the sources, because ./test compares their folders to decide about reinstalling.
mkdir -p "$work" && cd "$work" || exit 1
export PYTHONDONTWRITEBYTECODE=1 XDG_STATE_HOME=$work/state
exec "$python" -m pytest -q -p no:cacheprovider --durations=5 "$root/python/tests"
