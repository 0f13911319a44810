#include "doctor/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <tuple>

#include <hotloop/error.hpp>

namespace hotloop {
namespace {

using Clock = std::chrono::steady_clock;

// Shares of the budget.
constexpr double kProfile = 0.06, kContests = 0.44, kTogether = 0.1;
constexpr double kLongestProfile = 15, kLongestContest = 30, kShortestContest = 1.5;  // seconds
constexpr int kFewestSeeds = 3, kMostSeeds = 30;

class Examination {
 public:
  Examination(const SpecSource& source, const DoctorOptions& options)
      : source_(source), options_(options), baseline_(source({})) {}

  Diagnosis run() {
    say("profile");
    diagnosis_.profile =
        take_profile(baseline_, {.seconds = std::min(kLongestProfile, kProfile * budget()),
                                 .trace = 0,
                                 .stop = options_.stop});
    diagnosis_.findings = find_causes(diagnosis_.profile);
    if (diagnosis_.profile.failure.empty()) {
      for (Remedy& remedy : propose(diagnosis_.profile, source_)) {
        diagnosis_.trials.push_back({.remedy = std::move(remedy)});
      }
      try_speed();
      try_learning();
    }
    rank(diagnosis_.trials);
    recommend();
    diagnosis_.minutes = elapsed() / 60;
    diagnosis_.interrupted = stopped();
    return std::move(diagnosis_);
  }

 private:
  double budget() const { return 60 * options_.minutes; }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }
  void say(const std::string& what) const {
    if (options_.progress) {
      options_.progress(fmt::format("{:3.0f} of {:.0f} s  {}", elapsed(), budget(), what));
    }
  }

  void try_speed() {
    auto& trials = diagnosis_.trials;
    const double until = (kProfile + kContests) * budget();
    // Where training must be the same, whole runs are compared, if they can be.
    const auto weight = [](const Trial& trial) { return trial.remedy.same_result ? 2.0 : 1.0; };
    double weights = 0;
    for (const Trial& trial : trials) weights += weight(trial);
    for (std::size_t i = 0; i < trials.size() && !stopped(); ++i) {
      Trial& trial = trials[i];
      const double left = until - elapsed();
      if (left < kShortestContest) break;
      const double seconds =
          std::clamp(left * weight(trial) / weights, kShortestContest, kLongestContest);
      weights -= weight(trial);
      say(fmt::format("speed, {} of {}: {}", i + 1, trials.size(), trial.remedy.title));
      try {
        const TrainSpec changed = source_(trial.remedy.overrides);
        trial.less_learning = learnt_per_step(baseline_) / learnt_per_step(changed);
        trial.speed = contest(baseline_, changed, trial.remedy.same_result, seconds);
      } catch (const std::exception& error) {
        trial.failure = error.what();
      }
    }
  }

  std::optional<Speed> contest(const TrainSpec& a, const TrainSpec& b, bool same_result,
                               double seconds) const {
    const Speed speed = compare_speed(a, b, same_result, seconds, options_.stop);
    return speed.turns > 0 ? std::optional(speed) : std::nullopt;
  }

  // Those that change the algorithm and are faster, and the baseline, seed by seed.
  void try_learning() {
    std::vector<Trial*> candidates;
    for (Trial& trial : diagnosis_.trials) {
      if (trial.is_faster() && !trial.is_free()) candidates.push_back(&trial);
    }
    if (candidates.empty()) return;
    const double until = (1 - kTogether) * budget();
    std::vector<ShortRun> before;
    std::vector<std::vector<ShortRun>> after(candidates.size());
    const auto runs = static_cast<double>(kFewestSeeds * (candidates.size() + 1));
    double seconds = std::max(0.0, until - elapsed()) / runs;
    double took = 0;  // by a seed
    for (int seed = 0; seed < kMostSeeds && !stopped() && seconds > 0; ++seed) {
      if (seed > 0 && elapsed() + took > (seed < kFewestSeeds ? budget() : until)) break;
      const double began = elapsed();
      say(fmt::format("learning, seed {}: the spec and {} remedies", seed + 1, candidates.size()));
      const ShortRun run = shortly(baseline_, seed, seconds);
      if (seed == 0) {
        // It tells how long a whole run is, and what evaluations cost on top of training.
        const double overhead = (elapsed() - began) / std::max(1e-9, run.back().seconds);
        const double left = std::max(0.0, until - elapsed()) / (runs - 1) / overhead;
        seconds = std::min(left, run.back().seconds);
      }
      std::vector<ShortRun> others;
      for (const Trial* trial : candidates) {
        if (stopped()) break;
        others.push_back(shortly(source_(trial->remedy.overrides), seed, seconds));
      }
      if (stopped()) break;
      before.push_back(run);
      for (std::size_t i = 0; i < others.size(); ++i) after[i].push_back(std::move(others[i]));
      took = elapsed() - began;
    }
    if (before.size() < 2) return;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      candidates[i]->learning = compare_learning(before, after[i], seconds);
    }
  }

  ShortRun shortly(const TrainSpec& spec, int seed, double seconds) const {
    return train_shortly(spec, baseline_.run.seed + static_cast<std::uint64_t>(seed), seconds,
                         options_.stop);
  }

  // The best one, and of the others those that still help after it.
  void recommend() {
    auto& kept = diagnosis_.overrides;
    std::vector<const Trial*> others;
    for (const Trial& trial : diagnosis_.trials) {
      if (!trial.is_recommended()) continue;
      if (kept.empty()) {
        kept = trial.remedy.overrides;
      } else {
        others.push_back(&trial);
      }
    }
    bool all_free = !diagnosis_.trials.empty() && diagnosis_.trials.front().is_free();
    int count = 1;
    for (const Trial* trial : others) {
      if (stopped()) return;
      std::vector<std::string> more = kept;
      more.insert(more.end(), trial->remedy.overrides.begin(), trial->remedy.overrides.end());
      const double seconds = kTogether * budget() / static_cast<double>(others.size() + 1);
      say(fmt::format("together: {}", trial->remedy.title));
      try {
        const auto speed = contest(source_(kept), source_(more), trial->is_free(), seconds);
        if (!speed || speed->low <= 1) continue;
      } catch (const std::exception&) {
        continue;  // they do not go together
      }
      kept = more;
      all_free &= trial->is_free();
      ++count;
    }
    if (count < 2 || stopped()) return;
    say("together: all that is recommended");
    diagnosis_.together =
        contest(baseline_, source_(kept), all_free, kTogether * budget() / (others.size() + 1.0));
  }

  const SpecSource& source_;
  DoctorOptions options_;
  TrainSpec baseline_;
  Diagnosis diagnosis_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

bool Trial::is_recommended() const {
  if (!is_faster()) return false;
  if (is_free()) return true;
  return learning && learning->per_second == Effect::better && !learns_less();
}

void rank(std::vector<Trial>& trials) {
  const auto place = [](const Trial& t) {
    int group = 5;
    if (t.is_free() && t.is_faster()) {
      group = 0;
    } else if (t.is_faster()) {
      const Effect effect = t.learning ? t.learning->per_second : Effect::not_shown;
      group = effect == Effect::better      ? 1
              : effect == Effect::same      ? 2
              : effect == Effect::not_shown ? 3
                                            : 4;
    }
    return std::tuple(group, t.learns_less(), t.speed ? -t.speed->ratio : 0.0);
  };
  std::stable_sort(trials.begin(), trials.end(),
                   [&](const Trial& a, const Trial& b) { return place(a) < place(b); });
}

Diagnosis examine_spec(const SpecSource& source, const DoctorOptions& options) {
  return Examination(source, options).run();
}

}  // namespace hotloop
