#!/bin/sh
# check_format.sh [--fix]: checks that every source file is formatted as clang-format (C++) and ruff
# (Python) would; --fix reformats. ruff from the tests' virtual environment is preferred.

cd "$(dirname -- "$0")/.." || exit 2
ruff=build/python-venv/bin/ruff
[ -x "$ruff" ] || ruff=ruff

cpp() {
  find include src reference tests bench python examples \( -name node_modules -o -name build \) -prune -o \
    -type f \( -name '*.[ch]pp' -o -name '*.h' -o -name '*.c' \) -print0 | xargs -0 clang-format "$@"
}

if [ "$1" = --fix ]; then
  cpp -i && "$ruff" format --quiet . && "$ruff" check --quiet --fix .
  exit
fi
failed=0
command -v clang-format >/dev/null || { echo "clang-format is missing (Debian: clang-format)" >&2; exit 2; }
cpp --dry-run --Werror || failed=1
if command -v "$ruff" >/dev/null; then
  "$ruff" format --check --quiet . && "$ruff" check --quiet . || failed=1
elif [ ! -e build/python-skipped ]; then
  echo "ruff is missing (PyPI: ruff)" >&2
  failed=1
fi
[ "$failed" -eq 0 ] || echo "to fix the format: tools/check_format.sh --fix" >&2
exit "$failed"
