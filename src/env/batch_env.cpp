#include "env/batch_env.hpp"

#include <hotloop/error.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "core/limits.hpp"

namespace hotloop {
namespace {

// Rows stepped, observed and counted before the next ones are touched: small enough that their
// state stays in the first-level cache between the three passes.
constexpr int kBlockRows = 256;

// Adds the rewards and applies the time limit. A separate function, because __restrict works only
// on parameters, and the loop must be vectorised.
void count_rows(int count, std::int64_t now, std::int64_t limit, const float* __restrict rewards,
                const std::uint8_t* __restrict terminated,
                const std::int64_t* __restrict began_after, double* __restrict running_return,
                std::uint8_t* __restrict truncated) {
  for (int i = 0; i < count; ++i) {
    running_return[i] += static_cast<double>(rewards[i]);
    truncated[i] = (now - began_after[i] >= limit) & (terminated[i] == 0);
  }
}

// Calls body(row) for the rows of [begin, end) with either flag set. Most rows have neither, so
// rows are skipped eight at a time.
template <class Body>
void for_each_ended(const std::uint8_t* a, const std::uint8_t* b, int begin, int end, Body&& body) {
  int row = begin;
  for (; row + 8 <= end; row += 8) {
    std::uint64_t word_a;
    std::uint64_t word_b;
    std::memcpy(&word_a, a + row, 8);
    std::memcpy(&word_b, b + row, 8);
    if ((word_a | word_b) == 0) continue;
    for (int i = row; i < row + 8; ++i) {
      if (a[i] | b[i]) body(i);
    }
  }
  for (; row < end; ++row) {
    if (a[row] | b[row]) body(row);
  }
}

template <class T>
std::byte* write(std::byte* to, const T* from, std::size_t count) {
  if (count > 0) std::memcpy(to, from, count * sizeof(T));  // an absent array may be null
  return to + count * sizeof(T);
}

template <class T>
const std::byte* read(const std::byte* from, T* to, std::size_t count) {
  if (count > 0) std::memcpy(to, from, count * sizeof(T));
  return from + count * sizeof(T);
}

}  // namespace

BatchEnv::BatchEnv(std::unique_ptr<Worlds> worlds, int count, std::uint64_t seed, Purpose purpose)
    : worlds_(std::move(worlds)),
      count_(count),
      seed_(seed),
      purpose_(purpose),
      limit_(spec().max_steps > 0 ? spec().max_steps : std::numeric_limits<std::int64_t>::max()) {
  const Stepping stepping = worlds_->stepping();
  if (const auto* rows = std::get_if<WorldArray*>(&stepping)) {
    rows_ = *rows;
  } else {
    together_ = std::get<VectorWorlds*>(stepping);
  }
  const auto n = static_cast<std::size_t>(count);
  const std::size_t obs_size = n * spec().obs;
  const std::size_t mask_size = has_mask() ? n * spec().actions : 0;
  obs_ = arena_.take<float>(obs_size);
  final_obs_ = arena_.take<float>(obs_size);
  rewards_ = arena_.take<float>(n);
  reward_parts_ = arena_.take<float>(n * spec().reward_part_count());
  mask_ = arena_.take<std::uint8_t>(mask_size);
  final_mask_ = arena_.take<std::uint8_t>(mask_size);
  terminated_ = arena_.take<std::uint8_t>(n);
  truncated_ = arena_.take<std::uint8_t>(n);
  running_return_ = arena_.take<double>(n);
  began_after_ = arena_.take<std::int64_t>(n);
  finished_ = arena_.take<Episode>(n);
  reset();
}

void BatchEnv::reset() {
  steps_ = 0;
  std::fill(running_return_.begin(), running_return_.end(), 0.0);
  std::fill(began_after_.begin(), began_after_.end(), 0);
  if (together_ != nullptr) {
    together_->begin(seed_, purpose_, results());
  } else {
    rows_->clear();
    for (int row = 0; row < count_; ++row) {
      Rng rng(seed_, purpose_, static_cast<std::uint32_t>(row), 0);
      rows_->reset(row, rng);
    }
  }
  clear_results();
}

VectorResults BatchEnv::results() const {
  return {obs_, final_obs_, rewards_, terminated_, truncated_, mask_, final_mask_};
}

void BatchEnv::show_in(const Shown& to) {
  assert(to.obs.size() == obs_.size() && to.rewards.size() == rewards_.size() &&
         to.terminated.size() == rewards_.size() && to.truncated.size() == rewards_.size());
  obs_ = to.obs;
  rewards_ = to.rewards;
  terminated_ = to.terminated;
  truncated_ = to.truncated;
}

void BatchEnv::clear_results() {
  std::fill(rewards_.begin(), rewards_.end(), 0.0f);
  std::fill(reward_parts_.begin(), reward_parts_.end(), 0.0f);
  std::fill(terminated_.begin(), terminated_.end(), std::uint8_t{0});
  std::fill(truncated_.begin(), truncated_.end(), std::uint8_t{0});
  finished_count_ = 0;
  if (together_ != nullptr) return;  // they write obs and mask themselves
  rows_->observe(0, count_, obs_);
  if (has_mask()) rows_->mask(0, count_, mask_);
}

void BatchEnv::step(const ActionRows& actions, ThreadTeam& team) {
  assert(actions_are_legal(actions));
  together_ != nullptr ? step_together(actions) : step_by_row(actions, team);
}

void BatchEnv::step_together(const ActionRows& actions) {
  ++steps_;
  mark(Phase::python);
  together_->step_all(actions, results());
  mark(Phase::env_step);
  for (int row = 0; row < count_; ++row) {
    running_return_[row] += static_cast<double>(rewards_[row]);
    if (terminated_[row] != 0) truncated_[row] = 0;
  }
  for_each_ended(terminated_.data(), truncated_.data(), 0, count_,
                 [this](int row) { record_episode(row); });
  collect_finished();
}

void BatchEnv::step_by_row(const ActionRows& actions, ThreadTeam& team) {
  ++steps_;
  team.run(count_, [this, &actions](int begin, int end, int) {
    for (int row = begin; row < end; row += kBlockRows) {
      step_rows(row, std::min(row + kBlockRows, end), actions);
    }
  });
  collect_finished();
}

void BatchEnv::step_rows(int begin, int end, const ActionRows& actions) {
  mark(Phase::env_step);
  rows_->step(begin, end, actions, seed_, purpose_, steps_, rewards_, terminated_);
  mark(Phase::env_observe);
  rows_->observe(begin, end, obs_);
  if (has_mask()) rows_->mask(begin, end, mask_);
  mark(Phase::env_step);
  if (!reward_parts_.empty()) rows_->reward_parts(begin, end, reward_parts_);

  count_rows(end - begin, static_cast<std::int64_t>(steps_), limit_, &rewards_[begin],
             &terminated_[begin], &began_after_[begin], &running_return_[begin],
             &truncated_[begin]);
  for_each_ended(terminated_.data(), truncated_.data(), begin, end,
                 [this](int row) { end_episode(row); });
}

void BatchEnv::end_episode(int row) {
  mark(Phase::env_reset);
  const int obs_width = spec().obs;
  const std::size_t obs_at = static_cast<std::size_t>(row) * obs_width;
  std::copy_n(&obs_[obs_at], obs_width, &final_obs_[obs_at]);
  if (has_mask()) {
    const int mask_width = spec().actions;
    const std::size_t mask_at = static_cast<std::size_t>(row) * mask_width;
    std::copy_n(&mask_[mask_at], mask_width, &final_mask_[mask_at]);
  }
  record_episode(row);

  Rng rng(seed_, purpose_, static_cast<std::uint32_t>(row), 0 - steps_);
  rows_->reset(row, rng);
  rows_->observe(row, row + 1, obs_);
  if (has_mask()) rows_->mask(row, row + 1, mask_);
}

void BatchEnv::record_episode(int row) {
  const auto now = static_cast<std::int64_t>(steps_);
  Episode& episode = finished_[row];
  episode = {running_return_[row], now - began_after_[row]};
  worlds_->measure(row, episode.measures);
  running_return_[row] = 0;
  began_after_[row] = now;
}

// Workers wrote each finished episode at its row; compact them in row order.
void BatchEnv::collect_finished() {
  finished_count_ = 0;
  for_each_ended(terminated_.data(), truncated_.data(), 0, count_,
                 [this](int row) { finished_[finished_count_++] = finished_[row]; });
}

bool BatchEnv::actions_are_legal(const ActionRows& actions) const {
  const auto n = static_cast<std::size_t>(count_);
  const auto& [discrete, continuous] = actions;
  const int width = spec().actions;
  if (discrete.size() != (width > 0 ? n : 0)) return false;
  if (continuous.size() != n * static_cast<std::size_t>(spec().action_size)) return false;
  for (std::size_t row = 0; row < discrete.size(); ++row) {
    const std::int32_t action = discrete[row];
    if (action < 0 || action >= width) return false;
    if (has_mask() && mask_[row * width + action] == 0) return false;
  }
  return std::all_of(continuous.begin(), continuous.end(),
                     [](float a) { return std::isfinite(a); });
}

std::vector<std::byte> BatchEnv::save() const {
  if (rows_ != nullptr) rows_->check_rows(obs_, mask_);
  const std::vector<std::byte> together =
      together_ != nullptr ? together_->save_all() : std::vector<std::byte>();
  std::vector<std::byte> state(fixed_bytes() + together.size());
  std::byte* at = write(state.data(), &steps_, 1);
  at = write(at, running_return_.data(), running_return_.size());
  at = write(at, began_after_.data(), began_after_.size());
  write(at, together.data(), together.size());
  for (int row = 0; rows_ != nullptr && row < count_; ++row, at += rows_->row_bytes()) {
    rows_->save_row(row, at);
  }
  return state;
}

std::size_t BatchEnv::fixed_bytes() const {
  return sizeof(steps_) + running_return_.size_bytes() + began_after_.size_bytes() +
         (rows_ != nullptr ? static_cast<std::size_t>(count_) * rows_->row_bytes() : 0);
}

void BatchEnv::restore(std::span<const std::byte> from) {
  if (from.size() != fixed_bytes() && (together_ == nullptr || from.size() < fixed_bytes())) {
    throw RunError("the saved state of environment \"" + std::string(spec().name) + "\" has " +
                   std::to_string(from.size()) + " bytes; " + std::to_string(count_) +
                   " environments of this build need " + std::to_string(fixed_bytes()));
  }
  const auto check = [this](bool holds, int row, const char* what) {
    if (holds) return;
    throw RunError("the saved state of environment \"" + std::string(spec().name) + "\", row " +
                   std::to_string(row) + ": " + what);
  };
  const std::byte* at = read(from.data(), &steps_, 1);
  at = read(at, running_return_.data(), running_return_.size());
  at = read(at, began_after_.data(), began_after_.size());
  check(steps_ <= static_cast<std::uint64_t>(kMaxCount), 0, "too many steps");
  const auto now = static_cast<std::int64_t>(steps_);
  for (int row = 0; row < count_; ++row) {
    const std::int64_t began = began_after_[row];
    check(std::isfinite(running_return_[row]), row, "its return so far is not finite");
    check(began >= 0 && began <= now, row, "its episode began before the run or after its end");
    check(together_ != nullptr || now - began < limit_, row,
          "its episode is beyond the time limit");
  }
  if (together_ != nullptr) {
    together_->restore_all(seed_, purpose_, from.subspan(fixed_bytes()), results());
  } else {
    for (int row = 0; row < count_; ++row, at += rows_->row_bytes()) {
      check(rows_->restore_row(row, at), row, "not a state that it can continue from");
    }
  }
  clear_results();
}

}  // namespace hotloop
