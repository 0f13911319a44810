// Existing runs that a suite does not have to train again.
#pragma once

#include <hotloop/train.hpp>

#include <optional>
#include <set>
#include <string>

#include "spec/spec.hpp"

namespace hotloop {

struct EarlierRun {
  std::string folder;
  std::optional<TrainResult> result;  // none: it can be resumed
};

// A run in `parent` that training `spec` now would repeat to the bit: the same resolved spec, seed,
// environment, version and CPU. Prefers a finished run to one that can be resumed. Skips folders in
// `taken`, and unfinished runs that another process is using.
std::optional<EarlierRun> find_earlier_run(const std::string& parent, const TrainSpec& spec,
                                           const std::set<std::string>& taken);

// The result of a finished run, from its result.json; none if the file is missing or damaged.
std::optional<TrainResult> read_result(const std::string& run_dir);

}  // namespace hotloop
