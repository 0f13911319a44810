// hotloop bench ppo: complete rounds of PPO, collecting and learning, on one thread: 64-64 tanh
// networks, 2 epochs. Policy and value share their hidden layers, or have their own ("separate").
#include <algorithm>
#include <memory>

#include "algo/common/algorithm.hpp"
#include "algo/ppo/options.hpp"
#include "bench/benchmarks.hpp"
#include "bench/measure.hpp"
#include "train/trainer.hpp"

namespace hotloop::bench {
namespace {

TrainSpec ppo_spec(const std::string& env, bool separate) {
  TrainSpec spec;
  spec.env = env;
  spec.envs = 32;
  use_algorithm(spec, find_algorithm("ppo"));
  options_of<PpoOptions>(spec).rollout = {.n_steps = 128, .n_epochs = 2, .lambda = 0.65};
  spec.learn = {.batch = 512};
  spec.net = {.hidden = {64, 64}, .activation = Activation::tanh, .separate = separate};
  spec.optimiser = {.learning_rate = constant(3e-4)};
  spec.algorithm->derive(spec);
  spec.run.steps = kNoLimit;
  return spec;
}

}  // namespace

Json ppo_benchmark() {
  Measurement measurement;
  std::vector<std::pair<std::string, std::shared_ptr<Trainer>>> trainers;
  for (const std::string env : {"cartpole", "pendulum"}) {
    for (const bool separate : {false, true}) {
      auto trainer = std::make_shared<Trainer>(ppo_spec(env, separate));
      trainers.emplace_back(env + (separate ? "_separate" : ""), trainer);
      measurement.add(trainers.back().first, [trainer] {
        trainer->round();
        trainer->clock().enter(Phase::other);  // other cases run next
      });
    }
  }
  const auto times = measurement.run(15, 0.05);
  Json rows = Json::array();
  for (const auto& [name, trainer] : trainers) {
    const TrainSpec& spec = trainer->spec();
    const RolloutOptions& rollout = options_of<PpoOptions>(spec).rollout;
    const GroupShares shares = trainer->clock().group_shares();
    const auto share = [&](std::string_view group) {
      return shares[std::find(kPhaseGroups.begin(), kPhaseGroups.end(), group) -
                    kPhaseGroups.begin()];
    };
    const double collect = share("act") + share("env") + share("memory"), learn = share("learn");
    rows.push_back({{"name", name},
                    {"net", trainer->network().structure().describe()},
                    {"env_steps_per_second",
                     static_cast<double>(spec.learn.train_every) / times.at(name).median_us * 1e6},
                    {"collect_share", collect / (collect + learn)},
                    {"learn_share", learn / (collect + learn)},
                    {"envs", spec.envs},
                    {"rollout", rollout.n_steps},
                    {"batch", spec.learn.batch},
                    {"epochs", rollout.n_epochs},
                    {"spread", times.at(name).spread}});
  }
  return rows;
}

}  // namespace hotloop::bench
