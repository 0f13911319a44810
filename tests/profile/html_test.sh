#!/bin/bash
# html_test.sh HOTLOOP WORK: the page of a profile in a browser: the script runs without an error,
# the chart has a rectangle for each phase, and the picture is not empty.
set -u
here=$(cd -- "$(dirname -- "$0")" && pwd)
hotloop=$1 work=$2
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  { echo "FAILED: there is no Chromium; ./test installs it (tools/test_packages.txt)"; exit 1; }
. "$here/../cli/expect.sh"

# browse FILE OPTION...: opens a page; its console output goes to the file console.
browse() {
  local page=$1
  shift
  timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
    --user-data-dir="$work/browser" --virtual-time-budget=2000 --enable-logging=stderr --v=0 "$@" \
    "file://$page" 2>console
}
complaints() { grep -E 'CONSOLE|Uncaught' console; }

"$hotloop" profile cartpole_dqn --seconds 0.5 --html page.html --json >profile.json 2>/dev/null ||
  fail "hotloop profile ended with $?"
browse "$work/page.html" --dump-dom >dom.html || fail "the browser ended with $?: $(cat console)"
complaints && fail "the page wrote to the console"
grep -q 'data-ready="yes"' dom.html || fail "the script did not run to its end"

# A rectangle for the run and each phase, with the names of the profile.
names=$(grep -o '"name":"[a-z/]*"' profile.json | cut -d'"' -f4)
rectangles=$(grep -c '<svg class="cell' dom.html)
[ "$rectangles" -eq $(($(wc -w <<<"$names") + 1)) ] && [ "$rectangles" -gt 10 ] ||
  fail "$rectangles rectangles for the phases $names"
for name in $names; do
  grep -q "<svg class=\"cell.*data-phase=\"$name\"" dom.html || fail "$name has no rectangle"
done
# The script labels rectangles that are wide enough.
grep -qE '<text[^>]*>learn  [0-9.]+ %</text>' dom.html || fail "the largest group has no label"
grep -q '<polyline' dom.html || fail "there is no curve"

browse "$work/page.html" --window-size=1200,900 --screenshot="$work/page.png" >/dev/null
[ "$(stat -c %s page.png 2>/dev/null || echo 0)" -gt 20000 ] || fail "the picture is empty"

# The error check must be able to fail.
sed 's/^zoom(cells\[0\]);$/zoom(missing);/' page.html >broken.html
browse "$work/broken.html" --dump-dom >broken_dom.html
complaints >/dev/null || fail "an error went unnoticed"
grep -q 'data-ready="yes"' broken_dom.html && fail "a broken script looks ready"
finish "the page of a profile"
