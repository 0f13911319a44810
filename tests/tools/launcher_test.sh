#!/bin/sh
# launcher_test.sh ROOT WORK: the launchers, with a stand-in for CMake that writes a shell script
# where the program belongs. Covers when a build happens, what reaches standard output, calls
# through a symbolic link, paths with spaces, failed builds, simultaneous first calls, and the
# installation of packages, or the advice to users who cannot install any.

source=$1
work="$2/a path with spaces"
tree=$work/tree
bin=$work/bin
failures=0

expect() {  # expect WHAT ACTUAL EXPECTED
  [ "$2" = "$3" ] && return
  printf '%s: expected [%s], got [%s]\n' "$1" "$3" "$2"
  failures=$((failures + 1))
}
contains() {  # contains WHAT TEXT PART
  case $2 in *"$3"*) return ;; esac
  printf '%s: expected it to contain [%s], got [%s]\n' "$1" "$3" "$2"
  failures=$((failures + 1))
}
builds() { wc -l <"$work/builds"; }
# Time stamps have the resolution of the kernel's tick: an edit in the same tick as a build is not seen.
later() { sleep 0.02; }

rm -rf "$2"
mkdir -p "$tree/src/core" "$tree/include" "$tree/cmake" "$tree/tools" "$bin" "$work/elsewhere"
cp "$source/hotloop" "$source/test" "$tree/"
cp "$source/tools/setup.sh" "$source/tools/python.sh" "$source"/tools/*packages.txt "$tree/tools/"
touch "$tree/CMakeLists.txt" "$tree/CMakePresets.json" "$tree/src/core/a.cpp" "$work/builds"

cat >"$bin/cmake" <<'STUB'
#!/bin/sh
echo "cmake on standard output"
case $* in
  *--preset*)
    mkdir -p build/release
    echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" >build/release/CMakeCache.txt
    touch build/release/build.ninja ;;
  *)
    echo "[37/172] Building something"
    sleep "${BUILD_SECONDS:-0.2}"
    echo "$*" >>"$WORK/builds"
    case $* in *hotloop_bench*) touch "$WORK/tree/build/release/hotloop_bench" ;; esac
    [ -e "$WORK/edit" ] && mv "$WORK/edit" "$WORK/tree/src/core/"
    grep -q broken "$WORK/tree/src/core/a.cpp" && echo "a.cpp: broken" && exit 1
    cat >"$WORK/tree/build/release/hotloop" <<'PROGRAM'
#!/bin/sh
printf 'ran'
printf ' [%s]' "$@"
exit 7
PROGRAM
    chmod +x "$WORK/tree/build/release/hotloop" ;;
esac
STUB
cat >"$bin/ctest" <<'STUB'
#!/bin/sh
while [ $# -gt 0 ]; do
  [ "$1" = --output-log ] && log=$2
  last=$1
  shift
done
echo "50% tests passed, 1 tests failed out of 2" | tee "$log"
echo "ran in $(basename "$PWD") with $last"
exit 8
STUB
printf '#!/bin/sh\nexit 1\n' >"$bin/python3"  # a machine without Python
cat >"$bin/dpkg-query" <<'STUB'
#!/bin/sh
for package; do
  [ "$package" = "$(cat "$WORK/missing" 2>/dev/null)" ] || printf 'installed:%s ' "$package"
done
STUB
cat >"$bin/apt-get" <<'STUB'
#!/bin/sh
echo "apt-get $*"
echo "$DEBIAN_FRONTEND $*" >>"$WORK/installations"
rm -f "$WORK/missing"
STUB
printf '#!/bin/sh\necho "${USER_NUMBER:-1000}"\n' >"$bin/id"
chmod +x "$bin"/*
export WORK="$work" PATH="$bin:$PATH"

# Without root: the command to run is printed, nothing is built.
echo libeigen3-dev >"$work/missing"
output=$("$tree/hotloop" list 2>&1)
expect "exit code without packages" $? 1
contains "advice" "$output" "apt-get install -y --no-install-recommends libeigen3-dev'"
expect "builds without packages" "$(builds)" 0
expect "installations without the right to" "$(cat "$work/installations" 2>/dev/null)" ""

# As root, only missing packages are installed, without a question.
echo libeigen3-dev >"$work/missing"
(export USER_NUMBER=0 && "$tree/hotloop" x >"$work/stdout" 2>/dev/null)
expect "output after an installation" "$(cat "$work/stdout")" "ran [x]"
contains "installation" "$(tail -n 1 "$work/installations")" "noninteractive install -q -y"
contains "what is installed" "$(tail -n 1 "$work/installations")" "=300 libeigen3-dev"
rm -r "$tree/build" && : >"$work/builds"

# Packages that only tests need are installed only by ./test.
echo chromium >"$work/missing"
(export USER_NUMBER=0 && "$tree/hotloop" x >/dev/null 2>&1)
expect "needed by tests only" "$(cat "$work/missing" 2>/dev/null)" chromium
output=$("$tree/test" 2>&1)
expect "exit code of tests without packages" $? 1
contains "advice for tests" "$output" "apt-get install -y --no-install-recommends chromium'"
(export USER_NUMBER=0 && "$tree/test" >/dev/null 2>&1)
contains "what tests install" "$(tail -n 1 "$work/installations")" "=300 chromium"
rm -r "$tree/build" && : >"$work/builds"

# Two simultaneous first calls share one build, and both run.
"$tree/hotloop" one >"$work/one" 2>"$work/stderr1" &
"$tree/hotloop" two >"$work/two" 2>"$work/stderr2"
wait $!
expect "exit code passed on" $? 7
expect "simultaneous calls" "$(cat "$work/one" "$work/two")" "ran [one]ran [two]"
expect "builds for two first calls" "$(builds)" 1
contains "what the second call waits for" "$(cat "$work/stderr1" "$work/stderr2")" "waiting for another hotloop (process "
case $(cat "$work/builds") in
  *"--target hotloop_cli") ;;
  *) expect "targets of the program" "$(cat "$work/builds")" "hotloop_cli alone" ;;
esac

# The benchmarks are built on request, and once.
expect "output of a benchmark" "$("$tree/hotloop" bench x 2>/dev/null)" "ran [bench] [x]"
contains "targets of a benchmark" "$(tail -n 1 "$work/builds")" "--target hotloop_cli hotloop_bench"
"$tree/hotloop" bench >/dev/null 2>&1
expect "builds for two calls of a benchmark" "$(builds)" 2
rm -r "$tree/build" && : >"$work/builds"

# On a terminal the build shows its progress.
output=$(BUILD_SECONDS=1.2 script -qec "'$tree/hotloop' x" /dev/null)
contains "counter of a build" "$output" "37 of 172 files"
contains "output after the counter" "$output" "ran [x]"
expect "builds on a terminal" "$(builds)" 1

# The fast path, from another folder and through a symbolic link; arguments are passed unchanged.
ln -s "$tree/hotloop" "$work/elsewhere/link"
output=$(cd "$work/elsewhere" && ./link 'a b' '' '*' 2>&1)
expect "through a link" "$output" "ran [a b] [] [*]"
expect "builds when nothing changed" "$(builds)" 1

# Edits, additions and deletions are noticed, once each.
later && echo "// edited" >"$tree/src/core/a.cpp"
expect "output of a rebuild" "$("$tree/hotloop" x 2>/dev/null)" "ran [x]"
expect "builds after an edit" "$(builds)" 2
later && touch "$tree/src/core/b.cpp" && "$tree/hotloop" >/dev/null 2>&1
expect "builds after an addition" "$(builds)" 3
later && rm "$tree/src/core/b.cpp" && "$tree/hotloop" >/dev/null 2>&1
expect "builds after a deletion" "$(builds)" 4
"$tree/hotloop" >/dev/null 2>&1
expect "builds when nothing changed since" "$(builds)" 4

# An edit made while a build runs is not lost.
later && touch "$tree/src/core/a.cpp" "$work/edit"
"$tree/hotloop" >/dev/null 2>&1
"$tree/hotloop" >/dev/null 2>&1
expect "builds after an edit during a build" "$(builds)" 6

# A failed build shows its log, runs nothing and is tried again, even without a change.
later && echo broken >"$tree/src/core/a.cpp"
output=$("$tree/hotloop" x 2>"$work/stderr")
expect "exit code of a failed build" $? 1
expect "standard output of a failed build" "$output" ""
contains "log of a failed build" "$(cat "$work/stderr")" "a.cpp: broken"
expect "stamp of a failed build" "$(ls "$tree/build/release/.up-to-date" 2>/dev/null)" ""
"$tree/hotloop" x >/dev/null 2>&1
expect "builds after a failure" "$(builds)" 8
later && echo mended >"$tree/src/core/a.cpp"
expect "output after the mend" "$("$tree/hotloop" x 2>/dev/null)" "ran [x]"

# The tests: CTest's exit code, its summary as the last line, arguments passed on, and a build of
# everything, which includes the program.
later && touch "$tree/src/core/a.cpp"
output=$("$tree/test" -R replay 2>/dev/null)
expect "exit code of the tests" $? 8
contains "arguments of CTest" "$output" "ran in release with replay"
expect "last line of the tests" "$(printf '%s\n' "$output" | tail -n 1)" \
  "50% tests passed, 1 tests failed out of 2"
contains "target of the tests" "$(tail -n 1 "$work/builds")" "--target all"
expect "why the Python tests are skipped" "$(cat "$tree/build/python-skipped")" "there is no python3"
before=$(builds)
"$tree/hotloop" >/dev/null 2>&1
expect "builds of the program after the tests" "$(builds)" "$before"

# A checkout that was moved is configured and built again.
mv "$tree" "$work/moved" && ln -s "$work/moved" "$tree"
expect "output after a move" "$("$work/moved/hotloop" x 2>/dev/null)" "ran [x]"
expect "builds after a move" "$(builds)" $((before + 1))
expect "configured place" "$(sed 's/.*=//' "$work/moved/build/release/CMakeCache.txt")" "$work/moved"

exit $((failures > 0))
