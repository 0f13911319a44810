#include "evaluate/recorder.hpp"

#include <algorithm>

namespace hotloop {
namespace {

// Appends row `row` of an array with `width` numbers per row; an absent array has none.
template <class From, class T>
void append_row(const From& rows, std::size_t row, std::size_t width, std::vector<T>& to) {
  if (std::size(rows) == 0) return;
  to.insert(to.end(), rows.begin() + row * width, rows.begin() + (row + 1) * width);
}

template <class T>
void append_all(const std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

void append(const Demonstrations& from, Demonstrations& to) {
  append_all(from.obs, to.obs);
  append_all(from.mask, to.mask);
  append_all(from.actions, to.actions);
  append_all(from.continuous_actions, to.continuous_actions);
  append_all(from.rewards, to.rewards);
  append_all(from.terminated, to.terminated);
  append_all(from.truncated, to.truncated);
  append_all(from.final_obs, to.final_obs);
  append_all(from.final_mask, to.final_mask);
}

}  // namespace

EpisodeRecorder::EpisodeRecorder(const BatchEnv& env) : env_(env), episodes_(env.count()) {
  for (Demonstrations& episode : episodes_) {
    episode.kind = transition_kind(env.spec(), env.has_mask());
  }
}

void EpisodeRecorder::before_step(const Actions& actions) {
  for (std::size_t row = 0; row < episodes_.size(); ++row) {
    Demonstrations& to = episodes_[row];
    if (to.episodes() > 0) continue;
    append_row(env_.obs(), row, to.kind.obs, to.obs);
    append_row(env_.mask(), row, to.kind.actions, to.mask);
    append_row(actions.discrete, row, 1, to.actions);
    const auto size = static_cast<std::size_t>(to.kind.action_size);
    for (std::size_t i = 0; i < size; ++i) {  // rounding may have left the bounds by a last bit
      to.continuous_actions.push_back(std::clamp(actions.continuous[row * size + i],
                                                 to.kind.action_low[i], to.kind.action_high[i]));
    }
  }
}

void EpisodeRecorder::after_step() {
  for (std::size_t row = 0; row < episodes_.size(); ++row) {
    Demonstrations& to = episodes_[row];
    if (to.episodes() > 0) continue;
    to.rewards.push_back(env_.rewards()[row]);
    to.terminated.push_back(env_.terminated()[row]);
    to.truncated.push_back(env_.truncated()[row]);
    if (to.ends_episode(to.size() - 1)) end(row, env_.final_obs(), env_.final_mask());
  }
}

void EpisodeRecorder::end(std::size_t row, std::span<const float> obs,
                          std::span<const std::uint8_t> mask) {
  Demonstrations& to = episodes_[row];
  append_row(obs, row, to.kind.obs, to.final_obs);
  append_row(mask, row, to.kind.actions, to.final_mask);
  // A terminated episode may end where no action is left; nobody acts there.
  if (to.kind.masks && to.terminated.back() != 0) {
    std::fill(to.final_mask.begin(), to.final_mask.end(), std::uint8_t{1});
  }
}

Demonstrations EpisodeRecorder::finish() {
  Demonstrations all;
  all.kind = transition_kind(env_.spec(), env_.has_mask());
  for (std::size_t row = 0; row < episodes_.size(); ++row) {
    Demonstrations& episode = episodes_[row];
    if (episode.episodes() == 0) {
      episode.truncated.back() = 1;
      end(row, env_.obs(), env_.mask());
    }
    append(episode, all);
    episode = {};
  }
  return all;
}

}  // namespace hotloop
