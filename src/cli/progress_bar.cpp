#include "cli/progress_bar.hpp"
#include "cli/output.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/text.hpp"

namespace hotloop {

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void ProgressBar::show(const Trainer& trainer, const RunRecord& record) {
  if (!visible_) return;
  const Counters& c = trainer.counters();
  const double elapsed = std::max(1e-9, record.seconds - last_seconds_);
  const double step_rate = static_cast<double>(c.env_steps - last_steps_) / elapsed;
  const double update_rate = static_cast<double>(c.updates - last_updates_) / elapsed;
  const RunOptions& run = trainer.spec().run;
  double share = static_cast<double>(c.env_steps) / static_cast<double>(run.steps);
  if (run.episodes > 0) {
    share = std::max(share, static_cast<double>(c.episodes) / static_cast<double>(run.episodes));
  }
  share = std::min(share, 1.0);
  const double left = record.seconds * (1 - share) / std::max(share, 1e-9);
  const Window& w = trainer.window();
  if (w.episodes > 0) return_ = w.returns / static_cast<double>(w.episodes);
  const std::string text =
      fmt::format(" {:3.0f} %  return {} (greedy {})  {} steps/s  {} updates/s  {:.0f} s left",
                  share * 100, short_number(return_), short_number(record.greedy_return),
                  short_number(step_rate), short_number(update_rate), left);
  // The bar gets the rest of the line: a line that wraps could not be overwritten.
  const int width = std::clamp(terminal_columns() - static_cast<int>(text.size()) - 1, 0, 24);
  const int full = static_cast<int>(share * width);
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < full ? "█" : "░";
  print_status(bar + text);
  shown_ = true;
  last_seconds_ = record.seconds;
  last_steps_ = c.env_steps;
  last_updates_ = c.updates;
}

void ProgressBar::clear() {
  if (!shown_) return;
  print_status("");
  shown_ = false;
}

}  // namespace hotloop
