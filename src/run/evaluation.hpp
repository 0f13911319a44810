// Greedy evaluation on its own environments and random streams: it never changes training.
//
// Every evaluation plays the same `episodes` starts (streams of (seed, evaluation_world, row,
// step)), one episode per row, without exploration. So evaluations of one run are comparable, and
// the number that stands with a saved model can be measured again exactly.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algo/q_head.hpp"
#include "core/arena.hpp"
#include "core/thread_team.hpp"
#include "env/batch_env.hpp"
#include "net/network.hpp"
#include "run/spec.hpp"

namespace hotloop {

struct Evaluation {
  double mean = 0;
  double deviation = 0;  // standard deviation over episodes
  double mean_length = 0;
  int episodes = 0;
};

class Evaluator {
 public:
  Evaluator(const std::string& env, const EvaluationOptions& options, std::uint64_t seed,
            const Structure& structure, const QHead& head);

  // `scale` normalises observations, as it stands; null = none.
  Evaluation run(const Plan& plan, std::span<const float> parameters, const InputScale* scale,
                 ThreadTeam& team);

 private:
  std::int64_t max_steps_;
  QHead head_;
  BatchEnv env_;
  Workspace workspace_;
  Arena arena_;
  std::span<std::int32_t> actions_;   // [episodes]
  std::span<double> returns_;         // [episodes]
  std::span<std::uint8_t> finished_;  // [episodes]
  std::span<float> scratch_;          // [blocks][values_scratch]
};

}  // namespace hotloop
