# Shared by the two launchers: checks whether the build is current, installs missing packages, builds.
# Sourced with $root set to the checkout, an absolute path without symbolic links. $package_lists may
# name more lists of packages, and $parts what to configure besides the program: HOTLOOP_BENCH,
# HOTLOOP_TESTS.
#
# Invariants: nothing here writes to standard output, which belongs to the program; the stamp exists
# only after a successful build. Its time is when that build began, so that a file edited during the
# build counts as changed. Its content is the path of the checkout, which is compiled into the program.

build=$root/build/release
program=$build/hotloop
stamp=$build/.up-to-date
log=$build/build.log
builder=$root/build/.builder  # the process that holds the lock

say() { printf '%s\n' "$*" >&2; }

# Folders are compared as well as files: removing or renaming a file touches only its folder.
up_to_date() {
  [ -x "$program" ] && [ -e "$stamp" ] && IFS= read -r place <"$stamp" &&
    [ "$place" = "$root" ] && [ -z "$(
    find "$root/CMakeLists.txt" "$root/CMakePresets.json" "$root/cmake" "$root/include" \
      "$root/src" "$root/bench" "$root/reference" -newer "$stamp" -print -quit 2>/dev/null
  )" ]
}

# Prints the listed packages that dpkg does not report as installed.
missing_packages() {
  wanted=$(cd "$root/tools" && sed 's/#.*//' ${package_lists:-packages.txt})
  # $wanted is unquoted on purpose, here and below: it is a list of words.
  installed=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' $wanted 2>/dev/null)"
  for package in $wanted; do
    case $installed in
      *" installed:$package "*) ;;
      *) printf ' %s' "$package" ;;
    esac
  done
}

install_packages() {
  command -v dpkg-query >/dev/null || return 0  # not Debian: CMake will name what is missing
  missing=$(missing_packages)
  [ -z "$missing" ] && return 0
  if [ "$(id -u)" -ne 0 ]; then
    say "hotloop needs packages that are not installed. Run this line, then try again:"
    say "sudo sh -c 'apt-get update && apt-get install -y --no-install-recommends$missing'"
    return 1
  fi
  say "installing$missing …"
  # Installation may work even if the package lists cannot be refreshed. We wait for dpkg's lock because
  # a new machine is often busy with its own first upgrade. Descriptor 9 is the lock of the build.
  {
    apt-get update -q -o Acquire::Retries=3 || true
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
      -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 $missing
  } </dev/null >>"$log" 2>&1 9>&-
}

# Whether the build folder has all of $parts. More parts are fine; they are kept.
has_parts() {
  for part in $parts; do
    grep -qx "$part:BOOL=ON" "$build/CMakeCache.txt" || return 1
  done
}

# A checkout that was moved after it was configured starts from scratch.
configure() {
  set --
  if ! [ -e "$build/build.ninja" ] ||
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    set -- --fresh -D HOTLOOP_BENCH=OFF -D HOTLOOP_TESTS=OFF
  elif has_parts && ! [ "$root/CMakePresets.json" -nt "$build/build.ninja" ]; then
    return 0
  fi
  for part in $parts; do set -- "$@" -D "$part=ON"; done
  (cd "$root" && cmake "$@" --preset release) >>"$log" 2>&1
}

# Progress of the build: "37 of 172".
progress() { tail -n 1 "$log" 2>/dev/null | sed -n 's/^\[\([0-9]*\)\/\([0-9]*\)\].*/\1 of \2/p'; }

# On a terminal, shows the progress until process $1 has exited.
count_until_gone() {
  [ -t 2 ] || return 0
  while kill -0 "$1" 2>/dev/null; do
    done=$(progress)
    [ -n "$done" ] && printf '\r\033[K  %s files' "$done" >&2
    sleep 0.5
  done
  printf '\r\033[K' >&2
}

compile() {
  cmake --build "$build" --parallel "$(nproc)" --target "$@" >>"$log" 2>&1 9>&- &
  count_until_gone $!
  wait $!
}

build_locked() {
  # Another call may have built while this one waited for the lock.
  if [ "$1" = hotloop_cli ] && [ $# -eq 1 ] && up_to_date; then return 0; fi
  if [ -e "$program" ]; then again='…'; else again='(the first build takes a few minutes) …'; fi
  rm -f "$stamp"
  : >"$log" || return 1
  install_packages || return 1
  say "building hotloop $again"
  printf '%s\n' "$root" >"$stamp.begun"
  configure && compile "$@" && mv "$stamp.begun" "$stamp"
}

# Waits for the lock on descriptor 9, and prints who holds it.
take_lock() {
  if ! flock -n 9; then
    other=$(cat "$builder" 2>/dev/null)
    done=$(progress)
    say "waiting for another hotloop (process ${other:-unknown}) that is building in $build${done:+, $done files done} …"
    [ -n "$other" ] && count_until_gone "$other"
    flock 9 || return 1
  fi
  sh -c 'echo $PPID' >"$builder"
}

# build TARGET…: installs, configures and builds under a lock; prints the log if that fails.
build() {
  if ! mkdir -p "$build"; then return 1; fi
  (
    take_lock || exit 1
    build_locked "$@" && exit 0
    if [ -s "$log" ]; then
      tail -n 100 "$log" >&2
      say "hotloop could not be built; the full log is $log"
    fi
    exit 1
  ) 9>>"$root/build/.lock"
}
