// JSON from a file: its size is bounded before it is parsed, and no message of the JSON library
// reaches a user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/json.hpp"

namespace hotloop {

// Bounds on a JSON text. A parser needs memory for each value and each level, and an object of n
// members costs n^2 comparisons.
struct JsonSize {
  int depth = 16;                 // at most 64
  std::size_t members = 4'096;    // of all objects together
  std::size_t items = 1'048'576;  // of all lists together
};

// Whether a text is within the bounds. Needs one pass and no memory; a text that is not JSON may
// fit.
bool fits(std::string_view text, const JsonSize& size);

// A row of metrics.jsonl or episodes.jsonl: about a hundred members.
inline constexpr JsonSize kLogRow{.depth = 4, .members = 256, .items = 4'096};

// Null if it is not JSON or too large.
Json json_or_null(std::string_view text, const JsonSize& size = {});

// Of run.json, result.json and the like. Throws RunError.
inline constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{16} << 20;
Json read_json(const std::string& path);

// Throws RunError that begins with `place`, "FILE" or "FILE: metadata state".
Json parse_json(std::string_view text, const std::string& place, const JsonSize& size = {});

}  // namespace hotloop
