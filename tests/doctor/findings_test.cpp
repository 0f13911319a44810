// Each rule on profiles made by hand: where it must report, and where it must not.
#include "doctor/findings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/train/small_spec.hpp"

namespace hotloop {
namespace {

PhaseRow& row(Profile& profile, const std::string& group, const std::string& part = "") {
  for (PhaseRow& r : profile.phases) {
    if (r.group == group && r.part == part) return r;
  }
  return profile.phases.emplace_back(PhaseRow{.group = group, .part = part, .peak_share = kNone});
}

// Sets seconds (of ten in all) and visits.
void set(Profile& profile, const std::string& group, const std::string& part, double seconds,
         double calls) {
  for (PhaseRow* r : {&row(profile, group), &row(profile, group, part)}) {
    r->seconds += seconds;
    r->share = r->seconds / profile.wall_seconds;
    r->calls += calls;
    r->us_per_step = 1e6 * r->seconds / static_cast<double>(profile.env_steps);
    r->p50_us = 1e6 * seconds / calls;
    if (part.empty()) break;
  }
}

// Ten seconds of a DQN on one thread, 100,000 steps of 4 environments; no part takes half the time.
Profile healthy() {
  Profile p;
  p.spec.name = "x";
  p.spec.env = "cartpole";
  p.spec.envs = 4;
  dqn(p.spec).explore.epsilon = linear(1, 0.05, 10'000);
  p.spec.learn.train_every = 4;
  p.spec.run.steps = 200'000;
  p.wall_seconds = 10;
  p.env_steps = 100'000;
  p.updates = 25'000;
  p.episodes = 2'000;
  p.cpu_share = 0.99;
  p.phases.reserve(32);
  set(p, "act", "forward", 1.5, 25'000);
  set(p, "env", "step", 4, 25'000);
  set(p, "memory", "gather", 0.5, 25'000);
  set(p, "learn", "backward", 3.9, 25'000);
  set(p, "log", "", 0.1, 100);
  p.trend.known = true;
  p.trend.us_per_step = {.first = 99, .last = 99};
  return p;
}

const Finding* find(const std::vector<Finding>& findings, Cause cause) {
  const auto at = std::find_if(findings.begin(), findings.end(),
                               [&](const Finding& f) { return f.cause == cause; });
  return at == findings.end() ? nullptr : &*at;
}
bool names(const Profile& profile, Cause cause) {
  const std::vector<Finding> findings = find_causes(profile);
  return find(findings, cause) != nullptr;
}
// The text and evidence of a finding that must be there.
std::string words(const Profile& profile, Cause cause) {
  const std::vector<Finding> findings = find_causes(profile);
  const Finding* finding = find(findings, cause);
  EXPECT_NE(finding, nullptr);
  return finding == nullptr ? "" : finding->text + "\n" + finding->evidence;
}
double share(const Profile& profile, Cause cause) {
  const std::vector<Finding> findings = find_causes(profile);
  const Finding* finding = find(findings, cause);
  return finding == nullptr ? -1 : finding->share;
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Findings, AHealthyProfileHasNoFindings) { EXPECT_TRUE(find_causes(healthy()).empty()); }

TEST(Findings, AnEmptyProfileWithAFailure) {
  Profile p;
  p.failure = "non-finite reward";
  const std::vector<Finding> findings = find_causes(p);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].cause, Cause::failure);
  EXPECT_EQ(findings[0].evidence, "non-finite reward");
}

TEST(Findings, Sleeping) {
  Profile p = healthy();
  p.cpu_share = 0.65;
  EXPECT_FALSE(names(p, Cause::sleeping));  // no voluntary switches: the machine is busy
  p.sleeps_per_step = 1;
  EXPECT_NEAR(share(p, Cause::sleeping), 0.34, 1e-9);  // without the 1 % in logs
  EXPECT_TRUE(has(words(p, Cause::sleeping), "slept 1 times per vector step"));
  p.cpu_share = 0.1;
  EXPECT_NEAR(share(p, Cause::sleeping), 0.4, 1e-9);  // no more than the environment takes
  p.cpu_share = 0.95;
  EXPECT_FALSE(names(p, Cause::sleeping));
}

TEST(Findings, WaitingForTheDiskIsNotSleeping) {
  Profile p = healthy();
  p.sleeps_per_step = 3;
  p.cpu_share = 0.5;
  p.spec.run.checkpoint_seconds = 0;
  set(p, "checkpoint", "", 4.5, 2'000);
  EXPECT_FALSE(names(p, Cause::sleeping));
  EXPECT_TRUE(names(p, Cause::checkpointing));
}

TEST(Findings, WaitingForThreadsIsNotSleeping) {
  Profile p = healthy();
  p.sleeps_per_step = 3;
  p.cpu_share = 0.75;
  p.threads = {.threads = 2, .runs = 100, .span_seconds = 5, .busy = {0.7, 0.6}};
  EXPECT_NEAR(share(p, Cause::sleeping), 0.24, 1e-9);
  set(p, "wait", "", 2, 50'000);
  EXPECT_FALSE(names(p, Cause::sleeping));
}

TEST(Findings, WaitingForACpuIsNotSleeping) {
  Profile p = healthy();
  p.sleeps_per_step = 3;
  p.cpu_share = 0.5;
  p.queue_share = 0.45;
  EXPECT_FALSE(names(p, Cause::sleeping));
  p.queue_share = 0.25;
  EXPECT_NEAR(share(p, Cause::sleeping), 0.24, 1e-9);
}

TEST(Findings, Slowing) {
  Profile p = healthy();
  p.trend.slower = true;
  p.trend.us_per_step = {.first = 80, .last = 120};
  EXPECT_FALSE(names(p, Cause::slowing));  // all phases alike
  p.trend.because = "wait";
  EXPECT_FALSE(names(p, Cause::slowing));
  p.trend.because = "env/step";
  p.trend.because_first = 20;
  p.trend.because_last = 60;
  // The growth is 20 of 100 us on average, within the 99 % in rounds.
  EXPECT_NEAR(share(p, Cause::slowing), 0.198, 1e-9);
  EXPECT_TRUE(has(words(p, Cause::slowing), "env/step took 20 us per step at first and 60"));
  EXPECT_TRUE(has(words(p, Cause::slowing), "Episodes did not get longer"));
  p.trend.longer_episodes = true;
  EXPECT_TRUE(has(words(p, Cause::slowing), "Episodes got longer too"));
  p.trend.because = "memory/gather";
  EXPECT_TRUE(has(words(p, Cause::slowing), "replay.capacity"));
}

TEST(Findings, FewerRandomActionsAreNoFault) {
  Profile p = healthy();
  p.trend.slower = true;
  p.trend.us_per_step = {.first = 80, .last = 120};
  p.trend.because = "act/forward";
  p.trend.because_first = 20;
  p.trend.because_last = 60;
  EXPECT_EQ(share(p, Cause::slowing), 0);
  EXPECT_TRUE(has(words(p, Cause::slowing), "100 % at first, 5 % now"));
  EXPECT_TRUE(has(words(p, Cause::slowing), "That is expected"));
  dqn(p.spec).explore.epsilon = constant(0.1);
  EXPECT_GT(share(p, Cause::slowing), 0);
}

TEST(Findings, Allocating) {
  Profile p = healthy();
  p.allocations_per_step = 0.009;
  row(p, "env", "step").allocations_per_step = 0.009;
  EXPECT_FALSE(names(p, Cause::allocating));
  p.allocations_per_step = 1.05;
  row(p, "env", "step").allocations_per_step = 1;
  row(p, "act", "forward").allocations_per_step = 0.05;  // too few to be named
  EXPECT_NEAR(share(p, Cause::allocating), 0.4, 1e-9);
  EXPECT_TRUE(has(words(p, Cause::allocating), "The environment allocates heap memory"));
  EXPECT_TRUE(has(words(p, Cause::allocating), "by phase: env/step 1;"));
  p.env_steps = 90;
  EXPECT_FALSE(names(p, Cause::allocating));  // one allocation in a round that stands for many
  p = healthy();
  p.allocations_per_step = kNone;  // not counted
  EXPECT_FALSE(names(p, Cause::allocating));
}

TEST(Findings, GrowingMemory) {
  Profile p = healthy();
  p.trend.growing_memory = true;
  p.trend.resident.per_x = 64;
  p.resident_begin = 10 << 20;
  p.resident_end = 20 << 20;
  EXPECT_TRUE(has(words(p, Cause::growing_memory), "10.0 MiB at first, 20.0 MiB at the end"));
  EXPECT_TRUE(has(words(p, Cause::growing_memory), "64 bytes per env step"));
}

TEST(Findings, Threads) {
  Profile p = healthy();
  p.threads = {.threads = 2, .runs = 100, .span_seconds = 5, .busy = {0.7, 0.6}};
  set(p, "wait", "", 0.1, 100'000);
  // Ten windows; in one of them a thread was interrupted for a second.
  const auto share_work = [&](double span, double work) {
    p.samples = {{}};
    for (int i = 0; i < 10; ++i) {
      Sample next = p.samples.back();
      next.env_steps += 10'000;
      next.phases[0] += 1 + (i == 5);
      next.team_span += span + (i == 5);
      next.team_work += work + (i == 5);
      p.samples.push_back(next);
    }
  };
  share_work(0.5, 0.65);
  EXPECT_FALSE(names(p, Cause::threads));
  row(p, "wait").calls = 6'500'000;  // 1 us of work each time
  EXPECT_NEAR(share(p, Cause::threads), 0.495, 1e-9);
  EXPECT_FALSE(has(words(p, Cause::threads), "one thread would have been faster"));
  row(p, "wait").calls = 100'000;
  share_work(0.5, 0.4);
  // A fifth of half the time in rounds, which is 99 %.
  EXPECT_NEAR(share(p, Cause::threads), 0.099, 1e-9);
  EXPECT_TRUE(has(words(p, Cause::threads), "40 us of work each time"));
  EXPECT_TRUE(has(words(p, Cause::threads), "busy for 80 % of its duration"));
  EXPECT_FALSE(has(words(p, Cause::threads), "the machine was busy"));
  p.queue_share = 0.3;
  EXPECT_TRUE(has(words(p, Cause::threads), "the machine was busy"));
  row(p, "wait").calls = 10'000;  // 400 us each time is not too small
  EXPECT_FALSE(names(p, Cause::threads));
  p.threads.busy = {};
  p.threads.runs = 0;
  EXPECT_EQ(share(p, Cause::threads), 0);
  p.threads.threads = 1;
  EXPECT_FALSE(names(p, Cause::threads));
}

TEST(Findings, Logging) {
  Profile p = healthy();
  set(p, "log", "", 2.4, 400);  // 500 rows in 2.5 s
  p.spec.run.log_every = 200;
  // 5 ms a row, 15 ms between them; for 2 % there must be 245 ms, 16.3 times as many: 3,267 steps.
  EXPECT_NEAR(share(p, Cause::logging), 0.25, 1e-9);
  EXPECT_TRUE(has(words(p, Cause::logging), "With run.log_every: 5000 (now 200)"));
  EXPECT_FALSE(has(words(p, Cause::logging), "episode_log"));
  p.spec.run.episode_log = true;
  EXPECT_TRUE(has(words(p, Cause::logging), "episode_log"));
}

TEST(Findings, Evaluating) {
  Profile p = healthy();
  set(p, "evaluate", "", 4, 20);
  p.spec.evaluation.every = 5'000;
  // 200 ms each, 300 ms between them; for 5 % there must be 3,800 ms, 12.7 times as many: 63,333
  // steps.
  EXPECT_NEAR(share(p, Cause::evaluating), 0.4, 1e-9);
  EXPECT_TRUE(has(words(p, Cause::evaluating), "With evaluation.every: 100000 (now 5000)"));
  EXPECT_FALSE(has(words(p, Cause::evaluating), "stop_when_solved"));
  p.spec.evaluation.stop_when_solved = true;
  EXPECT_TRUE(has(words(p, Cause::evaluating), "stop_when_solved"));
  // The same four seconds in one evaluation, the first of many.
  p.spec.evaluation.every = 1'000'000;
  row(p, "evaluate").calls = 1;
  EXPECT_FALSE(names(p, Cause::evaluating));
}

TEST(Findings, Checkpointing) {
  Profile p = healthy();
  set(p, "checkpoint", "", 2, 2);  // one checkpoint with its models
  p.spec.run.checkpoint_seconds = 30;
  EXPECT_FALSE(names(p, Cause::checkpointing));  // 2 s in 32
  p.spec.run.checkpoint_seconds = 8;
  // For 2 % there must be 98 s between them.
  EXPECT_NEAR(share(p, Cause::checkpointing), 0.2, 1e-9);
  EXPECT_TRUE(has(words(p, Cause::checkpointing), "With run.checkpoint_seconds: 100 (now 8)"));
  // 2.02 s of 101 s in all, 98.98 s between them: still within the 100.
  set(p, "checkpoint", "", 0.02, 0);
  EXPECT_TRUE(has(words(p, Cause::checkpointing), "With run.checkpoint_seconds: 100 (now 8)"));
  p.spec.run.snapshot_every = 1;
  EXPECT_TRUE(has(words(p, Cause::checkpointing), "run.snapshot_every: 1"));
}

TEST(Findings, ManyUpdates) {
  Profile p = healthy();
  p.updates = 64 * p.env_steps;
  EXPECT_FALSE(names(p, Cause::many_updates));  // learning takes 44 %
  set(p, "learn", "backward", 30, 1e6);
  EXPECT_TRUE(has(words(p, Cause::many_updates), "64 updates per env step"));
  EXPECT_TRUE(has(words(p, Cause::many_updates), "algo.updates_per_step"));
  p.updates = 3 * p.env_steps;
  EXPECT_FALSE(names(p, Cause::many_updates));
  EXPECT_TRUE(names(p, Cause::learner_bound));
}

TEST(Findings, SlowOption) {
  Profile p = healthy();
  p.spec.env = "snake";
  EXPECT_FALSE(names(p, Cause::slow_option));
  p.spec.env_options = {{"flood_fill", "queue"}, {"obs", "flood"}};
  EXPECT_NE(words(p, Cause::slow_option).find("env.flood_fill=bits"), std::string::npos);
  EXPECT_DOUBLE_EQ(share(p, Cause::slow_option), 0.4);
  row(p, "env").share = 0.01;  // not worth reporting
  EXPECT_FALSE(names(p, Cause::slow_option));
}

TEST(Findings, EarlyGreed) {
  Profile p = healthy();  // 200,000 steps, 1 % of them are 2,000
  dqn(p.spec).explore.epsilon = linear(1, 0.05, 2'000);
  EXPECT_TRUE(has(words(p, Cause::early_greed), "5 % of the actions are random after 2000 steps"));
  dqn(p.spec).explore.epsilon = linear(1, 0.2, 2'000);
  EXPECT_FALSE(names(p, Cause::early_greed));  // enough exploration is left
  dqn(p.spec).explore.epsilon = linear(1, 0.05, 10'000);
  EXPECT_FALSE(names(p, Cause::early_greed));
  p.spec.learn.learning_starts = 10'000;  // exploration ended before learning started
  EXPECT_TRUE(names(p, Cause::early_greed));
  p.spec.net.noisy = Noisy::all;
  EXPECT_FALSE(names(p, Cause::early_greed));
  p.spec.net.noisy = Noisy::none;
  dqn(p.spec).explore.kind = Explore::boltzmann;
  EXPECT_FALSE(names(p, Cause::early_greed));
}

// The profile begins after a warm-up, and its schedule counts episodes.
TEST(Findings, SlowingCountsTheEpisodesOfTheWarmUp) {
  Profile p = healthy();
  p.trend.slower = true;
  p.trend.because = "act/forward";
  p.trend.because_first = 10;
  p.trend.because_last = 60;
  p.warm_up = {.env_steps = 5'000, .updates = 0, .episodes = 100};
  p.episodes = 100;
  dqn(p.spec).explore.epsilon = linear(1, 0, 200);
  dqn(p.spec).explore.epsilon.count = Count::episodes;
  EXPECT_TRUE(has(words(p, Cause::slowing), "50 % at first, 0 % now")) << words(p, Cause::slowing);
}

TEST(Findings, EarlyGreedByEpisodes) {
  Profile p = healthy();  // 50 steps an episode
  p.spec.run.steps = kNoLimit;
  p.spec.run.episodes = 3'000;
  p.spec.learn.learning_starts = 0;
  dqn(p.spec).explore.epsilon = {.kind = ScheduleKind::step,
                                 .from = 1,
                                 .to = 0.01,
                                 .factor = 0.995,
                                 .every = 1,
                                 .count = Count::episodes};
  EXPECT_FALSE(names(p, Cause::early_greed));  // 0.995^30 = 0.86
  dqn(p.spec).explore.epsilon.factor = 0.9;    // 0.9^30 = 0.04
  EXPECT_TRUE(names(p, Cause::early_greed));
  dqn(p.spec).explore.epsilon = constant(0.1);  // never ends
  EXPECT_FALSE(names(p, Cause::early_greed));
  dqn(p.spec).explore.epsilon = constant(0);
  EXPECT_TRUE(names(p, Cause::early_greed));
}

TEST(Findings, LongerEpisodes) {
  Profile p = healthy();
  p.trend.longer_episodes = true;
  p.trend.episode_length = {.first = 20, .last = 80};
  EXPECT_TRUE(has(words(p, Cause::longer_episodes), "from 20 to 80 steps"));
  EXPECT_TRUE(has(words(p, Cause::longer_episodes), "nothing became slower"));
  p.trend.slower = true;
  EXPECT_FALSE(has(words(p, Cause::longer_episodes), "nothing became slower"));
}

TEST(Findings, Bounds) {
  Profile p = healthy();
  set(p, "env", "step", 2, 10'000);
  EXPECT_NEAR(share(p, Cause::env_bound), 0.6, 1e-9);
  EXPECT_FALSE(names(p, Cause::learner_bound));
  p = healthy();
  set(p, "learn", "backward", 2, 10'000);
  row(p, "learn", "backward").peak_share = 0.5;
  EXPECT_NEAR(share(p, Cause::learner_bound), 0.64, 1e-9);
  EXPECT_TRUE(has(words(p, Cause::learner_bound), "learn/backward"));
  EXPECT_TRUE(has(words(p, Cause::learner_bound), "at 50 % of the core's peak"));
}

TEST(Findings, FindingsAreSortedFaultsFirst) {
  Profile p = healthy();
  p.failure = "non-finite loss";
  p.warnings = {"values are diverging"};
  p.health.largest_q = 1e9;
  p.trend.longer_episodes = true;
  set(p, "env", "step", 2, 10'000);  // 60 %
  set(p, "log", "", 1.9, 100);
  p.allocations_per_step = 2;
  row(p, "env", "step").allocations_per_step = 2;
  p.trend.slower = true;
  p.trend.us_per_step = {.first = 80, .last = 120};
  p.trend.because = "act/forward";
  p.trend.because_last = 40;
  const std::vector<Finding> findings = find_causes(p);
  std::vector<Cause> causes;
  for (const Finding& finding : findings) causes.push_back(finding.cause);
  EXPECT_EQ(causes,
            (std::vector<Cause>{Cause::failure, Cause::allocating, Cause::logging, Cause::health,
                                Cause::longer_episodes, Cause::slowing, Cause::env_bound}));
  EXPECT_TRUE(has(find(findings, Cause::health)->evidence, "largest |Q| 1e+09"));
}

TEST(Findings, AmdahlsBound) {
  EXPECT_DOUBLE_EQ((Finding{.share = 0.5, .text = "", .evidence = ""}.bound()), 2);
  EXPECT_GT((Finding{.share = 1, .text = "", .evidence = ""}.bound()), 1e6);
}

}  // namespace
}  // namespace hotloop
