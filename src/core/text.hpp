// Text for messages: the valid name nearest to a misspelt one, lists of allowed values, numbers.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace hotloop {

// Number of single-character edits (insert, delete, replace, swap of neighbours) that turn `a` into
// `b`, letter case ignored; optimal string alignment, a restricted Damerau-Levenshtein distance.
int edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `word`, the first of them if several are equally near. A candidate
// counts as near if at most a third of its letters differ (always at least one may), or if it
// begins with `word`. Empty if none is near.
std::string nearest(std::string_view word, std::span<const std::string_view> candidates);

// "a, b, c".
std::string join(std::span<const std::string_view> words, std::string_view separator = ", ");

// "did you mean b? (allowed: a, b, c)", or "allowed: a, b, c" if nothing is near.
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

// 12345.6 -> "12.3k"; three significant digits; "-" if it is not finite.
std::string short_number(double value);
// "1.5 GiB", "24.0 MiB", "3.0 KiB".
std::string size_text(double bytes);

// For quoting text from a file in a message: control characters, which a terminal would obey, and
// bytes that are not UTF-8 become \xNN, and text longer than `max` bytes ends in "...".
std::string printable(std::string_view text, std::size_t max = 200);
// The same for a whole message, which may have several lines and any length.
std::string printable_message(std::string_view text);
// Writes printable_message(text), allocating nothing.
void write_printable(std::string_view text, std::FILE* to);

// In double quotes with escapes: the one YAML style that can hold any text.
std::string yaml_quoted(std::string_view text);

// A return or a score with one decimal: 479.23 -> "479.2"; below 10, where that is too coarse, with
// four significant digits: 0.95312 -> "0.9531", 5 -> "5.0". "-" if it is not finite.
std::string return_text(double value);
// "479.2 +- 54.9": the spread has the precision of the mean.
std::string return_text(double mean, double spread);

}  // namespace hotloop
