// The diagnosis: a profile leads to findings, findings lead to remedies, and remedies are tried.
//
//   1. profile: where does the time go? (profile.hpp, findings.hpp)
//   2. remedies for the expensive phases, with Amdahl's bound (remedy.hpp)
//   3. A/B: is it faster? If training must stay the same to the bit, does it? (contest.hpp)
//   4. for faster remedies that change the algorithm: does it still learn? (learning_check.hpp)
//
// Doing less learning is never called a speed-up: a remedy whose gradients see fewer transitions
// per env step is always marked.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "doctor/contest.hpp"
#include "doctor/findings.hpp"
#include "doctor/learning_check.hpp"
#include "doctor/remedy.hpp"

namespace hotloop {

struct Trial {
  Remedy remedy;
  std::optional<Speed> speed{};              // none if there was no time
  std::optional<LearningEffect> learning{};  // if it changes the algorithm and is faster
  double less_learning = 1;                  // learnt transitions per step: baseline / remedy
  std::string failure{};                     // why it could not be tried
  bool recommended = false;                  // alone, or on top of the remedies before it

  // The share of its phases, in the compared runs if there were any, otherwise in the profile.
  double share() const { return speed ? share_of(speed->phases_a, remedy.phases) : remedy.share; }
  bool was_judged() const { return !failure.empty() || (speed && speed->can_tell()); }
  bool is_faster() const { return speed && speed->is_faster(); }
  // Training is unchanged to the bit, and the comparison confirmed it.
  bool is_free() const { return remedy.same_result && speed && speed->same_parameters; }
  bool learns_less() const { return less_learning > 1.001; }
  // Faster and free; or faster and better at learning per second, no worse per update, and not
  // learning less.
  bool is_good() const;
};

struct Diagnosis {
  Profile profile;
  std::vector<Finding> findings;       // most important first
  std::vector<Trial> trials;           // best first
  std::vector<std::string> overrides;  // of all recommended remedies, best first
  std::optional<Speed> together;       // of all recommended remedies, if there are several
  double minutes = 0;                  // time taken
  bool interrupted = false;
};

struct DoctorOptions {
  double minutes = 3;
  const std::atomic<bool>* stop = nullptr;             // ends it early, with partial results
  std::function<void(const std::string&)> progress{};  // describes the current step
};

Diagnosis examine_spec(const SpecSource& source, const DoctorOptions& options);

// Sorts the best first: free and faster; then by effect on learning; then by speed.
void rank(std::vector<Trial>& trials);

std::string diagnosis_text(const Diagnosis& diagnosis);
Json diagnosis_json(const Diagnosis& diagnosis);

}  // namespace hotloop
