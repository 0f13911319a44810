#!/bin/sh
# check_layers.sh [ROOT]: checks which folder includes which, the number of files in a folder, the length
# of files, that no function is used whose results differ between CPU vendors, and that no message can stop
# a run.
#
# The public headers include nothing from src/; the slow twins under reference/ are for tests and
# benchmarks only. Prints each offence as file:line and exits with 1 if there was any.

# A room is a folder of src/, including its subfolders that have no line of their own. Each line lists the
# rooms that a room may include besides itself. They must be listed above it, so there are no cycles.
#   @room     that room and all that it may include
#   algo/*    each folder of algo/ that has no line of its own: other rooms know no algorithm by name
rooms='
include:
core:
env:          core
env/check:    core env
env/isolate:  core env env/check
env/file:     core env env/check env/isolate
envs:         core env
graph:        core
net:          core graph
memory:       core
algo/common:  core env graph net memory
algo/*:       @algo/common
algo/sarsa:   @algo/common algo/pqn
algo/ddpg:    @algo/common algo/td3
spec:         @algo/common env/file
train:        @spec
evaluate:     @train
record:       @evaluate
session:      @record
draw:         @record
study:        @session draw
profile:      @session draw
doctor:       @profile study
cli:          @doctor env/check env/isolate envs
'
max_files=25   # in one folder of src/, headers included
max_lines=600  # in one file

cd "${1:-$(dirname -- "$0")/..}" && [ -d src ] && [ -d include ] || exit 2
offences=$(
  find include src -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' \) -exec awk -v rooms="$rooms" '
    # The room of a folder of src/: itself or its nearest parent that is a room; "" if there is none.
    function room_of(folder, parent) {
      for (; folder != ""; folder = parent) {
        if (folder in may) return folder
        parent = folder
        if (!sub(/\/[^\/]*$/, "", parent)) parent = ""
        if (parent "/*" in may) return folder
      }
      return ""
    }
    function may_include(home, to, list) {
      list = may[home in may ? home : substr(home, 1, index(home, "/")) "*"]
      return home == to || index(" " list " ", " " to " ") > 0
    }
    function folder_of(file) { return sub(/\/[^\/]*$/, "", file) ? file : "" }

    BEGIN {
      lines = split(rooms, line, "\n")
      for (i = 1; i <= lines; ++i) {
        words = split(line[i], word, " ")
        if (words == 0) continue
        room = substr(word[1], 1, length(word[1]) - 1)
        list = ""
        for (k = 2; k <= words; ++k) {
          name = word[k]
          expand = sub(/^@/, "", name)
          if (room_of(name) != name) print "rooms: " room " names " name ", which is not listed above it"
          list = list " " name (expand ? " " may[name] : "")
        }
        may[room] = list
      }
    }
    FNR == 1 {
      home = FILENAME ~ /^include\// ? "include" : room_of(folder_of(substr(FILENAME, 5)))
      if (home == "") print FILENAME ": its folder is not listed in tools/check_layers.sh"
    }
    /\.r?sqrt\(\)|_rsqrt_|_rcp_/ {
      print FILENAME ":" FNR ": starts from a CPU-specific estimate: use roots() of net/lane_arrays.hpp"
    }
    /fmt::print\(/ {
      print FILENAME ":" FNR ": throws if a terminal or pipe is closed: use cli/output.hpp"
    }
    /^[ \t]*#[ \t]*include[ \t]*["<]/ {
      name = $0
      sub(/^[^"<]*["<]/, "", name)
      sub(/[">].*$/, "", name)
      if (name ~ /\.\.\//) print FILENAME ":" FNR ": include by path from src/, not by ../"
      sub(/^src\//, "", name)
      to = room_of(folder_of(name))
      if (name ~ /^(bench|python|reference|tests)\//) to = substr(name, 1, index(name, "/") - 1)
      if (home == "" || to == "") next  # reported above, or not one of our folders
      if (!may_include(home, to)) {
        print FILENAME ":" FNR ": " home " must not include " to " (" name ")"
      }
    }' {} +

  find src -type f | awk -v max="$max_files" '
    { sub(/\/[^\/]*$/, ""); ++files[$0] }
    END { for (folder in files) if (files[folder] > max) print folder ": more than " max " files" }'

  find CMakeLists.txt hotloop test cmake include src reference tests bench tools python web \
    -name node_modules -prune -o -type f \( -name '*.[ch]pp' -o -name '*.h' -o -name '*.py' \
    -o -name '*.sh' -o -name '*.cmake' -o -name '*.in' -o -name CMakeLists.txt -o -name hotloop \
    -o -name test -o -name '*.ts' -o -name '*.js' -o -name '*.css' -o -name '*.html' \) \
    -exec awk -v max="$max_lines" 'FNR == max + 1 { print FILENAME ": more than " max " lines" }' {} + \
    2>/dev/null
)
[ -z "$offences" ] && exit 0
printf '%s\n' "$offences" >&2
exit 1
