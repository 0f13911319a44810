#include "run/session.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "env/registry.hpp"
#include "run/checkpoint.hpp"
#include "run/evaluation.hpp"
#include "run/metrics.hpp"
#include "run/model_file.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

// Whether a multiple of `every` lies in (before, now].
bool crossed(std::int64_t before, std::int64_t now, std::int64_t every) {
  return every > 0 && before / every != now / every;
}

class Session {
 public:
  Session(const TrainSpec& spec, std::string run_dir, const SessionHooks& hooks)
      : start_(Clock::now()),
        run_dir_(std::move(run_dir)),
        hooks_(hooks),
        trainer_(spec),
        evaluation_team_(spec.run.threads),
        evaluator_(spec.env, spec.evaluation.episodes, spec.run.seed, trainer_.agent().structure()),
        best_(trainer_.agent().online().begin(), trainer_.agent().online().end()) {
    const double declared = find_env(spec.env).spec->solved_return;
    threshold_ = std::isnan(spec.evaluation.threshold) ? declared : spec.evaluation.threshold;
  }

  TrainResult start() {
    metrics_.emplace(run_dir_ + "/metrics.jsonl");
    save();  // whatever happens from here on, there is a state to return to
    return run();
  }

  TrainResult resume(const std::string& checkpoint) {
    load_checkpoint(checkpoint, trainer_, record_, best_);
    earlier_seconds_ = record_.seconds;
    metrics_.emplace(run_dir_ + "/metrics.jsonl", record_.metrics_bytes);
    return run();
  }

 private:
  TrainResult run() {
    const TrainSpec& spec = trainer_.spec();
    Clock::time_point last_save = Clock::now();
    Clock::time_point last_progress = last_save;
    while (!finished()) {
      const std::int64_t before = trainer_.counters().env_steps;
      trainer_.round();
      const std::int64_t now = trainer_.counters().env_steps;
      if (crossed(before, now, spec.evaluation.every)) evaluate();
      if (crossed(before, now, spec.run.log_every)) log();
      if (hooks_.stop != nullptr && hooks_.stop->load(std::memory_order_relaxed)) {
        save();
        return result(true);
      }
      if (seconds_since(last_save) >= spec.run.checkpoint_seconds) {
        save();
        last_save = Clock::now();
      }
      if (hooks_.progress && seconds_since(last_progress) >= 0.1) {
        record_.seconds = elapsed();
        hooks_.progress(trainer_, record_);
        last_progress = Clock::now();
      }
    }
    if (evaluated_at_ != trainer_.counters().env_steps) evaluate();
    save();
    save_models();
    if (hooks_.progress) hooks_.progress(trainer_, record_);
    const TrainResult done = result(false);
    write_file_atomically(run_dir_ + "/result.json", to_json(done) + "\n");
    return done;
  }

  bool finished() const {
    return trainer_.done() || (record_.solved && trainer_.spec().evaluation.stop_when_solved);
  }

  double elapsed() const { return earlier_seconds_ + seconds_since(start_); }

  void evaluate() {
    trainer_.clock().enter(Phase::evaluate);
    const Dqn& agent = trainer_.agent();
    const Evaluation e = evaluator_.run(agent.plan(), agent.online(), evaluation_team_);
    evaluated_at_ = trainer_.counters().env_steps;
    record_.greedy_return = e.mean;
    record_.greedy_deviation = e.deviation;
    if (!(e.mean <= record_.best_return)) {  // the first, or a better one
      record_.best_return = e.mean;
      std::copy(agent.online().begin(), agent.online().end(), best_.begin());
    }
    if (!record_.solved && e.mean >= threshold_) {
      record_.solved = true;
      record_.solved_env_steps = trainer_.counters().env_steps;
      record_.solved_seconds = elapsed();
    }
    trainer_.clock().enter(Phase::other);
  }

  void log() {
    trainer_.clock().enter(Phase::log);
    record_.seconds = elapsed();
    metrics_->write(trainer_, record_);
    trainer_.clock().enter(Phase::other);
  }

  void save() {
    trainer_.clock().enter(Phase::save);
    record_.seconds = elapsed();
    metrics_->sync();
    record_.metrics_bytes = metrics_->bytes();
    save_checkpoint(run_dir_, trainer_, record_, best_);
    trainer_.clock().enter(Phase::other);
  }

  void save_models() {
    const auto model = [&](std::span<const float> parameters, double greedy) {
      return Model{.spec = trainer_.spec(),
                   .structure = trainer_.agent().structure(),
                   .parameters = {parameters.begin(), parameters.end()},
                   .env_steps = trainer_.counters().env_steps,
                   .greedy_return = greedy};
    };
    save_model(run_dir_ + "/model-latest.safetensors",
               model(trainer_.agent().online(), record_.greedy_return));
    save_model(run_dir_ + "/model-best.safetensors", model(best_, record_.best_return));
  }

  TrainResult result(bool interrupted) {
    record_.seconds = elapsed();
    const TrainSpec& spec = trainer_.spec();
    return {.spec = spec.name,
            .seed = spec.run.seed,
            .env_steps = trainer_.counters().env_steps,
            .updates = trainer_.counters().updates,
            .declared_updates = declared_updates(spec),
            .episodes = trainer_.counters().episodes,
            .threads = spec.run.threads,
            .wall_seconds = record_.seconds,
            .eval_return_mean = record_.greedy_return,
            .eval_return_std = record_.greedy_deviation,
            .best_return_mean = record_.best_return,
            .solved = record_.solved,
            .solved_env_steps = record_.solved_env_steps,
            .solved_seconds = record_.solved_seconds,
            .params_hash = parameters_hash(trainer_.agent().structure(), trainer_.agent().online()),
            .run_dir = run_dir_,
            .interrupted = interrupted};
  }

  Clock::time_point start_;
  std::string run_dir_;
  SessionHooks hooks_;
  Trainer trainer_;
  ThreadTeam evaluation_team_;
  Evaluator evaluator_;
  std::vector<float> best_;  // flat parameters of the best evaluation
  std::optional<MetricsLog> metrics_;
  RunRecord record_;
  double threshold_ = kNone;
  double earlier_seconds_ = 0;  // of the sessions before this one
  std::int64_t evaluated_at_ = -1;
};

}  // namespace

std::string make_run_folder(const std::string& parent, const std::string& spec_name) {
  std::error_code error;
  fs::create_directories(parent, error);
  for (int number = 1; !error; ++number) {
    const std::string path = fmt::format("{}/{}-{}", parent, spec_name, number);
    if (fs::create_directory(path, error)) return path;
  }
  throw RunError(fmt::format("cannot create a run folder in '{}': {}", parent, error.message()));
}

TrainResult start_run(const TrainSpec& spec, const std::string& run_dir,
                      const SessionHooks& hooks) {
  Session session(spec, run_dir, hooks);
  std::error_code error;
  fs::create_directories(run_dir + "/checkpoints", error);
  if (error)
    throw RunError(fmt::format("cannot create '{}/checkpoints': {}", run_dir, error.message()));
  write_file_atomically(run_dir + "/spec.yaml", to_yaml(spec));
  const Json about = {{"version", HOTLOOP_VERSION}, {"cpu", cpu_name()}, {"seed", spec.run.seed}};
  write_file_atomically(run_dir + "/run.json", about.dump(2) + "\n");
  return session.start();
}

TrainSpec load_run_spec(const std::string& run_dir, std::span<const std::string> overrides) {
  if (!fs::exists(run_dir + "/spec.yaml")) {
    throw UsageError(fmt::format("'{}' is not a run folder: it has no spec.yaml", run_dir));
  }
  for (const std::string& override : overrides) {
    if (override.starts_with("run.") && !override.starts_with("run.seed")) continue;
    throw UsageError(
        fmt::format("--set {}: a resumed run keeps its spec; allowed: run.steps, run.threads, "
                    "run.checkpoint_seconds, run.log_every",
                    override));
  }
  return load_spec(run_dir + "/spec.yaml", overrides);
}

TrainResult resume_run(const TrainSpec& spec, const std::string& run_dir,
                       const std::optional<std::string>& checkpoint, const SessionHooks& hooks) {
  const std::vector<std::string> all = list_checkpoints(run_dir);
  if (all.empty() && !checkpoint)
    throw RunError(fmt::format("'{}' has no checkpoint to resume from", run_dir));
  Session session(spec, run_dir, hooks);
  try {
    return session.resume(checkpoint.value_or(all.empty() ? "" : all.back()));
  } catch (const RunError& e) {
    if (checkpoint || all.size() < 2) throw;
    throw RunError(fmt::format(
        "{}\nan earlier checkpoint can be tried with: hotloop resume {} --checkpoint {}", e.what(),
        run_dir, all[all.size() - 2]));
  }
}

}  // namespace hotloop
