// metrics.jsonl on the disk, and which rows it keeps: it stays bounded however long the run is.
//
// The row at env step t has the number t / run.log_every. As long as numbers are below
// R = run.log_rows, the file keeps every row. When they reach R, 2R, 4R, ..., 2^(k-1) R, it is
// thinned: each group of 2^k numbers keeps
//
//   its first row,
//   its rows with warnings, and
//   its rows with a higher greedy return than all rows before; of several in succession the last.
//
// That is at most 2R rows, apart from a few around warnings. From then on only such rows are
// written, and the last row of the run. Groups of 2^(k+1) consist of two groups of 2^k, so thinning
// in several steps gives the same rows as thinning once: a run that was killed and resumed ends
// with the rows of an uninterrupted one, and no state needs to be stored.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "core/file.hpp"
#include "core/statistics.hpp"
#include "spec/spec.hpp"

namespace hotloop {

// What decides whether a row is kept.
struct RowMark {
  std::int64_t env_steps = 0;
  double greedy_return = kNone;  // NaN before the first evaluation
  bool has_warnings = false;
};

class Thinning {
 public:
  explicit Thinning(std::int64_t width) : width_(width) {}  // of a group, in env steps

  enum class Verdict { drop, keep, replace };  // replace: in place of the last row that was kept
  Verdict next(const RowMark& row);            // rows come in the order of their env steps

 private:
  std::int64_t width_, group_ = -1;
  double best_ = -std::numeric_limits<double>::infinity();
  bool last_is_record_ = false;  // only its return keeps the last row
};

class MetricsFile {
 public:
  MetricsFile(std::string path, const RunOptions& options);  // of a new run
  // Continues a run: the rows after `env_steps` are cut off and will be written again. `bytes` is
  // the length that the file had there.
  MetricsFile(std::string path, const RunOptions& options, std::int64_t env_steps,
              std::uint64_t bytes);

  void add(const RowMark& mark, std::string_view row, bool is_last);
  std::uint64_t bytes() const { return lines_->offset(); }
  std::uint64_t lost() const { return lost_; }  // bytes that were missing when it was continued
  void sync() { lines_->sync(); }

 private:
  int level(std::int64_t env_steps) const;  // k, as above; 0 = keeps every row
  void thin(bool keeps_last);

  std::string path_;
  std::int64_t log_every_, limit_;
  int level_ = 0;
  std::uint64_t lost_ = 0;
  std::optional<LineWriter> lines_;
  std::uint64_t last_line_ = 0;  // where it begins
  Thinning thinning_{1};
};

}  // namespace hotloop
