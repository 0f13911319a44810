#include "train/thread_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/statistics.hpp"

namespace hotloop {
namespace {

constexpr double kWait = 0.5;         // seconds of learning before anything is tried
constexpr double kWaking = 0.3e-3;    // of a turn, not counted: threads have to wake up
constexpr double kTurn = 2e-3;        // at least, in seconds
constexpr std::size_t kTurns = 9;     // of each number of threads,
constexpr std::size_t kMinTurns = 3;  // or fewer if they are long:
constexpr double kLongTurn = 0.2;     // seconds
constexpr double kGain = 0.97;        // of the time that fewer threads take: less is worth it

}  // namespace

Crew::Crew(int threads, bool pipelined)
    : team(threads),
      pair(pipelined ? std::min(2, threads) : 1),
      learners(pipelined ? std::max(1, threads - 1) : 1) {}

ThreadChoice::ThreadChoice(const TrainSpec& spec, bool shares_work) {
  const int most = spec.max_threads();
  const auto add = [&](int threads) {
    crews_.push_back(std::make_unique<Crew>(threads, spec.learn.pipelined));
  };
  if (spec.threads > 0) {
    add(most);
  } else {
    add(1);
    for (int threads = 2; shares_work && crews_.back()->team.size() < most; threads *= 2)
      add(std::min(threads, most));
    if (!shares_work) reason_ = "1 thread: there is no work for several";
  }
  is_decided_ = crews_.size() == 1;
  turns_.resize(crews_.size());
  for (std::vector<double>& turns : turns_) turns.reserve(kTurns);
}

void ThreadChoice::begin_round() {
  if (!is_decided_) began_ = Clock::now();
}

void ThreadChoice::end_round(bool learns) {
  if (is_decided_ || !learns) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  if (waited_ < kWait) {
    waited_ += seconds;
    return;
  }
  seconds_ += seconds;
  if (rounds_ > 0) {
    ++rounds_;
    if (seconds_ >= kTurn) end_turn();
  } else if (seconds_ >= kWaking) {  // from now on, rounds count
    rounds_ = 1;
    seconds_ = 0;
  }
}

void ThreadChoice::end_turn() {
  turns_[now_].push_back(seconds_ / static_cast<double>(rounds_ - 1));
  const bool is_long = seconds_ >= kLongTurn;
  seconds_ = 0;
  rounds_ = 0;
  now_ = (now_ + 1) % crews_.size();
  const std::size_t done = turns_.back().size();
  if (now_ == 0 && (done == kTurns || (is_long && done >= kMinTurns))) decide();
}

void ThreadChoice::decide() {
  std::vector<double> medians;
  for (const std::vector<double>& turns : turns_) medians.push_back(quantile(turns, 0.5));
  std::size_t best = 0;
  for (std::size_t i = 1; i < medians.size(); ++i) {
    if (medians[i] < kGain * medians[best]) best = i;
  }
  const int most = crews_.back()->team.size();
  std::swap(crews_[0], crews_[best]);
  crews_.resize(1);
  now_ = 0;
  is_decided_ = true;
  reason_ = fmt::format("{} of {} threads: a round takes", crews_[0]->team.size(), most);
  for (std::size_t i = 0, threads = 1; i < medians.size(); ++i, threads *= 2) {
    reason_ += fmt::format("{} {:.3g} ms with {}", i == 0 ? "" : ",", 1e3 * medians[i],
                           std::min<std::size_t>(threads, most));
  }
}

}  // namespace hotloop
