// A profile as JSON.
#include "core/json.hpp"
#include "algo/common/algorithm.hpp"
#include "profile/report.hpp"

namespace hotloop {
namespace {

Json numbers(const std::vector<double>& values) {
  Json array = Json::array();
  for (const double value : values) array.push_back(number_or_null(value));
  return array;
}

Json phase_json(const PhaseRow& row) {
  return {{"name", row.name()},
          {"seconds", number_or_null(row.seconds)},
          {"share", number_or_null(row.share)},
          {"us_per_step", number_or_null(row.us_per_step)},
          {"us_per_update", number_or_null(row.us_per_update)},
          {"calls", number_or_null(row.calls)},
          {"p50_us", number_or_null(row.p50_us)},
          {"p99_us", number_or_null(row.p99_us)},
          {"gflops", number_or_null(row.gflops)},
          {"peak_share", number_or_null(row.peak_share)},
          {"gigabytes_per_second", number_or_null(row.gigabytes_per_second)},
          {"allocations_per_step", number_or_null(row.allocations_per_step)},
          {"children", Json::array()}};
}

Json phase_tree(const std::vector<PhaseRow>& rows) {
  Json groups = Json::array();
  for (const PhaseRow& row : rows) {
    if (row.part.empty()) {
      groups.push_back(phase_json(row));
    } else {
      groups.back()["children"].push_back(phase_json(row));
    }
  }
  return groups;
}

Json slope_json(const Slope& slope) {
  return {{"first", number_or_null(slope.first)},
          {"last", number_or_null(slope.last)},
          {"per_step", number_or_null(slope.per_x)},
          {"z", number_or_null(slope.z)}};
}

Json trend_json(const Trend& t) {
  return {{"text", t.text},
          {"known", t.known},
          {"slower", t.slower},
          {"faster", t.faster},
          {"because", t.because},
          {"longer_episodes", t.longer_episodes},
          {"growing_memory", t.growing_memory},
          {"us_per_step", slope_json(t.us_per_step)},
          {"episode_length", slope_json(t.episode_length)},
          {"resident_bytes", slope_json(t.resident)}};
}

Json health_json(const Health& h) {
  return {{"largest_q", number_or_null(h.largest_q)},
          {"q_bound", number_or_null(h.q_bound)},
          {"action_gap", number_or_null(h.action_gap)},
          {"terminal_share", number_or_null(h.terminal_share)},
          {"target_lag", number_or_null(h.target_lag)},
          {"gradient_norm", number_or_null(h.gradient_norm)}};
}

Json samples_json(const std::vector<Sample>& samples) {
  Json array = Json::array();
  for (const Sample& s : samples) {
    array.push_back({{"seconds", number_or_null(s.seconds)},
                     {"env_steps", s.env_steps},
                     {"updates", s.updates},
                     {"episodes", s.episodes},
                     {"resident_bytes", s.resident_bytes}});
  }
  return array;
}

}  // namespace

Json profile_json(const Profile& p) {
  const ThreadUse& t = p.threads;
  return {{"spec", p.spec.name},
          {"seed", p.spec.run.seed},
          {"algorithm", p.spec.algorithm->describe(p.spec)},
          {"env", p.spec.env},
          {"envs", p.spec.envs},
          {"network", p.network},
          {"cpu", p.cpu},
          {"wall_seconds", number_or_null(p.wall_seconds)},
          {"warm_up_seconds", number_or_null(p.warm_up_seconds)},
          {"warm_up_steps", p.warm_up.env_steps},
          {"warm_up_episodes", p.warm_up.episodes},
          {"learnt", p.learnt},
          {"env_steps", p.env_steps},
          {"updates", p.updates},
          {"episodes", p.episodes},
          {"env_steps_per_second", number_or_null(p.steps_per_second())},
          {"updates_per_second", number_or_null(p.updates_per_second())},
          {"updates_per_step",
           number_or_null(static_cast<double>(p.updates) / static_cast<double>(p.env_steps))},
          {"accounted_share", number_or_null(1 - p.unaccounted_share)},
          {"unaccounted_share", number_or_null(p.unaccounted_share)},
          {"phases", phase_tree(p.phases)},
          {"peak_gflops", number_or_null(p.peak_gflops)},
          {"allocations_per_step", number_or_null(p.allocations_per_step)},
          {"memory",
           {{"resident_begin", p.resident_begin},
            {"resident_end", p.resident_end},
            {"bytes_per_transition", number_or_null(p.bytes_per_transition)}}},
          {"cpu_share", number_or_null(p.cpu_share)},
          {"sleeps_per_step", number_or_null(p.sleeps_per_step)},
          {"threads",
           {{"threads", t.threads},
            {"runs", number_or_null(t.runs)},
            {"span_seconds", number_or_null(t.span_seconds)},
            {"busy", numbers(t.busy)},
            {"imbalance", number_or_null(t.imbalance)},
            {"wait_share", number_or_null(t.wait_share)}}},
          {"trend", trend_json(p.trend)},
          {"samples", samples_json(p.samples)},
          {"health", health_json(p.health)},
          {"warnings", p.warnings},
          {"failure", p.failure}};
}

}  // namespace hotloop
