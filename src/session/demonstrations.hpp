// The demonstrations that a run starts from: the file that its spec names, checked against the spec.
#pragma once

#include <optional>

#include "record/transitions/transition_file.hpp"
#include "spec/spec.hpp"

namespace hotloop {

// Reads replay.demonstrations and sets its hash in the spec; none if the spec names no file. Throws
// UsageError if the file cannot be read, if it has another hash than the spec says, or if its
// transitions are of another environment or do not fit into the replay.
std::optional<TransitionFile> read_demonstrations(TrainSpec& spec);

}  // namespace hotloop
