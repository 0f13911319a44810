// Runs that are already there: what a suite need not train again.
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

// A run in `parent` that training `spec` now would repeat to the bit: the same resolved spec, seed, world,
// version and CPU. A finished one before one to resume; none that another process is using, and none of
// `taken`.
std::optional<EarlierRun> find_earlier_run(const std::string& parent, const TrainSpec& spec,
                                           const std::set<std::string>& taken);

// Of a finished run, from its result.json; none if there is none, or it is damaged.
std::optional<TrainResult> read_result(const std::string& run_dir);

}  // namespace hotloop
