// A world compiled with the compiler's sanitizers and played: accesses beyond an array, divisions by
// zero and the like, with the line at which they happen.
//
// It is played in a program of its own (<hotloop/play_alone.hpp>): sanitizers must be loaded from the
// start of a process, and a world that overwrites memory overwrites only its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "env/file/compiler.hpp"
#include "env/file/world_check.hpp"

namespace hotloop {

struct SanitisedPlay {
  std::vector<WorldFinding> failures;
  std::vector<WorldFinding> warnings;  // undefined in C++, but the same on all machines
  std::string why_not;                 // why it could not be played
};

// Compiles and plays the world of the file `source`, for a few seconds in total.
SanitisedPlay play_sanitised(const std::string& source,
                             const WorldCompiler& compiler = sanitising_compiler());

// What the sanitizers printed, in plain words, with lines of the author's files: those that are
// neither under `headers` nor the system's. The author names the file `source`.
SanitisedPlay read_sanitizers(std::string_view text, const std::string& source,
                              const std::string& headers);

}  // namespace hotloop
