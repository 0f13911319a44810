# What the shell tests of the command line share. Source it, check, then call `finish WHAT`.
failures=0

fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

# expect CODE TEXT COMMAND...: expects the exit code, and a text in the output, which stays in $output.
expect() {
  local code=$1 text=$2
  shift 2
  output=$("$@" 2>&1)
  local found=$?
  if [ "$found" -ne "$code" ] || ! grep -qF -- "$text" <<<"$output"; then
    fail "$(printf '%s\n  expected exit %s and "%s", found exit %s and:\n%s' "$*" "$code" "$text" "$found" "$output")"
  fi
}
also() { grep -qF -- "$1" <<<"$output" || fail "no \"$1\" in: $output"; }
not_also() { ! grep -qF -- "$1" <<<"$output" || fail "\"$1\" in: $output"; }

# wait_until CONDITION...: up to two minutes, because the machine may be busy.
wait_until() {
  local i
  for ((i = 0; i < 1200; ++i)); do
    "$@" && return 0
    sleep 0.1
  done
  return 1
}

hash_of() { grep -o '"params_hash":"[0-9a-f]*"' "$1" | tail -n 1; }

# finish WHAT: the end of a test.
finish() {
  if [ "$failures" -eq 0 ]; then
    echo "$1: all passed"
    exit 0
  fi
  echo "$1: $failures failures"
  exit 1
}
