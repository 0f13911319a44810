#include "profile/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "algo/common/algorithm.hpp"
#include "core/statistics.hpp"
#include "core/system.hpp"
#include "core/thread_team.hpp"
#include "net/batch_gradient.hpp"
#include "net/optimiser.hpp"

namespace hotloop {
namespace {

// The largest piece of `count` equal ones that are divided among threads, as a share of all.
double largest_share(int count, int threads) {
  return 1.0 * ((count + threads - 1) / threads) / std::max(count, 1);
}

// What the busiest thread adds up of the gradient of the parameters.
double largest_share(const std::vector<Plan::GradientPart>& parts, int threads) {
  std::vector<double> work(threads);
  for (const Plan::GradientPart& part : parts)
    work[std::min(threads - 1, static_cast<int>(part.middle * threads))] += part.work;
  return *std::max_element(work.begin(), work.end());
}

double microseconds_of(const std::function<void()>& work, int times) {
  std::vector<double> turns;
  for (int turn = 0; turn < 21; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) work();
    const std::chrono::duration<double, std::micro> taken =
        std::chrono::steady_clock::now() - start;
    turns.push_back(taken.count() / times);
  }
  return quantile(turns, 0.5);
}

// What two threads that work for some microseconds need to start together and to wait for each other.
double measure_meeting() {
  ThreadTeam team(std::min(2, usable_cores()));
  const auto work = [](int, int, int) {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::microseconds(5)) continue;
  };
  const double alone = microseconds_of([&] { work(0, 1, 0); }, 100);
  return std::max(0.0, microseconds_of([&] { team.run(2, work); }, 100) - alone);
}

// How much longer the rows of a block take in the smallest pieces that threads get.
double measure_narrow_blocks(const Plan& plan, int step) {
  if (step >= kLanes || plan.needs_whole_batch()) return 1;
  const Structure& net = plan.structure();
  Workspace workspace(net, kLanes, Use::training, 2);
  const std::vector<float> parameters(net.storage, 0.01f);
  const std::vector<float> rows(static_cast<std::size_t>(kLanes) * net.inputs, 0.5f);
  const auto passes = [&](int size) {
    for (int row = 0; row < kLanes; row += size) {
      const RowRange range{row, row + size};
      forward(plan, parameters, rows.data(), range, workspace);
      backward_rows(plan, parameters, range, workspace);
    }
  };
  passes(kLanes);
  return std::max(1.0, microseconds_of([&] { passes(step); }, 10) /
                           microseconds_of([&] { passes(kLanes); }, 10));
}

// How the engine divides the phases of a spec.
class Division {
 public:
  Division(const TrainSpec& spec, int threads)
      : spec_(spec),
        threads_(threads),
        plan_(spec.algorithm->network(spec, world_facts(spec.world()))),
        split_(plan_.structure(), spec.learn.batch, threads),
        narrow_(measure_narrow_blocks(plan_, split_.step)) {}

  double critical(std::string_view group, std::string_view part) const {
    if (group == "env" && part != "check") return largest_share(spec_.envs, threads_);
    if (group == "act" && part != "noise") return largest_share(block_count(spec_.envs), threads_);
    if (group != "learn") return 1;
    if (part == "optimiser") return shares_parameters() ? of_parameters() : 1;
    if (split_.threads == 1) return 1;
    if (part == "target" || part == "forward" || part == "loss") return of_rows();
    if (part == "backward") return of_backward();
    // About a third of the actor's pass is backward through the actor itself.
    return part == "actor" ? (2 * of_rows() + of_backward()) / 3 : 1;  // "sync" is short
  }
  // Meetings in an update and in a vector step.
  double in_update(bool has_actor) const {
    const double passes = has_actor ? 2 : 1;
    return passes * ((split_.threads > 1 ? 2 : 0) + (shares_parameters() ? 1 : 0));
  }
  double in_vector_step() const {
    return (spec_.envs > 1 ? 1 : 0) + (block_count(spec_.envs) > 1 ? 1 : 0);
  }

 private:
  bool shares_parameters() const { return plan_.structure().storage >= kMinSharedParameters; }
  double of_parameters() const {
    const auto parts =
        static_cast<int>((plan_.structure().storage + kParameterPart - 1) / kParameterPart);
    return largest_share(parts, threads_);
  }
  double of_rows() const {
    const double share = largest_share((split_.batch + split_.step - 1) / split_.step, threads_);
    const double blocks = share * split_.batch / kLanes;  // what lies in half a block is narrow
    const double narrow = blocks < 1 ? 1 : (blocks - std::floor(blocks)) / blocks;
    return share * (1 + narrow * (narrow_ - 1));
  }
  // The gradient of the parameters takes as many operations as the forward pass.
  double of_backward() const {
    const NetworkWork work = work_of(plan_.structure());
    const double of_gradient = std::isfinite(work.forward) ? work.forward / work.backward : 0;
    return of_gradient * largest_share(plan_.gradient_parts(), threads_) +
           (1 - of_gradient) * of_rows();
  }

  const TrainSpec& spec_;
  int threads_;
  Plan plan_;
  BatchSplit split_;
  double narrow_;
};

}  // namespace

WhatIf what_if(const Profile& profile, int threads) {
  const Division division(profile.spec, threads);
  WhatIf result{.threads = threads, .phases = {}, .meeting_us = measure_meeting()};
  double now = 0, then = 0;
  bool has_actor = false;
  for (const PhaseRow& row : profile.phases) {
    const bool is_group = row.part.empty();
    const bool has_parts = std::ranges::any_of(profile.phases, [&](const PhaseRow& other) {
      return other.group == row.group && !other.part.empty();
    });
    if (is_group && has_parts) continue;
    const double critical = division.critical(row.group, row.part);
    has_actor |= row.part == "actor";
    now += row.us_per_step;
    then += row.us_per_step * critical;
    result.phases.push_back({row.name(), row.us_per_step, critical});
  }
  const auto steps = static_cast<double>(std::max<std::int64_t>(profile.env_steps, 1));
  result.meetings_per_step =
      division.in_update(has_actor) * static_cast<double>(profile.updates) / steps +
      division.in_vector_step() / profile.spec.envs;
  // The first thread starts and awaits each of the others.
  const double meeting = result.meeting_us * (threads - 1);
  result.us_per_step = then + (threads > 1 ? result.meetings_per_step * meeting : 0);
  result.speed_up = now / result.us_per_step;
  return result;
}

std::string what_if_text(const WhatIf& w) {
  std::string text = fmt::format(
      "\nwhat if there were {} threads? {:.2f} times as fast, {:.3g} us per env step\n"
      "  a simulation of the critical path, not a measurement: shared memory bandwidth and lower "
      "clocks\n  are left out\n\n"
      "phase             us/step   slowest thread   us/step then\n",
      w.threads, w.speed_up, w.us_per_step);
  for (const WhatIf::Phase& phase : w.phases) {
    if (phase.us_per_step < 5e-4 * w.us_per_step) continue;
    text += fmt::format("{:<16}{:>9.3f}{:>15.1f} %{:>15.3f}\n", phase.name, phase.us_per_step,
                        100 * phase.critical, phase.us_per_step * phase.critical);
  }
  text +=
      fmt::format("{:<16}{:>9}{:>17}{:>15.3f}   {:.3g} a step, {:.2f} us each with two threads\n",
                  "meetings", "", "", w.meetings_per_step * w.meeting_us * (w.threads - 1),
                  w.meetings_per_step, w.meeting_us);
  return text;
}

Json what_if_json(const WhatIf& w) {
  Json phases = Json::array();
  for (const WhatIf::Phase& phase : w.phases) {
    phases.push_back({{"phase", phase.name},
                      {"us_per_step", phase.us_per_step},
                      {"slowest_thread_share", phase.critical}});
  }
  return {{"threads", w.threads},         {"speed_up", w.speed_up},
          {"us_per_step", w.us_per_step}, {"meetings_per_step", w.meetings_per_step},
          {"meeting_us", w.meeting_us},   {"phases", phases}};
}

}  // namespace hotloop
