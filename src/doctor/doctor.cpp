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
constexpr double kProfile = 0.08, kContests = 0.42, kTogether = 0.06;
constexpr double kLongestProfile = 15, kLongestContest = 20, kShortestContest = 1.5;  // seconds
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
    for (std::size_t i = 0; i < trials.size() && !stopped(); ++i) {
      Trial& trial = trials[i];
      const double left = until - elapsed();
      const double seconds = left / static_cast<double>(trials.size() - i);
      if (left < kShortestContest) break;
      say(fmt::format("speed, {} of {}: {}", i + 1, trials.size(), trial.remedy.title));
      try {
        const TrainSpec changed = source_(trial.remedy.overrides);
        trial.less_learning = learnt_per_step(baseline_) / learnt_per_step(changed);
        const Speed speed =
            compare_speed(baseline_, changed, trial.remedy.same_result,
                          std::clamp(seconds, kShortestContest, kLongestContest), options_.stop);
        if (speed.turns > 0) trial.speed = speed;
      } catch (const std::exception& error) {
        trial.failure = error.what();
      }
    }
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

  void recommend() {
    int count = 0;
    for (const Trial& trial : diagnosis_.trials) {
      if (!trial.is_recommended()) continue;
      // Two that set the same key cannot both be followed; the better one is.
      const auto key = [](const std::string& text) { return text.substr(0, text.find('=')); };
      const bool clashes = std::any_of(
          trial.remedy.overrides.begin(), trial.remedy.overrides.end(), [&](const auto& mine) {
            return std::any_of(diagnosis_.overrides.begin(), diagnosis_.overrides.end(),
                               [&](const auto& other) { return key(mine) == key(other); });
          });
      if (clashes) continue;
      ++count;
      diagnosis_.overrides.insert(diagnosis_.overrides.end(), trial.remedy.overrides.begin(),
                                  trial.remedy.overrides.end());
    }
    if (count < 2 || stopped()) return;
    say("speed: all that is recommended, together");
    try {
      const Speed speed = compare_speed(baseline_, source_(diagnosis_.overrides), true,
                                        kTogether * budget(), options_.stop);
      if (speed.turns > 0) diagnosis_.together = speed;
    } catch (const UsageError&) {
      // They cannot be followed together: the best one alone, then.
      diagnosis_.overrides = diagnosis_.trials.front().remedy.overrides;
    }
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
