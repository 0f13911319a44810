// A training session: drives a trainer and does everything around it that training must not notice:
// evaluation, metrics, checkpoints, stopping.
//
// The run folder:
//   spec.yaml                    the fully resolved spec
//   run.json                     version, CPU, seed
//   graph.json                   of a network that is a graph: edges and measures
//   metrics.jsonl                see metrics.hpp
//   episodes.jsonl               see episode_file.hpp, if run.episode_log asks for it
//   checkpoints/*.safetensors    see checkpoint.hpp
//   model-best.safetensors       the network of the best evaluation so far
//   model-latest.safetensors     the network as it was saved last
//   snapshots/*.safetensors      models by episode, if run.snapshot_every asks for them
//   result.json                  the summary, once the run is done
//   .lock                        held while a process trains here
#pragma once

#include <hotloop/train.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "run/progress.hpp"
#include "run/spec.hpp"
#include "run/trainer.hpp"

namespace hotloop {

struct SessionHooks {
  // Called now and then between rounds, never more often than ten times a second.
  std::function<void(const Trainer&, const RunRecord&)> progress{};
  // Called once for each warning about the health of training (health.hpp).
  std::function<void(const std::string&)> warning{};
  // Becomes true when the run should save and stop.
  const std::atomic<bool>* stop = nullptr;
};

// Creates `<parent>/<spec name>-<number>` with the first free number, and returns its path.
std::string make_run_folder(const std::string& parent, const std::string& spec_name);

// The CPU on which the run in this folder began; bits are the same only on its like.
std::string run_cpu(const std::string& run_dir);

TrainResult start_run(const TrainSpec& spec, const std::string& run_dir, const SessionHooks& hooks);

// The spec of an existing run folder. `overrides` may change how long to run, how to save and how to
// evaluate, but nothing that decides training.
TrainSpec load_run_spec(const std::string& run_dir, std::span<const std::string> overrides);

// Continues from `checkpoint`, or from the newest one of the folder.
TrainResult resume_run(const TrainSpec& spec, const std::string& run_dir,
                       const std::optional<std::string>& checkpoint, const SessionHooks& hooks);

}  // namespace hotloop
