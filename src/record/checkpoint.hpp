// Checkpoints: everything a run needs to go on as if nothing had happened, in one file.
//
// A checkpoint is a self-verifying safetensors file, `checkpoints/<env steps>.safetensors`: written
// under another name, flushed, renamed. One file means one rename: there is no moment at which half
// a checkpoint could be seen. The one just written and the one before it are kept.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "train/progress.hpp"
#include "train/trainer.hpp"

namespace hotloop {

// Returns the path written. `best` holds the parameters of the best evaluation.
std::string save_checkpoint(const std::string& run_dir, Trainer& trainer, const RunRecord& record,
                            std::span<const float> best);

// Loads into a trainer made from the same spec. RunError if the file is damaged or of another run.
void load_checkpoint(const std::string& path, Trainer& trainer, RunRecord& record,
                     std::span<float> best);

// Paths in the order of their env steps.
std::vector<std::string> list_checkpoints(const std::string& run_dir);

}  // namespace hotloop
