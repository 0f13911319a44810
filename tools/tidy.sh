#!/bin/sh
# tidy.sh [FILE…]: clang-tidy over the sources (or the files named), as .clang-tidy configures it.
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
# One file per process, so that the work is spread evenly; xargs ends with 123 if any has findings.
if [ $# -gt 0 ]; then printf '%s\0' "$@"; else find src bench -name '*.cpp' -print0 | sort -z; fi |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$commands" --quiet
