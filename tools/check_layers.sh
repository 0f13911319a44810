#!/bin/sh
# check_layers.sh [ROOT]: which folder may include which, how long a file may be, and which functions would
# make results depend on the maker of the CPU.
#
#   core < env < envs, core < graph < net, core < memory, (env, net, memory) < algo < run < doctor < cli
#
# The public headers include nothing of src/; the slow twins under reference/ are for tests and
# benchmarks only. Prints each offence as file:line and ends with 1 if there was any.

cd "${1:-$(dirname -- "$0")/..}" && [ -d src ] && [ -d include ] || exit 2
offences=$(
  find include src -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' \) -exec awk '
    BEGIN {
      may["include"] = ""
      may["core"] = "core"
      may["env"] = "core env"
      may["envs"] = "core env envs"
      may["graph"] = "core graph"
      may["net"] = "core graph net"
      may["memory"] = "core memory"
      may["algo"] = "core env graph net memory algo"
      may["run"] = may["algo"] " run"
      may["doctor"] = may["run"] " doctor"
      may["cli"] = may["doctor"] " cli"
    }
    FNR == 1 {
      split(FILENAME, path, "/")
      home = path[1] == "include" ? "include" : path[2]
      if (!(home in may)) print FILENAME ": the folder " home " has no place in the order"
    }
    /\.r?sqrt\(\)|_rsqrt_|_rcp_/ {
      print FILENAME ":" FNR ": begins with an estimate by the CPU: use roots() of net/lane_arrays.hpp"
    }
    /^[ \t]*#[ \t]*include[ \t]*["<]/ {
      name = $0
      sub(/^[^"<]*["<]/, "", name)
      sub(/[">].*$/, "", name)
      if (name ~ /\.\.\//) print FILENAME ":" FNR ": include by path from src/, not by ../"
      sub(/^src\//, "", name)
      if (split(name, part, "/") < 2) next
      to = part[1]
      if (!(to in may) && to != "bench" && to != "reference") next  # not one of our folders
      if (index(" " may[home] " ", " " to " ") == 0)
        print FILENAME ":" FNR ": " home " must not include " to " (" name ")"
    }' {} +

  find CMakeLists.txt hotloop test cmake include src reference tests bench tools python web \
    -name node_modules -prune -o -type f \( -name '*.[ch]pp' -o -name '*.h' -o -name '*.py' \
    -o -name '*.sh' -o -name '*.cmake' -o -name '*.in' -o -name CMakeLists.txt -o -name hotloop \
    -o -name test -o -name '*.ts' -o -name '*.js' -o -name '*.css' -o -name '*.html' \) \
    -exec awk 'FNR == 601 { print FILENAME ": more than 600 lines" }' {} + 2>/dev/null
)
[ -z "$offences" ] && exit 0
printf '%s\n' "$offences" >&2
exit 1
