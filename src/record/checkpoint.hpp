// Checkpoints: everything a run needs to continue as if it had never stopped, in one file.
//
// A checkpoint is a self-verifying safetensors file, `checkpoints/<env steps>.safetensors`. It is
// written under a temporary name, flushed, then renamed. One file means one rename, so a partial
// checkpoint is never visible. The newest two checkpoints are kept.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/safetensors.hpp"
#include "train/progress.hpp"
#include "train/trainer.hpp"

namespace hotloop {

// Returns the path written. `best` holds the parameters of the best evaluation.
std::string save_checkpoint(const std::string& run_dir, Trainer& trainer, const RunRecord& record,
                            std::span<const float> best);

// Loads into a trainer made from the same spec. Throws RunError if the file is damaged, belongs to a
// different spec, or holds a number that no run could have written. Nothing is sized by a
// number or indexed with it before that check.
void load_checkpoint(const std::string& path, Trainer& trainer, RunRecord& record,
                     std::span<float> best);
void load_checkpoint(const Safetensors& file, const std::string& path, Trainer& trainer,
                     RunRecord& record, std::span<float> best);

// Paths, sorted by env steps.
std::vector<std::string> list_checkpoints(const std::string& run_dir);

}  // namespace hotloop
