// A world compiled with the compiler's sanitizers and played by itself: accesses beyond an array,
// divisions by zero and the like, with the line at which they happen.
//
// What is played is a program of its own (<hotloop/play_alone.hpp>): sanitizers need to be there from
// the start of a process, and a world that overwrites memory overwrites nobody else's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "env/file/compiler.hpp"
#include "env/file/world_check.hpp"

namespace hotloop {

struct SanitisedPlay {
  std::vector<WorldFinding> failures;
  std::vector<WorldFinding> warnings;  // what C++ leaves open, but machines do alike
  std::string why_not;                 // it could not be played: the reason
};

// Compiles and plays the world of the file `source`, for some seconds in all.
SanitisedPlay play_sanitised(const std::string& source,
                             const WorldCompiler& compiler = sanitising_compiler());

// What the sanitizers printed, in plain words, with lines of the author's files: those that are not
// under `headers` or the system's. The author knows the file as `source`.
SanitisedPlay read_sanitizers(std::string_view text, const std::string& source,
                              const std::string& headers);

}  // namespace hotloop
