#include "algo/common/key.hpp"

#include <fmt/format.h>

namespace hotloop {
namespace {

std::string end_text(double x) { return x < 1e9 ? fmt::format("{}", x) : fmt::format("{:g}", x); }

}  // namespace

std::string Range::text(std::string_view name) const {
  std::string result(name);
  if (low > -std::numeric_limits<double>::infinity()) {
    result = fmt::format("{} {} {}", end_text(low), open_low ? "<" : "<=", result);
  }
  if (high < std::numeric_limits<double>::infinity()) {
    result += fmt::format(" {} {}", open_high ? "<" : "<=", end_text(high));
  }
  return result == name ? "any finite number" : result;
}

void Violations::check_schedule(std::string_view path, const Schedule& schedule) {
  if (schedule.kind == ScheduleKind::step && schedule.factor > 1) {
    blame(path, fmt::format("a factor of {} eventually leaves the range; allowed: 0 <= "
                            "factor <= 1",
                            schedule.factor));
  }
  if (schedule.kind == ScheduleKind::exponential && !(schedule.from > 0 && schedule.to > 0)) {
    blame(path, fmt::format("an exponential schedule from {} to {} is impossible; both ends must "
                            "be above 0",
                            schedule.from, schedule.to));
  }
  if (schedule.kind == ScheduleKind::step && schedule.to > schedule.from) {
    blame(path, fmt::format("a step schedule never falls below `to`, but begins at {}; allowed: "
                            "to <= {}, found {}",
                            schedule.from, schedule.from, schedule.to));
  }
}

}  // namespace hotloop
