// What must hold for every variant: no allocation while training, a result that does not depend on
// threads, and a resumed run that ends with the same bits.
#include "tests/train/variants.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <stdexcept>

#include "algo/common/rounds.hpp"
#include "record/checkpoint.hpp"
#include "tests/allocations.hpp"
#include "train/trainer.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

class EveryVariant : public testing::TestWithParam<Variant> {};
class EveryVariantWithMasks : public testing::TestWithParam<Variant> {};

std::vector<Variant> variants_with_masks() {
  std::vector<Variant> all = variants();
  std::erase_if(all, [](const Variant& v) { return !v.spec().algorithm->facts().masks; });
  return all;
}

// The state that determines the rest of a run, as bytes by name.
std::map<std::string, std::vector<std::byte>> everything(Trainer& trainer) {
  std::map<std::string, std::vector<std::byte>> all;
  trainer.learner().visit([&](const std::string& name, Array array, const Limits&) {
    std::visit(
        [&](auto values) {
          const auto bytes = std::as_bytes(values);
          all[name].assign(bytes.begin(), bytes.end());
        },
        array);
  });
  all["env"] = trainer.env().save();
  return all;
}

void finish(Trainer& trainer) {
  while (!trainer.done()) trainer.round();
}

void expect_same(Trainer& a, Trainer& b, const std::string& what) {
  const auto left = everything(a);
  const auto right = everything(b);
  ASSERT_EQ(left.size(), right.size()) << what;
  for (const auto& [name, bytes] : left) {
    EXPECT_TRUE(bytes == right.at(name)) << what << ": " << name << " differs";
  }
  EXPECT_EQ(a.counters().updates, b.counters().updates) << what;
  EXPECT_EQ(a.counters().batches, b.counters().batches) << what;
}

TEST_P(EveryVariant, LearnsAndChangesItsParameters) {
  Trainer trainer(GetParam().spec());
  const std::vector<float> before(trainer.network().online().begin(),
                                  trainer.network().online().end());
  finish(trainer);
  EXPECT_EQ(trainer.counters().updates, declared_updates(trainer.spec(), trainer.spec().run.steps));
  EXPECT_GT(trainer.counters().updates, 300);
  EXPECT_FALSE(std::equal(before.begin(), before.end(), trainer.network().online().begin()));
}

TEST_P(EveryVariant, AllocatesNothingAfterWarmUp) {
  if (!kCountsAllocations) GTEST_SKIP() << "the sanitizer replaces malloc";
  Trainer trainer(GetParam().spec());
  while (trainer.counters().env_steps < 1500) trainer.round();
  const std::int64_t before = allocations();
  finish(trainer);
  EXPECT_EQ(allocations() - before, 0);
}

TEST_P(EveryVariant, DoesNotDependOnThreads) {
  TrainSpec spec = GetParam().spec();
  spec.envs = 40;  // two blocks of lanes
  spec.learn.train_every = 80;
  const bool whole_batch =
      spec.algorithm->network(spec, world_facts(spec.world())).needs_whole_batch();
  spec.learn.batch = whole_batch ? 160 : 170;
  spec.learn.updates_per_step = 0.05;
  const bool is_plain = spec.net.graph.kind == GraphKind::none && spec.net.branches.empty();
  if (is_plain) spec.net.hidden = {64, 64};
  spec.algorithm->derive(spec);  // rollout learners derive their ratios
  Trainer one(spec);
  finish(one);
  for (const int threads : {2, 3}) {
    spec.threads = threads;
    EXPECT_TRUE(!is_plain || spec.algorithm->work(spec, one.world()).shares_batches);
    Trainer several(spec);
    finish(several);
    expect_same(one, several, fmt::format("{} threads", threads));
  }
}

// Stops at several places, including the middle of a rollout and before learning starts; everything
// but the spec goes through the file.
TEST_P(EveryVariant, ResumesExactly) {
  const TrainSpec spec = GetParam().spec();
  Trainer straight(spec);
  finish(straight);
  const fs::path dir = fs::path(testing::TempDir()) / ("resume_" + GetParam().name);
  for (const std::int64_t stop : {100, 1100, 2000}) {
    fs::remove_all(dir);
    fs::create_directories(dir / "checkpoints");
    TrainSpec part = spec;
    if (stop > spec.learn.learning_starts) part.run.steps = stop;  // ends in the middle of a round
    Trainer first(part);
    while (!first.done() && first.counters().env_steps < stop) first.round();
    const std::vector<float> best(first.network().online().size());
    const std::string path = save_checkpoint(dir.string(), first, {}, best);

    Trainer second(spec);
    RunRecord record;
    std::vector<float> best_again(best.size());
    load_checkpoint(path, second, record, best_again);
    expect_same(first, second, fmt::format("as saved at {}", stop));
    finish(second);
    expect_same(straight, second, fmt::format("stopped at {}", stop));
  }
  fs::remove_all(dir);
}

TEST_P(EveryVariantWithMasks, TakesNoMaskedAction) {
  TrainSpec spec = GetParam().spec();
  spec.env = "test_variant_masked";
  spec.env_options.clear();
  if (!spec.net.branches.empty()) spec.net.branches = {{"h", {"state"}, {"dense 8"}}};
  spec.net.value_from.clear();
  if (auto* options = std::any_cast<PpoOptions>(&spec.options)) {
    options->part_weights.clear();
    options->std_source = StdSource::state_independent;
  }
  Trainer trainer(spec);
  finish(trainer);  // the world throws if a forbidden action is taken
  EXPECT_GT(trainer.counters().episodes, 0);
}

// Masks a random action in each state, and throws if it is taken.
struct VariantMasked {
  static constexpr EnvSpec spec{.name = "test_variant_masked",
                                .obs = 2,
                                .actions = 3,
                                .max_steps = 30,
                                .parts = {{{"state", {2}}}}};
  int t = 0;
  int forbidden = 0;
  void reset(Rng& rng) { t = 0, forbidden = static_cast<int>(rng.below(3)); }
  void observe(std::span<float> obs) const {
    obs[0] = static_cast<float>(t % 3);
    obs[1] = static_cast<float>(forbidden);
  }
  void mask(std::span<std::uint8_t> allowed) const {
    for (int a = 0; a < 3; ++a) allowed[a] = a != forbidden;
  }
  Step step(int action, Rng& rng) {
    if (action == forbidden) throw std::logic_error("a masked action was taken");
    forbidden = static_cast<int>(rng.below(3));
    return {action == 2 ? 1.0f : 0.1f, ++t > 20 && rng.below(10) == 0};
  }
};
HOTLOOP_ENV(VariantMasked)

INSTANTIATE_TEST_SUITE_P(QFamily, EveryVariant, testing::ValuesIn(variants()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(QFamily, EveryVariantWithMasks, testing::ValuesIn(variants_with_masks()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace hotloop
