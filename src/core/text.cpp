#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

// The length of the valid UTF-8 sequence that `text` begins with, and its code point; 0 if it does
// not begin with one.
struct CodePoint {
  std::size_t length = 0;
  char32_t value = 0;
};
CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t length = lead >= 0xF0 && lead < 0xF5   ? 4
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                                                           : 0;
  if (length == 0 || length > text.size()) return {};
  char32_t value = lead & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3F);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};  // by length
  const bool valid = value >= kLeast[length] && value <= 0x10FFFF && (value >> 11) != 0x1B;
  return valid ? CodePoint{length, value} : CodePoint{};
}

// Characters that move the cursor, change colours or reverse the direction of writing.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

// Calls put(piece) with the pieces of the escaped text.
template <class Put>
void escape(std::string_view text, bool keeps_lines, const Put& put) {
  std::size_t clean = 0;  // bytes at the beginning that stay as they are
  while (clean < text.size()) {
    const auto [length, value] = first_code_point(text.substr(clean));
    if (length > 0 && ((keeps_lines && value == '\n') || !is_control(value))) {
      clean += length;
      continue;
    }
    put(text.substr(0, clean));
    const std::size_t end = clean + std::max<std::size_t>(length, 1);
    for (const char c : text.substr(clean, end - clean)) {
      std::array<char, 4> code;
      fmt::format_to(code.data(), "\\x{:02x}", static_cast<unsigned char>(c));
      put(std::string_view(code.data(), code.size()));
    }
    text.remove_prefix(end);
    clean = 0;
  }
  put(text);
}

std::string escaped(std::string_view text, bool keeps_lines) {
  std::string result;
  escape(text, keeps_lines, [&](std::string_view piece) { result += piece; });
  return result;
}

}  // namespace

std::string printable(std::string_view text, std::size_t max) {
  if (text.size() <= max) return escaped(text, false);
  std::size_t end = max;  // not within a character
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return escaped(text.substr(0, end), false) + "...";
}

std::string printable_message(std::string_view text) { return escaped(text, true); }

void write_printable(std::string_view text, std::FILE* to) {
  escape(text, true,
         [&](std::string_view piece) { std::fwrite(piece.data(), 1, piece.size(), to); });
}

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
  constexpr std::size_t kMaxWord = 100;  // a longer one is not a misspelling; the cost is quadratic
  if (word.size() > kMaxWord) return "";
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

std::string size_text(double bytes) {
  if (bytes >= 0x1p30) return fmt::format("{:.1f} GiB", bytes / 0x1p30);
  if (bytes >= 0x1p20) return fmt::format("{:.1f} MiB", bytes / 0x1p20);
  return fmt::format("{:.1f} KiB", bytes / 0x1p10);
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
