#include "doctor/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include <hotloop/error.hpp>

#include "algo/common/algorithm.hpp"
#include "core/stopwatch.hpp"
#include "core/system.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

// Shares of the budget.
constexpr double kProfile = 0.06, kContests = 0.44, kTogether = 0.1;
constexpr double kMaxProfile = 15, kMaxContest = 30, kMinContest = 1.5;  // seconds
constexpr int kMinSeeds = 3, kMaxSeeds = 30;

class Examination {
 public:
  Examination(const SpecSource& source, const DoctorOptions& options)
      : source_(source), options_(options), baseline_(source({})) {}

  Diagnosis run() {
    say("profile");
    diagnosis_.profile = take_profile(
        baseline_,
        {.seconds = std::min(kMaxProfile, kProfile * budget()), .trace = 0, .stop = options_.stop});
    diagnosis_.findings = find_causes(diagnosis_.profile);
    if (diagnosis_.profile.failure.empty()) {
      for (Remedy& remedy : propose(diagnosis_.profile, source_)) {
        const double learnt = learnt_per_step(source_(remedy.overrides));
        diagnosis_.trials.push_back(
            {.remedy = std::move(remedy), .less_learning = learnt_per_step(baseline_) / learnt});
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
  struct Candidate {
    Trial* trial;
    std::vector<ShortRun> runs;  // by seed
  };

  double budget() const { return 60 * options_.minutes; }
  double elapsed() const { return watch_.seconds(); }
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }
  void say(const std::string& what) const {
    if (options_.progress) {
      options_.progress(fmt::format("{:3.0f} of {:.0f} s  {}", elapsed(), budget(), what));
    }
  }

  void try_speed() {
    auto& trials = diagnosis_.trials;
    const double until = (kProfile + kContests) * budget();
    // Remedies that keep the result get more time, so that whole runs can be compared.
    const auto weight = [](const Trial& trial) { return trial.remedy.same_result ? 2.0 : 1.0; };
    double weights = 0;
    for (const Trial& trial : trials) weights += weight(trial);
    for (std::size_t i = 0; i < trials.size() && !stopped(); ++i) {
      Trial& trial = trials[i];
      const double left = until - elapsed();
      if (left < kMinContest) break;
      const double seconds = std::clamp(left * weight(trial) / weights, kMinContest, kMaxContest);
      weights -= weight(trial);
      say(fmt::format("speed, {} of {}: {}", i + 1, trials.size(), trial.remedy.title));
      try {
        const TrainSpec changed = source_(trial.remedy.overrides);
        trial.speed = contest(baseline_, changed, trial.remedy.same_result, seconds);
      } catch (const std::exception& error) {
        trial.failure = error.what();
      }
    }
  }

  std::optional<Speed> contest(const TrainSpec& a, const TrainSpec& b, bool same_result,
                               double seconds) const {
    const auto bytes = [](const TrainSpec& spec) {
      const MemoryNeed need = spec.algorithm->memory_need(spec, world_facts(spec.world()));
      return need.experience + need.network;
    };
    if (bytes(a) + bytes(b) > kMaxShareOfMemory * static_cast<double>(memory_bytes())) {
      throw RunError("two runs at the same time do not fit into this machine's memory");
    }
    if (2 * diagnosis_.profile.warm_up_seconds > seconds) {
      throw RunError(
          fmt::format("collecting before the first update takes {:.3g} s in each of two "
                      "runs, but only {:.3g} s were available. Give it more --minutes",
                      diagnosis_.profile.warm_up_seconds, seconds));
    }
    const Speed speed = compare_speed(a, b, same_result, seconds, options_.stop);
    return speed.turns > 0 ? std::optional(speed) : std::nullopt;
  }

  // Trains the baseline and the faster remedies that change the algorithm, seed by seed.
  void try_learning() {
    std::vector<Candidate> candidates;
    for (Trial& trial : diagnosis_.trials) {
      if (trial.is_faster() && !trial.is_free()) candidates.push_back({&trial, {}});
    }
    if (candidates.empty()) return;
    const double until = (1 - kTogether) * budget();
    const auto runs = static_cast<double>(kMinSeeds * (candidates.size() + 1));
    double seconds = std::max(0.0, until - elapsed()) / runs;
    double took = 0;  // seconds for the last seed
    std::vector<ShortRun> before;
    for (int seed = 0; seed < kMaxSeeds && !stopped() && seconds > 0; ++seed) {
      if (seed > 0 && elapsed() + took > until + (seed < kMinSeeds ? 0.5 * took : 0)) break;
      const double began = elapsed();
      say(fmt::format("learning, seed {}: the spec and {} remedies", seed + 1, candidates.size()));
      try {
        before.push_back(short_run(baseline_, seed, seconds));
      } catch (const RunError& error) {
        diagnosis_.profile.warnings.push_back(error.what());
        break;
      }
      if (seed == 0) {
        // It shows how long a whole run takes, and what evaluations cost on top of training.
        const double trained = before[0].back().seconds;
        const double overhead = (elapsed() - began) / std::max(1e-9, trained);
        seconds = std::min(trained, std::max(0.0, until - elapsed()) / (runs - 1) / overhead);
      }
      for (Candidate& candidate : candidates) {
        if (stopped() || !candidate.trial->failure.empty()) continue;
        try {
          candidate.runs.push_back(
              short_run(source_(candidate.trial->remedy.overrides), seed, seconds));
        } catch (const RunError& error) {
          candidate.trial->failure = error.what();  // it does not learn, which is a result too
        }
      }
      took = elapsed() - began;
    }
    if (stopped() && !before.empty()) before.pop_back();  // the last one was cut short
    if (before.size() < static_cast<std::size_t>(kMinSeeds)) return;
    for (Candidate& candidate : candidates) {
      if (candidate.runs.size() < before.size() || !candidate.trial->failure.empty()) continue;
      candidate.trial->learning =
          compare_learning(before, candidate.runs, seconds, static_cast<int>(candidates.size()));
    }
  }

  ShortRun short_run(const TrainSpec& spec, int seed, double seconds) const {
    return train_shortly(spec, baseline_.run.seed + static_cast<std::uint64_t>(seed), seconds,
                         options_.stop);
  }

  // The best remedy, then the others that still help on top of it. Only one may change the
  // algorithm, because combinations of such changes were not tested.
  void recommend() {
    std::vector<Trial*> good;
    for (Trial& trial : diagnosis_.trials) {
      if (trial.is_good()) good.push_back(&trial);
    }
    if (good.empty()) return;
    auto& kept = diagnosis_.overrides;
    const double seconds = kTogether * budget() / static_cast<double>(good.size());
    bool all_free = true;
    int count = 0;
    for (Trial* trial : good) {
      if (!all_free && !trial->is_free()) continue;
      std::vector<std::string> more = kept;
      more.insert(more.end(), trial->remedy.overrides.begin(), trial->remedy.overrides.end());
      if (count > 0 && !helps(kept, more, trial->is_free(), seconds, trial->remedy.title)) continue;
      kept = more;
      trial->recommended = true;
      all_free &= trial->is_free();
      ++count;
    }
    if (count < 2 || stopped()) return;
    say("together: all recommended remedies");
    try {
      diagnosis_.together = contest(baseline_, source_(kept), all_free, seconds);
    } catch (const std::exception&) {
      // The combination is not measured.
    }
  }

  bool helps(const std::vector<std::string>& before, const std::vector<std::string>& after,
             bool same_result, double seconds, const std::string& title) const {
    if (stopped()) return false;
    say(fmt::format("together: {}", title));
    try {
      const auto speed = contest(source_(before), source_(after), same_result, seconds);
      return speed && speed->is_faster();
    } catch (const std::exception&) {
      return false;  // they cannot be combined
    }
  }

  const SpecSource& source_;
  DoctorOptions options_;
  TrainSpec baseline_;
  Diagnosis diagnosis_;
  Stopwatch watch_;
};

}  // namespace

bool Trial::is_good() const {
  if (!is_faster()) return false;
  if (is_free()) return true;
  // A remedy that is worse at equal updates may lead early because it is faster, and still end
  // worse.
  return learning && learning->per_second == Effect::better &&
         learning->per_update != Effect::worse && !learns_less();
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
