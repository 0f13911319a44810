#!/bin/sh
# tidy.sh [FILE…]: runs clang-tidy, configured by .clang-tidy, over all sources or the given files.
# Installs nothing; needs a configured build for its compile commands.

cd "$(dirname -- "$0")/.." || exit 2
commands=build/release
command -v clang-tidy >/dev/null || {
  echo "clang-tidy is missing: apt-get install -y --no-install-recommends clang-tidy" >&2
  exit 2
}
[ -e "$commands/compile_commands.json" ] || {
  echo "there are no compile commands yet: run cmake --preset release" >&2
  exit 2
}
# One file per process spreads the work evenly; xargs exits with 123 if any file has findings.
if [ $# -gt 0 ]; then printf '%s\0' "$@"; else find src bench -name '*.cpp' -print0 | sort -z; fi |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$commands" --quiet
