// A training session: drives a trainer, and does everything around it that must not affect
// training: evaluation, metrics, checkpoints, stopping.
//
// The run folder:
//   spec.yaml                    the fully resolved spec
//   NAME.cpp                     the environment, if it comes from a file
//   demonstrations.safetensors   see transition_file.hpp, if replay.demonstrations is set
//   run.json                     version, CPU, seed
//   graph.json                   edges and measures, if the network is a graph
//   metrics.jsonl                see metrics.hpp
//   episodes.jsonl               see episode_file.hpp, if run.episode_log is set
//   checkpoints/*.safetensors    see checkpoint.hpp
//   model-best.safetensors       the network of the best evaluation so far
//   model-latest.safetensors     the network when it was last saved
//   snapshots/*.safetensors      models by episode, if run.snapshot_every is set
//   result.json                  the summary, once the run is done
//   .lock                        held while a process trains here
#pragma once

#include <hotloop/train.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/file.hpp"
#include "evaluate/best_rule.hpp"
#include "evaluate/evaluation.hpp"
#include "record/episode_file.hpp"
#include "record/metrics.hpp"
#include "spec/spec.hpp"
#include "train/progress.hpp"
#include "train/trainer.hpp"

namespace hotloop {

struct SessionHooks {
  // Called between rounds, at most ten times a second.
  std::function<void(const Trainer&, const RunRecord&)> progress{};
  // Called once for each warning about the health of training (health.hpp).
  std::function<void(const std::string&)> warning{};
  // Called with what the run decided by itself: how many threads it uses.
  std::function<void(const std::string&)> note{};
  // Called with each row of the metrics, also with those that a long run does not keep; false = save
  // and stop.
  std::function<bool(std::string_view)> row{};
  // Becomes true when the run should save and stop.
  const std::atomic<bool>* stop = nullptr;
};

// One run in its folder, driven round by round.
class Session {
 public:
  // A run that starts from demonstrations needs them only to begin.
  Session(const TrainSpec& spec, std::string run_dir, const SessionHooks& hooks,
          const Demonstrations* demonstrations = nullptr);

  void start();                              // from the beginning; writes a first checkpoint
  void load(const std::string& checkpoint);  // continues from a checkpoint,
  void continue_logs();                      // and cuts the logs there
  bool finished() const;
  void advance();     // one round, then whatever is due: evaluation, logging, saving
  TrainResult run();  // until it is finished or hooks.stop is set

  Trainer& trainer() { return trainer_; }
  const Trainer& trainer() const { return trainer_; }
  const RunRecord& record() const { return record_; }

 private:
  using Clock = std::chrono::steady_clock;

  double elapsed() const;
  void note_time();                    // writes the elapsed time into the record
  void warn(const std::string& text);  // each text only once
  void warn_of_cuts(const Evaluation& evaluation);
  void warn_of_collapse(const Evaluation& last);
  void open_episodes();
  void warn_of_loss(const char* log, std::uint64_t bytes);
  void write_episodes();
  void evaluate();
  void log();
  void save();
  void save_models();
  void try_save_models() noexcept;
  void save_model_file(const std::string& path, const std::vector<float>& all,
                       std::int64_t env_steps, double greedy_return);
  void snapshot_if_due(std::int64_t before);
  std::vector<float> packed_model();
  void check_best(const std::string& checkpoint);  // throws RunError if no model is like it
  TrainResult result(bool interrupted);
  int score_column() const;
  double score(double (EpisodeLog::*what)(int) const) const;
  double score_greedy() const;
  std::vector<std::pair<std::string, double>> time_shares() const;
  std::vector<std::pair<std::string, double>> measure_means() const;

  Clock::time_point start_, last_save_, last_progress_;
  std::string run_dir_;
  SessionHooks hooks_;
  FileLock lock_;  // only one process at a time trains in a folder
  Trainer trainer_;
  Evaluator evaluator_;
  BestRule rule_;
  double threshold_;         // return at which the run is solved, or NaN
  std::vector<float> best_;  // the model of the best evaluation, see packed_model()
  std::optional<MetricsLog> metrics_;
  std::optional<EpisodeFile> episodes_;  // if run.episode_log
  RunRecord record_;
  double earlier_seconds_ = 0;  // of previous sessions
  decltype(RunRecord::group_seconds) earlier_groups_{};
  bool thread_reason_shown_ = false;
  bool stop_ = false;  // set by hooks.row or hooks.stop
};

// Creates `<parent>/<spec name>-<number>` with the first free number, and returns its path.
std::string make_run_folder(const std::string& parent, const std::string& spec_name);

// The version and CPU that the run was started with. Only the same ones reproduce it to the bit.
// Both are empty if run.json does not say.
struct RunOrigin {
  std::string version, cpu;
};
RunOrigin run_origin(const std::string& run_dir);

TrainResult start_run(const TrainSpec& spec, const std::string& run_dir, const SessionHooks& hooks);

// The spec of an existing run folder. `overrides` may change the length of the run, saving and
// evaluation, but nothing that affects training.
TrainSpec load_run_spec(const std::string& run_dir, std::span<const std::string> overrides);

// Continues from `checkpoint`, or from the newest one in the folder.
TrainResult resume_run(const TrainSpec& spec, const std::string& run_dir,
                       const std::optional<std::string>& checkpoint, const SessionHooks& hooks);

}  // namespace hotloop
