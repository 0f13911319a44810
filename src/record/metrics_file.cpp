#include "record/metrics_file.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include <hotloop/error.hpp>

#include "record/json_text.hpp"

namespace hotloop {
namespace {

// None if the line is not a row of metrics.
std::optional<RowMark> mark_of(std::string_view line) {
  const Json row = json_or_null(line, kLogRow);
  if (!row.is_object() || !row.contains("env_steps") || !row["env_steps"].is_number_integer()) {
    return {};
  }
  const Json greedy = row.value("greedy_return", Json()), warnings = row.value("warnings", Json());
  return RowMark{.env_steps = row["env_steps"].get<std::int64_t>(),
                 .greedy_return = greedy.is_number() ? greedy.get<double>() : kNone,
                 .has_warnings = !warnings.empty()};
}

FileContents read_rows(const std::string& path) {
  try {
    return read_file(path);
  } catch (const RunError& error) {
    throw RunError(
        fmt::format("{}\nif you move it away, the run continues without these rows", error.what()));
  }
}

}  // namespace

Thinning::Verdict Thinning::next(const RowMark& row) {
  const bool is_first = row.env_steps / width_ != group_;
  const bool is_record = row.greedy_return > best_;
  group_ = row.env_steps / width_;
  if (is_record) best_ = row.greedy_return;
  if (is_first || row.has_warnings) {
    last_is_record_ = false;
    return Verdict::keep;
  }
  if (!is_record) return Verdict::drop;
  return std::exchange(last_is_record_, true) ? Verdict::replace : Verdict::keep;
}

MetricsFile::MetricsFile(std::string path, const RunOptions& options)
    : path_(std::move(path)), log_every_(options.log_every), limit_(options.log_rows) {
  lines_.emplace(path_);
}

MetricsFile::MetricsFile(std::string path, const RunOptions& options, std::int64_t env_steps,
                         std::uint64_t bytes)
    : MetricsFile(std::move(path), options) {
  const FileContents contents = read_rows(path_);
  std::string_view text = contents.text();
  text = text.substr(0, text.rfind('\n') + 1);
  bool has_later_rows = false;
  while (!text.empty()) {
    const std::size_t begin = text.substr(0, text.size() - 1).rfind('\n') + 1;
    const std::optional<RowMark> mark = mark_of(text.substr(begin));
    if (mark && mark->env_steps <= env_steps) break;
    has_later_rows |= mark.has_value();
    text = text.substr(0, begin);
  }
  lines_->cut(text.size());
  level_ = level(env_steps);
  // With later rows, the file was thinned after the checkpoint and has lost nothing.
  if (text.size() < bytes && !has_later_rows) lost_ = bytes - text.size();
  if (level_ > 0) thin(true);
}

int MetricsFile::level(std::int64_t env_steps) const {
  int k = 0;
  if (limit_ == 0) return k;
  for (std::int64_t number = env_steps / log_every_; number >= limit_; number /= 2) ++k;
  return k;
}

void MetricsFile::add(const RowMark& mark, std::string_view row, bool is_last) {
  if (const int now = level(mark.env_steps); now > level_) {
    level_ = now;
    thin(false);
  }
  if (level_ > 0) {
    const Thinning::Verdict verdict = thinning_.next(mark);
    if (verdict == Thinning::Verdict::drop && !is_last) return;
    if (verdict == Thinning::Verdict::replace) lines_->cut(last_line_);
  }
  last_line_ = lines_->offset();
  lines_->append(row);
  lines_->flush();
}

// `keeps_last`: a run that has ended is continued, and its last row stays until it is thinned again.
void MetricsFile::thin(bool keeps_last) {
  lines_->flush();
  const FileContents contents = read_rows(path_);
  std::string_view text = contents.text();
  std::vector<std::span<const std::byte>> kept;
  std::uint64_t size = 0;
  thinning_ = Thinning(log_every_ << level_);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n') + 1);
    text.remove_prefix(line.size());
    const std::optional<RowMark> mark = mark_of(line);
    if (!mark) continue;
    const Thinning::Verdict verdict = thinning_.next(*mark);
    if (verdict == Thinning::Verdict::drop && !(keeps_last && text.empty())) continue;
    if (verdict == Thinning::Verdict::replace) {
      size -= kept.back().size();
      kept.pop_back();
    }
    last_line_ = size;
    size += line.size();
    kept.push_back(std::as_bytes(std::span(line)));
  }
  if (size == contents.size) return;
  write_file_atomically(path_, kept);
  lines_.emplace(path_);
}

}  // namespace hotloop
