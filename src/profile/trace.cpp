// Chrome's trace format: consecutive complete events ("X") of one thread, counters ("C") from the
// samples, and the names of process and thread ("M"). Times are in microseconds.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "profile/report.hpp"

namespace hotloop {
namespace {

std::string slot_name(std::size_t slot) {
  if (slot >= kPhaseCount) return "rounds";
  const PhaseName& name = kPhases[slot];
  return name.part.empty() ? std::string(name.group) : fmt::format("{}/{}", name.group, name.part);
}

class Events {
 public:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    text_ += text_.empty() ? "\n" : ",\n";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }
  void name(std::string_view what, const std::string& name) {
    add(R"({{"name":"{}","ph":"M","pid":1,"tid":1,"args":{{"name":{}}}}})", what,
        nlohmann::json(name).dump());
  }
  void counter(std::string_view name, double seconds, double value) {
    add(R"({{"name":"{}","ph":"C","pid":1,"ts":{:.3f},"args":{{"value":{:.6g}}}}})", name,
        1e6 * seconds, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string chrome_trace(const Profile& profile) {
  Events events;
  events.name("process_name", "hotloop profile " + profile.spec.name);
  events.name("thread_name", "training");
  const double us_per_tick = 1e6 * profile.seconds_per_tick;
  for (const PhaseVisit& visit : profile.visits) {
    events.add(R"({{"name":"{}","ph":"X","pid":1,"tid":1,"ts":{:.3f},"dur":{:.3f}}})",
               slot_name(visit.slot), us_per_tick * static_cast<double>(visit.begin),
               us_per_tick * static_cast<double>(visit.end - visit.begin));
  }
  for (std::size_t i = 1; i < profile.samples.size(); ++i) {
    const Sample &a = profile.samples[i - 1], &b = profile.samples[i];
    events.counter("env steps per second", a.seconds,
                   static_cast<double>(b.env_steps - a.env_steps) / (b.seconds - a.seconds));
    events.counter("resident MiB", b.seconds, static_cast<double>(b.resident_bytes) / 0x1p20);
  }
  return fmt::format("{{\"traceEvents\":[{}\n],\"displayTimeUnit\":\"ns\"}}\n", events.text());
}

}  // namespace hotloop
