// One line on the terminal with the progress of a run: share, return, rates, time left.
#pragma once

#include <cstdint>

#include "train/progress.hpp"
#include "train/trainer.hpp"

namespace hotloop {

int terminal_columns();  // of standard error; 80 if it is not a terminal

class ProgressBar {
 public:
  explicit ProgressBar(bool visible) : visible_(visible) {}
  ~ProgressBar() { clear(); }

  void show(const Trainer& trainer, const RunRecord& record);
  void clear();

 private:
  bool visible_;
  bool shown_ = false;
  double return_ = kNone;  // mean over the exploring episodes since the last row of metrics
  double last_seconds_ = 0;
  std::int64_t last_steps_ = 0, last_updates_ = 0;
};

}  // namespace hotloop
