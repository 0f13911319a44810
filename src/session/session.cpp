#include "session/session.hpp"

#include <fmt/format.h>

#include <hotloop/error.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "algo/common/algorithm.hpp"
#include "algo/common/rounds.hpp"
#include "core/system.hpp"
#include "env/file/world_file.hpp"
#include "record/checkpoint.hpp"
#include "record/env_facts.hpp"
#include "record/graph_report.hpp"
#include "record/json_fields.hpp"
#include "record/model_file.hpp"
#include "session/demonstrations.hpp"
#include "session/result.hpp"
#include "train/feasible.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

double seconds_between(std::chrono::steady_clock::time_point start,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

// Whether a multiple of `every` lies in (before, now].
bool crossed(std::int64_t before, std::int64_t now, std::int64_t every) {
  return every > 0 && before / every != now / every;
}

// A checkpoint stores the lengths to which metrics.jsonl and episodes.jsonl are cut on resume.
// Those of another run would cut them at arbitrary places.
void check_own_checkpoint(const std::string& path, const std::string& run_dir) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (!fs::exists(path, error) ||  // reported when it is read
      fs::equivalent(folder.empty() ? "." : folder, fs::path(run_dir) / "checkpoints", error))
    return;
  throw UsageError(fmt::format(
      "--checkpoint {}: not a checkpoint of this run; they are in {}/checkpoints", path, run_dir));
}

}  // namespace

Session::Session(const TrainSpec& spec, std::string run_dir, const SessionHooks& hooks,
                 const Demonstrations* demonstrations)
    : start_(Clock::now()),
      last_save_(start_),
      last_progress_(start_),
      run_dir_(std::move(run_dir)),
      hooks_(hooks),
      lock_(run_dir_ + "/.lock", run_dir_),
      trainer_(spec, demonstrations),
      evaluator_(spec.world(), spec.evaluation, spec.run.seed, trainer_.network().structure(),
                 spec.algorithm->head(spec, trainer_.world())),
      rule_(spec.evaluation, evaluator_.spec()),
      threshold_(solved_threshold(spec.evaluation, trainer_.env().spec())),
      best_(packed_model()) {
  make_real_folder(run_dir_ + "/checkpoints");
  if (spec.run.snapshot_every > 0) make_real_folder(run_dir_ + "/snapshots");
  for (const char* folder : {"/.", "/checkpoints", "/snapshots"}) {
    remove_stale_temporaries(run_dir_ + folder);
  }
}

void Session::start() {
  const TrainSpec& spec = trainer_.spec();
  if (is_world_file(spec.env)) keep_world_file(spec.env, run_dir_);
  write_file_atomically(run_dir_ + "/spec.yaml", to_yaml(portable(spec)));
  const Json about = {{"version", version()}, {"cpu", cpu_name()}, {"seed", spec.run.seed}};
  write_file_atomically(run_dir_ + "/run.json", about.dump(2) + "\n");
  if (const DagLayer* dag = graph_of(trainer_.network().structure())) {
    write_file_atomically(run_dir_ + "/graph.json", describe_graph(*dag->graph).dump() + "\n");
  }
  metrics_.emplace(run_dir_ + "/metrics.jsonl", spec.run);
  open_episodes();
  save();  // from here on there is always a checkpoint to resume from
}

void Session::load(const std::string& checkpoint) {
  load_checkpoint(checkpoint, trainer_, record_, best_);
  check_best(checkpoint);
  earlier_seconds_ = record_.seconds;
  earlier_groups_ = record_.group_seconds;
}

void Session::continue_logs() {
  metrics_.emplace(run_dir_ + "/metrics.jsonl", trainer_.spec().run, trainer_.counters().env_steps,
                   record_.metrics_bytes);
  warn_of_loss("metrics.jsonl", metrics_->file().lost());
  open_episodes();
}

void Session::advance() {
  const TrainSpec& spec = trainer_.spec();
  const std::int64_t before = trainer_.counters().env_steps;
  const std::int64_t episodes_before = trainer_.counters().episodes;
  trainer_.round();
  if (hooks_.note && !thread_reason_shown_ && !trainer_.threads().reason().empty()) {
    hooks_.note(trainer_.threads().reason());
    thread_reason_shown_ = true;
  }
  if (!trainer_.finished().empty()) write_episodes();
  snapshot_if_due(episodes_before);
  const std::int64_t now = trainer_.counters().env_steps;
  if (crossed(before, now, spec.evaluation.every) || trainer_.done()) evaluate();
  if (crossed(before, now, spec.run.log_every) || finished()) log();
  const Clock::time_point time = Clock::now();
  if (seconds_between(last_save_, time) >= spec.run.checkpoint_seconds) {
    save();
    save_models();
    last_save_ = Clock::now();
  }
  if (hooks_.progress && seconds_between(last_progress_, time) >= 0.1) {
    record_.seconds = elapsed();
    hooks_.progress(trainer_, record_);
    last_progress_ = time;
  }
}

TrainResult Session::run() {
  last_save_ = last_progress_ = Clock::now();
  try {
    while (!finished() && !stop_) {
      advance();
      stop_ |= hooks_.stop != nullptr && hooks_.stop->load(std::memory_order_relaxed);
    }
  } catch (const WorldError& error) {  // the environment's fault, not that of training
    if (error.is_memory_intact) try_save_models();
    throw RunError(fmt::format("{}\nthe newest checkpoint is whole: hotloop resume {}",
                               error.what(), run_dir_));
  } catch (...) {
    try_save_models();
    throw;
  }
  const bool interrupted = !finished();
  save();
  save_models();
  TrainResult summary = result(interrupted);
  if (!interrupted) write_file_atomically(run_dir_ + "/result.json", to_json(summary) + "\n");
  return summary;
}

// A failing run still saves its models, which are consistent. Its training state is not: resume
// uses the newest checkpoint.
void Session::try_save_models() noexcept {
  try {
    save_models();
  } catch (...) {  // the error that made the run fail is the one to report
  }
}

bool Session::finished() const {
  return trainer_.done() || (record_.solved && trainer_.spec().evaluation.stop_when_solved);
}

void Session::open_episodes() {
  if (!trainer_.spec().run.episode_log) return;
  episodes_.emplace(run_dir_ + "/episodes.jsonl", record_.episode_bytes);
  warn_of_loss("episodes.jsonl", record_.episode_bytes - episodes_->bytes());
}

void Session::warn_of_loss(const char* log, std::uint64_t bytes) {
  if (bytes == 0) return;
  warn(fmt::format(
      "{} lacks {} bytes that it had at the checkpoint; it continues without them, and training is "
      "not affected",
      log, bytes));
}

void Session::write_episodes() {
  trainer_.clock().enter(Phase::log);
  episodes_->write(trainer_.env().spec(), trainer_.finished());
  trainer_.clock().enter(Phase::other);
}

double Session::elapsed() const { return earlier_seconds_ + seconds_between(start_, Clock::now()); }

void Session::note_time() {
  record_.seconds = elapsed();
  const GroupShares shares = trainer_.clock().group_shares();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    record_.group_seconds[i] =
        earlier_groups_[i] + shares[i] * (record_.seconds - earlier_seconds_);
  }
}

void Session::evaluate() {
  trainer_.clock().enter(Phase::evaluate);
  const LearntNetwork& network = trainer_.network();
  const Evaluation e = evaluator_.run(network.online(), network.scale(), trainer_.team());
  const std::int64_t now = trainer_.counters().env_steps;
  warn_of_cuts(e);
  record_.greedy_return = e.mean;
  record_.greedy_std = e.std;
  record_.greedy_measures = e.measures;
  record_.greedy_env_steps = now;
  record_.lowest_return = std::fmin(record_.lowest_return, e.mean);
  if (const double score = rule_.score(e); rule_.is_better(score, record_.best_score)) {
    record_.best_score = score;
    record_.best_return = e.mean;
    record_.best_env_steps = now;
    best_ = packed_model();
  }
  if (!record_.solved && e.mean >= threshold_) {
    record_.solved = true;
    record_.solved_env_steps = now;
    record_.solved_seconds = elapsed();
  }
  if (trainer_.done()) warn_of_collapse(e);
  trainer_.clock().enter(Phase::other);
}

void Session::warn(const std::string& text) {
  std::vector<std::string>& reported = record_.health.warnings;
  if (std::ranges::find(reported, text) != reported.end()) return;
  reported.push_back(text);
  if (hooks_.warning) hooks_.warning(text);
}

// A run that ends far below its best evaluation has lost most of what it learnt.
void Session::warn_of_collapse(const Evaluation& last) {
  const double best = record_.best_return, range = best - record_.lowest_return;
  const double standard_error = last.std / std::sqrt(static_cast<double>(last.episodes.size()));
  const double fall = best - last.mean;
  if (!(fall > 0.5 * range && fall > 3 * standard_error && range > 0.25 * std::abs(best))) return;
  warn(
      fmt::format("the greedy return fell from {:.4g} at env step {} to {:.4g} at the end; "
                  "model-best.safetensors is the better model. A smaller or decaying "
                  "optimiser.learning_rate makes this less likely",
                  best, record_.best_env_steps, last.mean));
}

// A user who keeps the default limit does not expect to reach it.
void Session::warn_of_cuts(const Evaluation& evaluation) {
  const std::int64_t limit = trainer_.spec().evaluation.max_steps;
  const bool cut = std::ranges::any_of(evaluation.episodes, [](auto& e) { return !e.finished; });
  if (!cut || limit != EvaluationOptions{}.max_steps) return;
  warn(fmt::format(
      "greedy episodes did not end within {} steps, which makes evaluation slow; set a smaller "
      "evaluation.max_steps, or give the environment a time limit",
      limit));
}

void Session::log() {
  trainer_.clock().enter(Phase::log);
  note_time();
  for (const std::string& warning : metrics_->write(trainer_, record_, finished())) {
    if (hooks_.warning) hooks_.warning(warning);
  }
  if (hooks_.row && !hooks_.row(metrics_->latest())) stop_ = true;
  if (episodes_) episodes_->flush();
  trainer_.clock().enter(Phase::other);
}

void Session::save() {
  trainer_.clock().enter(Phase::checkpoint);
  note_time();
  metrics_->file().sync();
  record_.metrics_bytes = metrics_->file().bytes();
  if (episodes_) {
    episodes_->sync();
    record_.episode_bytes = episodes_->bytes();
  }
  save_checkpoint(run_dir_, trainer_, record_, best_);
  trainer_.clock().enter(Phase::other);
}

// All values of a model in one array: the reward factor, the flat parameters, then the mean and
// factor that normalise observations, if any.
std::vector<float> Session::packed_model() {
  const LearntNetwork& network = trainer_.network();
  std::vector<float> all = {trainer_.learner().reward_factor()};
  all.insert(all.end(), network.online().begin(), network.online().end());
  if (const InputScale* scale = network.scale()) {
    const int inputs = network.structure().inputs;
    all.insert(all.end(), scale->mean, scale->mean + inputs);
    all.insert(all.end(), scale->factor, scale->factor + inputs);
  }
  return all;
}

void Session::check_best(const std::string& checkpoint) {
  const Structure& structure = trainer_.network().structure();
  const std::span<const float> all = best_;
  const std::span<const float> statistics = all.subspan(1 + structure.storage);
  const std::string name = checkpoint + ": best";
  check_limits(structure, all.subspan(1), name);
  for (const std::span<const float> factors :
       {all.first(1), statistics.subspan(statistics.size() / 2)}) {
    if (Limits::at_least(0).first_outside(factors)) {
      throw RunError(fmt::format("{}: a factor is negative", name));
    }
  }
}

void Session::save_model_file(const std::string& path, const std::vector<float>& all,
                              std::int64_t env_steps, double greedy_return) {
  const Structure& structure = trainer_.network().structure();
  const auto parameters = all.begin() + 1;
  const auto statistics = parameters + static_cast<std::ptrdiff_t>(structure.storage);
  const auto middle = statistics + (all.end() - statistics) / 2;
  save_model(path, {.spec = trainer_.spec(),
                    .structure = structure,
                    .parameters = {parameters, statistics},
                    .input_mean = {statistics, middle},
                    .input_factor = {middle, all.end()},
                    .reward_factor = all[0],
                    .env_facts = env_facts(trainer_.env().worlds()),
                    .env_steps = env_steps,
                    .greedy_return = greedy_return});
}

void Session::save_models() {
  trainer_.clock().enter(Phase::checkpoint);
  const std::int64_t now = trainer_.counters().env_steps;
  save_model_file(run_dir_ + "/model-latest.safetensors", packed_model(), now,
                  record_.greedy_env_steps == now ? record_.greedy_return : kNone);
  if (!std::isnan(record_.best_return)) {
    save_model_file(run_dir_ + "/model-best.safetensors", best_, record_.best_env_steps,
                    record_.best_return);
  }
  trainer_.clock().enter(Phase::other);
}

// Extra model files that show how the network changes during training.
void Session::snapshot_if_due(std::int64_t before) {
  const std::int64_t every = trainer_.spec().run.snapshot_every;
  const std::int64_t now = trainer_.counters().episodes;
  const bool is_first = every > 0 && before == 0 && now > 0;
  if (!is_first && !crossed(before, now, every)) return;
  trainer_.clock().enter(Phase::checkpoint);
  save_model_file(fmt::format("{}/snapshots/{:010}.safetensors", run_dir_, now), packed_model(),
                  trainer_.counters().env_steps, kNone);
  trainer_.clock().enter(Phase::other);
}

TrainResult Session::result(bool interrupted) {
  note_time();
  const TrainSpec& spec = trainer_.spec();
  return {.spec = spec.name,
          .seed = spec.run.seed,
          .env_steps = trainer_.counters().env_steps,
          .updates = trainer_.counters().updates,
          .declared_updates = declared_updates(
              spec, spec.run.steps == kNoLimit ? trainer_.counters().env_steps : spec.run.steps),
          .updates_per_step = spec.learn.updates_per_step,
          .train_events = trainer_.counters().train_events,
          .batches = trainer_.counters().batches * spec.learn.accumulate,
          .target_updates = trainer_.counters().target_updates,
          .episodes = trainer_.counters().episodes,
          .threads = trainer_.team().size(),
          .wall_seconds = record_.seconds,
          .eval_return_mean = record_.greedy_return,
          .eval_return_std = record_.greedy_std,
          .best_return_mean = record_.best_return,
          .solved = record_.solved,
          .solved_env_steps = record_.solved_env_steps,
          .solved_seconds = record_.solved_seconds,
          .params_hash = parameters_hash(trainer_.learner()),
          .run_dir = run_dir_,
          .cpu = cpu_name(),
          .interrupted = interrupted,
          .warnings = record_.health.warnings,
          .score_last100 = score(&EpisodeLog::mean_of_last),
          .score_max = score(&EpisodeLog::largest),
          .score_greedy = score_greedy(),
          .measures = measure_means(),
          .time = time_shares(),
          .episode_return_mean = trainer_.episodes().mean(EpisodeLog::kReturn),
          .episode_return_last100 = trainer_.episodes().mean_of_last(EpisodeLog::kReturn)};
}

// The index of "score" among the environment's measures; -1 if there is none.
int Session::score_column() const {
  const auto& names = trainer_.env().spec().measures;
  const auto score = std::find(names.begin(), names.end(), "score");
  return score == names.end() ? -1 : static_cast<int>(score - names.begin());
}
double Session::score(double (EpisodeLog::*what)(int) const) const {
  const int column = score_column();
  return column < 0 ? kNone : (trainer_.episodes().*what)(EpisodeLog::kMeasures + column);
}
double Session::score_greedy() const {
  const int column = score_column();
  const bool measured = column >= 0 && !std::isnan(record_.greedy_return);
  return measured ? record_.greedy_measures[column] : kNone;
}
std::vector<std::pair<std::string, double>> Session::time_shares() const {
  const GroupShares shares = record_.time_shares();
  std::vector<std::pair<std::string, double>> list;
  for (std::size_t i = 0; i < shares.size(); ++i) list.emplace_back(kPhaseGroups[i], shares[i]);
  return list;
}
std::vector<std::pair<std::string, double>> Session::measure_means() const {
  const EnvSpec& env = trainer_.env().spec();
  std::vector<std::pair<std::string, double>> means;
  for (int i = 0; i < env.measure_count(); ++i) {
    means.emplace_back(env.measures[i], trainer_.episodes().mean(EpisodeLog::kMeasures + i));
  }
  return means;
}

std::string make_run_folder(const std::string& parent, const std::string& spec_name) {
  std::error_code error;
  fs::create_directories(parent, error);
  for (int number = 1; !error; ++number) {
    std::string path = fmt::format("{}/{}-{}", parent, spec_name, number);
    if (fs::create_directory(path, error)) return path;
  }
  throw RunError(fmt::format("cannot create a run folder in '{}': {}", parent, error.message()));
}

RunOrigin run_origin(const std::string& run_dir) {
  try {
    const Json about = read_json(run_dir + "/run.json");
    return {.version = about.at("version"), .cpu = about.at("cpu")};
  } catch (const RunError&) {  // missing or unreadable
  } catch (const Json::exception&) {
  }
  return {};
}

TrainResult start_run(const TrainSpec& spec, const std::string& run_dir,
                      const SessionHooks& hooks) {
  TrainSpec own = spec;
  std::optional<TransitionFile> file = read_demonstrations(own);
  Session session(own, run_dir, hooks, file ? &file->transitions : nullptr);
  if (file) save_transitions(run_dir + "/" + kDemonstrationsFile, *file);
  file.reset();
  session.start();
  return session.run();
}

TrainSpec load_run_spec(const std::string& run_dir, std::span<const std::string> overrides) {
  if (!fs::exists(run_dir + "/spec.yaml")) {
    throw UsageError(fmt::format("'{}' is not a run folder: it has no spec.yaml", run_dir));
  }
  for (const std::string& override : overrides) {
    const bool free = override.starts_with("run.") || override.starts_with("evaluation.");
    if (free && !override.starts_with("run.seed")) continue;
    if (is_isolation_key(override)) continue;
    throw UsageError(
        fmt::format("--set {}: a resumed run cannot change its training; allowed: "
                    "evaluation.*, run.* except run.seed, and env.isolate",
                    override));
  }
  return load_spec_file(run_dir + "/spec.yaml", overrides);
}

TrainResult resume_run(const TrainSpec& spec, const std::string& run_dir,
                       const std::optional<std::string>& checkpoint, const SessionHooks& hooks) {
  const std::vector<std::string> all = list_checkpoints(run_dir);
  if (all.empty() && !checkpoint) {
    throw RunError(fmt::format("'{}' has no checkpoint to resume from", run_dir));
  }
  if (checkpoint) check_own_checkpoint(*checkpoint, run_dir);
  Session session(spec, run_dir, hooks);
  try {
    session.load(checkpoint ? *checkpoint : all.back());
  } catch (const RunError& e) {
    if (checkpoint || all.size() < 2) throw;
    throw RunError(
        fmt::format("{}\nto try an earlier checkpoint: hotloop resume {} --checkpoint {}", e.what(),
                    run_dir, all[all.size() - 2]));
  }
  // The last vector step may have exceeded run.steps.
  if (const std::int64_t done = session.trainer().counters().env_steps;
      spec.run.steps <= done - spec.envs) {
    throw UsageError(
        fmt::format("run.steps: {} is fewer than the {} steps already done; to resume from an "
                    "earlier checkpoint: hotloop resume {} --checkpoint FILE",
                    spec.run.steps, done, run_dir));
  }
  session.continue_logs();
  constexpr const char* kNothingLeft =
      "the run is solved and stopped there, so there is nothing left to do; to continue: --set "
      "evaluation.stop_when_solved=false";
  const bool nothing_left =
      session.record().solved && session.finished() && !session.trainer().done();
  if (nothing_left && hooks.warning) hooks.warning(kNothingLeft);
  write_file_atomically(run_dir + "/spec.yaml",
                        to_yaml(portable(spec)));  // with this session's changes
  TrainResult result = session.run();
  if (nothing_left) result.warnings.emplace_back(kNothingLeft);
  return result;
}

}  // namespace hotloop
