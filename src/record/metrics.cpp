#include "record/metrics.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/system.hpp"
#include "record/json_number.hpp"
#include "train/health.hpp"

namespace hotloop {
namespace {

using Buffer = fmt::memory_buffer;

void add(Buffer& row, std::string_view key, double value) {
  fmt::format_to(std::back_inserter(row), ",\"{}\":", key);
  append_number(row, value);
}

double mean(double sum, std::int64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : kNone;
}

}  // namespace

std::vector<std::string> MetricsLog::write(Trainer& trainer, RunRecord& record, bool is_last) {
  const Counters& c = trainer.counters();
  Window& w = trainer.window();
  const double elapsed = last_seconds_ < 0 ? kNone : record.seconds - last_seconds_;
  Buffer row;
  fmt::format_to(std::back_inserter(row), "{{\"env_steps\":{},\"updates\":{},\"episodes\":{}",
                 c.env_steps, c.updates, c.episodes);
  add(row, "seconds", record.seconds);
  add(row, "env_steps_per_second", static_cast<double>(c.env_steps - last_steps_) / elapsed);
  add(row, "updates_per_second", static_cast<double>(c.updates - last_updates_) / elapsed);
  add(row, "exploring_return", mean(w.returns, w.episodes));
  add(row, "greedy_return", record.greedy_return);
  const EnvSpec& env = trainer.env().spec();
  const auto add_measures = [&](std::string_view key, auto&& value_of) {
    fmt::format_to(std::back_inserter(row), ",\"{}\":{{", key);
    for (int i = 0; i < env.measure_count(); ++i) {
      fmt::format_to(std::back_inserter(row), "{}\"{}\":", i > 0 ? "," : "", env.measures[i]);
      append_number(row, value_of(i));
    }
    fmt::format_to(std::back_inserter(row), "}}");
  };
  add_measures("measures",
               [&](int i) { return trainer.episodes().mean_of_last(EpisodeLog::kMeasures + i); });
  const bool evaluated = !std::isnan(record.greedy_return);
  add_measures("greedy_measures",
               [&](int i) { return evaluated ? record.greedy_measures[i] : kNone; });
  const std::vector<std::string_view> columns = trainer.learner().columns();
  for (std::size_t i = 0; i < columns.size(); ++i) add(row, columns[i], mean(w.sums[i], w.updates));
  const Health health = examine(trainer);
  add(row, "largest_q", health.largest_q);
  add(row, "q_bound", health.q_bound);
  add(row, "action_gap", health.action_gap);
  add(row, "terminal_share", health.terminal_share);
  add(row, "target_lag", health.target_lag);
  if (!std::isnan(health.critic_bias)) add(row, "critic_bias", health.critic_bias);
  trainer.learner().settings(c,
                             [&](std::string_view name, double value) { add(row, name, value); });
  std::vector<std::string> warnings = watch(health, trainer.spec(), c.env_steps, record.health);
  fmt::format_to(std::back_inserter(row), ",\"warnings\":{}", nlohmann::json(warnings).dump());
  fmt::format_to(std::back_inserter(row), ",\"resident_bytes\":{},\"time\":{{", resident_bytes());
  const GroupShares shares = record.time_shares();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    fmt::format_to(std::back_inserter(row), "{}\"{}\":{:.4f}", i > 0 ? "," : "", kPhaseGroups[i],
                   shares[i]);
  }
  fmt::format_to(std::back_inserter(row), "}}}}");
  row_.assign(row.data(), row.size());
  file_.add({c.env_steps, record.greedy_return, !warnings.empty()}, row_, is_last);
  w = {};
  last_seconds_ = record.seconds;
  last_steps_ = c.env_steps;
  last_updates_ = c.updates;
  return warnings;
}

}  // namespace hotloop
