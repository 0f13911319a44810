#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>
#include <vector>

namespace hotloop {
namespace {

constexpr double kOneDecimal = 10;  // returns of at least this size are printed with one decimal

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  const std::string from = lower(a);
  const std::string to = lower(b);
  const std::size_t columns = to.size() + 1;
  // cost[i * columns + j]: edits between the first i letters of `from` and the first j of `to`.
  std::vector<int> cost((from.size() + 1) * columns);
  for (std::size_t i = 0; i <= from.size(); ++i) {
    for (std::size_t j = 0; j <= to.size(); ++j) {
      int& here = cost[i * columns + j];
      if (i == 0 || j == 0) {
        here = static_cast<int>(i + j);
        continue;
      }
      const int replaced = cost[(i - 1) * columns + j - 1] + (from[i - 1] != to[j - 1]);
      const int deleted = cost[(i - 1) * columns + j] + 1;
      const int inserted = cost[i * columns + j - 1] + 1;
      here = std::min({replaced, deleted, inserted});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        here = std::min(here, cost[(i - 2) * columns + j - 2] + 1);
      }
    }
  }
  return cost.back();
}

std::string nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  int best_distance = 0;
  for (std::string_view candidate : candidates) {
    const int distance = edit_distance(word, candidate);
    const int longer = static_cast<int>(std::max(word.size(), candidate.size()));
    const bool begins =
        std::min(word.size(), candidate.size()) >= 3 &&
        (lower(candidate).starts_with(lower(word)) || lower(word).starts_with(lower(candidate)));
    if (distance > std::max(1, longer / 3) && !begins) continue;
    if (longer <= 1 && distance > 0) continue;  // two different single letters are not near
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return std::string(best);
}

std::string join(std::span<const std::string_view> words, std::string_view separator) {
  std::string result;
  for (std::string_view word : words) {
    if (!result.empty()) result += separator;
    result += word;
  }
  return result;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string allowed = "allowed: " + join(candidates);
  const std::string near = nearest(word, candidates);
  return near.empty() ? allowed : "did you mean " + near + "? (" + allowed + ")";
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return "-";
  for (const auto& [unit, name] : {std::pair{1e9, "G"}, std::pair{1e6, "M"}, std::pair{1e3, "k"}}) {
    // A value that rounds up to a unit is printed in that unit: 999.9 is "1k".
    if (std::abs(value) >= 0.9995 * unit) return fmt::format("{:.3g}{}", value / unit, name);
  }
  return fmt::format("{:.3g}", value);
}

std::string yaml_quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string return_text(double value) {
  if (!std::isfinite(value)) return "-";
  if (std::abs(value) >= kOneDecimal) return fmt::format("{:.1f}", value);
  const std::string text = fmt::format("{:.4g}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string return_text(double mean, double spread) {
  const bool coarse = std::abs(mean) >= kOneDecimal && std::isfinite(spread);
  return fmt::format("{} +- {}", return_text(mean),
                     coarse ? fmt::format("{:.1f}", spread) : return_text(spread));
}

}  // namespace hotloop
