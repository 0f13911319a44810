// Which model of a run is its best: the one with the largest score in evaluation, by a formula such as
//   1000 success + 100 progress + return
// of the return and the environment's measures. A new best must be better by a share of the old one.
#pragma once

#include <hotloop/env.hpp>

#include <string>
#include <vector>

#include "evaluate/evaluation.hpp"

namespace hotloop {

class BestRule {
 public:
  // Throws UsageError if the formula is none, or names what the environment does not measure.
  BestRule(const EvaluationOptions& options, const EnvSpec& env);

  double score(const Evaluation& evaluation) const;  // a measure that means nothing counts as 0
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
