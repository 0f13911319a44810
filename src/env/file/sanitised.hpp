// Plays a world compiled with the compiler's sanitizers, to find out-of-bounds accesses, divisions
// by zero and the like, with their line numbers.
//
// It is played in a separate program (<hotloop/play_alone.hpp>): sanitizers must be loaded when a
// process starts, and a world that overwrites memory cannot damage ours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "env/file/compiler.hpp"
#include "env/file/trust.hpp"
#include "env/file/world_check.hpp"

namespace hotloop {

struct SanitisedPlay {
  std::vector<WorldFinding> failures;
  std::vector<WorldFinding> warnings;  // undefined in C++, but the same on all machines
  std::string skip_reason;             // why it could not be played; empty if it was
};

// Compiles and plays the world of a source, for a few seconds in total.
SanitisedPlay play_sanitised(const TrustedCode& source,
                             const WorldCompiler& compiler = sanitising_compiler());

// Translates the sanitizers' output into plain words, with lines of the author's files: files that
// are neither under `headers` nor the system's. `source` is the author's name of the file.
SanitisedPlay read_sanitizers(std::string_view text, const std::string& source,
                              const std::string& headers);

}  // namespace hotloop
