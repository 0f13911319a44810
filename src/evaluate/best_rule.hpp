// Selects the best model of a run: the one with the largest score in evaluation, a formula such as
//   1000 success + 100 progress + return
// over the return and the environment's measures. A new best must improve by a minimum share.
#pragma once

#include <hotloop/env.hpp>

#include <string>
#include <vector>

#include "evaluate/evaluation.hpp"

namespace hotloop {

class BestRule {
 public:
  // Throws UsageError if the formula is invalid, or names an unknown measure.
  BestRule(const EvaluationOptions& options, const EnvSpec& env);

  double score(const Evaluation& evaluation) const;  // NaN measures count as 0
  bool is_better(double score, double best) const;   // NaN = there is no best yet

 private:
  struct Term {
    double weight;
    int measure;  // -1 = the return
  };
  std::vector<Term> terms_;
  double gain_;
};

}  // namespace hotloop
