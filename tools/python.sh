# Installs the Python package in its own virtual environment, for the tests. Sourced after setup.sh.
#
# It uses `pip install .`, as users do, but in the existing build folder, so that the engine is not
# compiled again. If that is impossible (no Python, PyPI unreachable), it writes the reason to
# $python_reason, and the test `python` is skipped.

python_venv=$root/build/python-venv
python_reason=$root/build/python-skipped
python_stamp=$python_venv/.installed
python_log=$root/build/python.log

# What the environment was made from; a different Python or different requirements start from scratch.
python_made_from() {
  python3 -c 'import sys; print(sys.executable, sys.version)' && cat "$root/python/requirements-test.txt"
}

make_python_venv() {
  made=$(python_made_from 2>>"$python_log") || { echo "there is no python3"; return 1; }
  if [ -e "$python_venv/made-from" ] && [ "$made" = "$(cat "$python_venv/made-from")" ]; then
    return 0
  fi
  rm -rf "$python_venv"
  if ! python3 -m venv "$python_venv" >>"$python_log" 2>&1; then
    rm -rf "$python_venv"
    echo "python3 -m venv failed (Debian: python3-venv)"
    return 1
  fi
  if ! "$python_venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 2 \
    --timeout 20 -r "$root/python/requirements-test.txt" >>"$python_log" 2>&1; then
    rm -rf "$python_venv"
    echo "pip could not install python/requirements-test.txt (is PyPI reachable?)"
    return 1
  fi
  printf '%s\n' "$made" >"$python_venv/made-from"
}

python_up_to_date() {
  [ -e "$python_stamp" ] && [ -z "$(
    find "$root/pyproject.toml" "$root/CMakeLists.txt" "$root/python" "$root/include" "$root/src" \
      "$root/specs" "$root/cmake" -newer "$python_stamp" ! -name '__pycache__' ! -name '*.pyc' \
      -print -quit 2>/dev/null
  )" ]
}

# A failed build does not skip the Python tests: it fails ./test.
install_python_package() {
  rm -f "$python_reason"
  : >"$python_log"
  say "preparing the Python package …"
  if ! reason=$(make_python_venv); then
    printf '%s\n' "$reason" >"$python_reason"
    return 0
  fi
  python_up_to_date && return 0
  rm -f "$python_stamp"
  # scikit-build's record of who configured the folder. With a different Python it would configure from
  # scratch, without the tests.
  rm -f "$build/.skbuild-info.json"
  begun=$(mktemp) || return 1
  if ! (cd "$root" && PATH=$python_venv/bin:$PATH "$python_venv/bin/python" -m pip install \
    --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall \
    --config-settings build-dir="$build" .) >>"$python_log" 2>&1; then
    rm -f "$begun"
    tail -n 100 "$python_log" >&2
    say "the Python package could not be built; the full log is $python_log"
    return 1
  fi
  mv "$begun" "$python_stamp"
}
