// The diagnosis: a profile becomes findings, findings become remedies, and remedies are tried.
//
//   1. profile: where does the time go (profile.hpp, findings.hpp)
//   2. remedies that aim at it, with Amdahl's bound (remedy.hpp)
//   3. A/B: is it faster (contest.hpp); where training must be the same to the bit, is it
//   4. of those that change the algorithm and are faster: does it still learn (learning_check.hpp)
//
// Doing less learning is never called a speed-up: a remedy whose gradients see fewer transitions per env
// step is marked, whatever its effect.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "doctor/contest.hpp"
#include "doctor/findings.hpp"
#include "doctor/learning_check.hpp"
#include "doctor/remedy.hpp"

namespace hotloop {

struct Trial {
  Remedy remedy;
  std::optional<Speed> speed{};              // none if there was no time
  std::optional<LearningEffect> learning{};  // of those that change the algorithm and are faster
  double less_learning = 1;  // the baseline's learnt transitions per step, by the remedy's
  std::string failure{};     // why it could not be tried
  bool recommended = false;  // by itself, or on top of those before it

  // What its phases cost, in the runs that were compared if there were any.
  double share() const { return speed ? share_of(speed->phases_a, remedy.phases) : remedy.share; }
  bool was_judged() const { return !failure.empty() || (speed && speed->can_tell()); }
  bool is_faster() const { return speed && speed->is_faster(); }
  // Training is what it was, to the bit, and that was seen.
  bool is_free() const { return remedy.same_result && speed && speed->same_parameters; }
  bool learns_less() const { return less_learning > 1.001; }
  // Faster and free, or better at learning without learning less, by update too.
  bool is_good() const;
};

struct Diagnosis {
  Profile profile;
  std::vector<Finding> findings;       // the most important first
  std::vector<Trial> trials;           // the best first
  std::vector<std::string> overrides;  // of all that are recommended, the best first
  std::optional<Speed> together;       // measured if there are several
  double minutes = 0;                  // that it took
  bool interrupted = false;
};

struct DoctorOptions {
  double minutes = 3;
  const std::atomic<bool>* stop = nullptr;             // ends it early, with what is known
  std::function<void(const std::string&)> progress{};  // what is being done, in words
};

Diagnosis examine_spec(const SpecSource& source, const DoctorOptions& options);

// Better ones first: free and faster; then by their effect on learning; then by speed.
void rank(std::vector<Trial>& trials);

std::string diagnosis_text(const Diagnosis& diagnosis);
nlohmann::ordered_json diagnosis_json(const Diagnosis& diagnosis);

}  // namespace hotloop
