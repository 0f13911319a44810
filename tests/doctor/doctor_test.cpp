#include "doctor/doctor.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <hotloop/error.hpp>

#include "core/system.hpp"

namespace hotloop {
namespace {

constexpr char kGoodSpec[] = R"(
env: {name: cartpole, count: 4}
algo: {name: dqn, learning_starts: 100, batch: 32, train_every: 8, updates_per_step: 0.25}
replay: {capacity: 2000}
net: {hidden: [16]}
evaluation: {every: 0, episodes: 5}
run: {steps: 20000, log_every: 1000}
)";

SpecSource source_of(std::vector<std::string> own) {
  return [own](const std::vector<std::string>& more) {
    std::vector<std::string> overrides = own;
    overrides.insert(overrides.end(), more.begin(), more.end());
    return load_spec_text(kGoodSpec, "doctor.yaml", overrides);
  };
}

PhaseRow row(const char* group, const char* part, double share) {
  PhaseRow r;
  r.group = group;
  r.part = part;
  r.share = share;
  return r;
}

const Remedy* with_override(const std::vector<Remedy>& remedies, const std::string& text) {
  for (const Remedy& remedy : remedies) {
    if (remedy.overrides[0] == text) return &remedy;
  }
  return nullptr;
}

TEST(Remedies, AimAtPhasesThatCostSomething) {
  const SpecSource source = source_of({});
  Profile profile;
  profile.spec = source({});
  profile.wall_seconds = 1;
  profile.phases = {row("env", "", 0.01), row("learn", "", 0.5), row("log", "", 0.4)};
  const std::vector<Remedy> remedies = propose(profile, source);
  const Remedy* log = with_override(remedies, "run.log_every=100000");
  ASSERT_NE(log, nullptr);
  EXPECT_TRUE(log->same_result);
  EXPECT_NEAR(amdahl(log->share), 1 / 0.6, 1e-9);
  EXPECT_EQ(log, &remedies.front());  // before those with larger gains that change training
  const Remedy* updates = with_override(remedies, "algo.updates_per_step=0.0625");
  ASSERT_NE(updates, nullptr);
  EXPECT_FALSE(updates->same_result);
  EXPECT_NEAR(amdahl(updates->share), 2, 1e-9);
  EXPECT_EQ(with_override(remedies, "env.count=16"), nullptr);  // env, act and push cost 1 %
}

// A quarter of the updates would not be an integer number of repeats: the spec refuses it, so it is
// not proposed.
TEST(Remedies, ThoseThatTheSpecRefusesAreLeftOut) {
  const SpecSource source = source_of({"algo.repeats=2", "algo.updates_per_step=0.25"});
  Profile profile;
  profile.spec = source({});
  profile.wall_seconds = 1;
  profile.phases = {row("learn", "", 0.9)};
  EXPECT_THROW(source({"algo.updates_per_step=0.0625"}), UsageError);
  for (const Remedy& remedy : propose(profile, source)) {
    EXPECT_NO_THROW(source(remedy.overrides)) << remedy.title;
    EXPECT_NE(remedy.overrides[0], "algo.updates_per_step=0.0625");
  }
}

// Large batches are divided, and the optimiser of a large network.
TEST(Remedies, ThreadsAreProposedWhereThereIsWorkForThem) {
  if (usable_cores() < 2) GTEST_SKIP() << "one core";
  const auto proposed = [](std::vector<std::string> overrides) {
    const SpecSource source = source_of(std::move(overrides));
    Profile profile;
    profile.spec = source({});
    profile.wall_seconds = 1;
    profile.phases = {row("learn", "", 0.9), row("learn", "optimiser", 0.3)};
    const std::vector<Remedy> remedies = propose(profile, source);
    const Remedy* remedy = with_override(remedies, "run.threads=2");
    return remedy == nullptr ? 0.0 : remedy->share;
  };
  EXPECT_EQ(proposed({"algo.batch=64", "net.hidden=[64]"}), 0);
  EXPECT_EQ(proposed({"algo.batch=1024", "net.hidden=[64]"}), 0.9);
  EXPECT_EQ(proposed({"algo.batch=64", "net.hidden=[256, 256]"}), 0.9);
  EXPECT_EQ(proposed({"algo.batch=2", "net.hidden=[256, 256]"}), 0.3);  // too few rows
}

// If a run ends at the evaluation that solves it, rarer evaluations would change the run.
TEST(Remedies, EvaluationsAreLeftAloneWhereTheyEndTheRun) {
  for (const bool stops : {false, true}) {
    const SpecSource source =
        source_of({"evaluation.every=1000",
                   std::string("evaluation.stop_when_solved=") + (stops ? "true" : "false")});
    Profile profile;
    profile.spec = source({});
    profile.wall_seconds = 1;
    profile.phases = {row("evaluate", "", 0.6)};
    const std::vector<Remedy> remedies = propose(profile, source);
    EXPECT_EQ(with_override(remedies, "evaluation.every=5000") == nullptr, stops);
  }
}

TEST(Remedies, ThePatchIsYaml) {
  EXPECT_EQ(yaml_patch({"env.options.obs=basic", "env.count=8", "algo.batch=1", "algo.batch=2"}),
            "env: {options: {obs: basic}, count: 8}\nalgo: {batch: 2}\n");
  EXPECT_EQ(yaml_patch({"algo.batch=64", "env.options.flood_fill=bits", "algo.train_every=4"}),
            "algo: {batch: 64, train_every: 4}\nenv: {options: {flood_fill: bits}}\n");
}

Trial trial(const char* title, bool same, double ratio, Effect effect, double less = 1) {
  Trial t;
  t.remedy.title = title;
  t.remedy.same_result = same;
  t.speed = Speed{.ratio = ratio, .low = ratio - 0.05, .high = ratio + 0.05, .turns = 20};
  if (!same) {
    t.learning = LearningEffect{};
    t.learning->per_second = effect;
  }
  t.less_learning = less;
  return t;
}

TEST(Doctor, RanksFreeRemediesFirstAndHarmfulOnesLast) {
  std::vector<Trial> trials = {
      trial("worse", false, 5, Effect::worse),     trial("less", false, 4, Effect::same, 4),
      trial("same", false, 2, Effect::same),       trial("no faster", true, 1, Effect::same),
      trial("better", false, 1.5, Effect::better), trial("not shown", false, 3, Effect::not_shown),
      trial("free", true, 1.2, Effect::same)};
  rank(trials);
  const std::vector<std::string> expected = {"free",      "better", "same",     "less",
                                             "not shown", "worse",  "no faster"};
  for (std::size_t i = 0; i < trials.size(); ++i) EXPECT_EQ(trials[i].remedy.title, expected[i]);
  EXPECT_TRUE(trials[0].is_good());
  EXPECT_TRUE(trials[1].is_good());
  for (std::size_t i = 2; i < trials.size(); ++i) EXPECT_FALSE(trials[i].is_good());
}

// A smaller network may learn more at first, because it is faster, and still end worse.
TEST(Doctor, RemediesThatLearnWorsePerUpdateAreNotRecommended) {
  Trial t = trial("half as wide", false, 1.5, Effect::better);
  EXPECT_TRUE(t.is_good());
  t.learning->per_update = Effect::worse;
  EXPECT_FALSE(t.is_good());
}

TEST(Doctor, SaysWhatItHadNoTimeToJudge) {
  Diagnosis d;
  d.profile.wall_seconds = 1;
  d.trials = {trial("short", false, 1.34, Effect::same), trial("slower", false, 0.9, Effect::same)};
  for (Trial& t : d.trials) t.learning.reset();
  d.trials[0].speed->turns = Speed::kMinTurns - 1;
  const std::string text = diagnosis_text(d);
  EXPECT_NE(text.find("not tried: too few turns to tell"), std::string::npos) << text;
  EXPECT_NE(text.find("not tried: not faster"), std::string::npos) << text;
  EXPECT_NE(text.find("too little time for 1 of 2"), std::string::npos) << text;
}

TEST(Doctor, LessLearningIsNeverRecommendedAndAlwaysReported) {
  Diagnosis d;
  d.profile.wall_seconds = 1;
  d.trials = {trial("a quarter of the updates", false, 3, Effect::better, 4)};
  EXPECT_FALSE(d.trials[0].is_good());
  const std::string text = diagnosis_text(d);
  EXPECT_NE(text.find("4 x LESS LEARNING"), std::string::npos) << text;
  EXPECT_NE(text.find("Not a free speed-up"), std::string::npos);
  EXPECT_NE(text.find("Nothing to recommend"), std::string::npos);
}

// End to end, on a spec that logs every step: the remedy is found, tried and recommended.
TEST(Doctor, FindsLoggingAndThatTheRemedyIsFree) {
  const SpecSource source = source_of({"run.log_every=1"});
  std::vector<std::string> lines;
  Diagnosis d;
  const auto shows_learning = [&] {
    return std::any_of(d.trials.begin(), d.trials.end(),
                       [](const Trial& t) { return t.learning.has_value(); });
  };
  // On a busy machine one attempt may not show the speed-up, or have no time left for learning.
  for (int attempt = 1; attempt <= 4 && (d.overrides.empty() || !shows_learning()); ++attempt) {
    d = examine_spec(source, {.minutes = 0.2 * attempt,
                              .progress = [&](const std::string& text) { lines.push_back(text); }});
  }
  ASSERT_FALSE(d.trials.empty());
  EXPECT_EQ(d.trials[0].remedy.overrides[0], "run.log_every=100");
  EXPECT_TRUE(d.trials[0].is_free());
  EXPECT_GT(d.trials[0].speed->low, 1.1);
  EXPECT_FALSE(d.interrupted);
  EXPECT_FALSE(lines.empty());
  EXPECT_NE(std::find(d.overrides.begin(), d.overrides.end(), "run.log_every=100"),
            d.overrides.end());
  EXPECT_NO_THROW(source(d.overrides));
  const auto json = diagnosis_json(d);
  EXPECT_EQ(json["remedies"][0]["recommended"], true);
  EXPECT_NE(json["patch"].get<std::string>().find("log_every: 100"), std::string::npos);
  EXPECT_TRUE(shows_learning()) << diagnosis_text(d);
}

// A learning rate that breaks training: the doctor reports it and continues.
TEST(Doctor, ARunThatFailsIsAFinding) {
  const Diagnosis d = examine_spec(
      source_of({"optimiser.name=sgd", "optimiser.learning_rate=10", "optimiser.max_grad_norm=0",
                 "algo.loss=mse", "algo.updates_per_step=16", "run.threads=2"}),
      {.minutes = 0.1});
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings[0].cause, Cause::failure);
  EXPECT_TRUE(d.trials.empty());
}

TEST(Doctor, StopsInTheMiddleWithPartialResults) {
  std::atomic<bool> stop{false};
  int lines = 0;
  const Diagnosis d = examine_spec(source_of({"run.log_every=1"}),
                                   {.minutes = 0.5, .stop = &stop, .progress = [&](const auto&) {
                                      if (++lines == 4) stop = true;
                                    }});
  EXPECT_TRUE(d.interrupted);
  EXPECT_LT(d.minutes, 0.4);
  EXPECT_FALSE(d.trials.empty());
  EXPECT_NE(diagnosis_text(d).find("partial results"), std::string::npos);
}

TEST(Doctor, StopsAtOnceWithPartialResults) {
  const std::atomic<bool> stop{true};
  const Diagnosis d = examine_spec(source_of({}), {.minutes = 10, .stop = &stop});
  EXPECT_TRUE(d.interrupted);
  EXPECT_LT(d.minutes, 0.2);
  EXPECT_FALSE(diagnosis_text(d).empty());
}

}  // namespace
}  // namespace hotloop
