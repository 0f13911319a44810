// The fact sheet of an environment: sizes, bounds, limits, names, and its options.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace hotloop {

// A named part of the observation row, e.g. {"dc_sfc", {6, 13}}; unused dimensions are 0.
struct ObsPart {
  std::string_view name;
  std::array<int, 3> shape{};

  constexpr int size() const {
    int n = 1;
    for (int extent : shape) n *= extent > 0 ? extent : 1;
    return n;
  }
};

inline constexpr int kMaxActionSize = 64;
inline constexpr int kMaxMeasures = 24;
inline constexpr int kMaxRewardParts = 8;

// Actions are discrete (`actions` is set) or continuous (`action_size` is set), never both.
struct EnvSpec {
  std::string_view name;
  int obs = 0;          // floats in one observation row
  int actions = 0;      // number of discrete actions; 0 = the actions are continuous
  int action_size = 0;  // floats in one continuous action; 0 = the actions are discrete
  std::array<float, kMaxActionSize> action_low{};   // the first action_size values are used:
  std::array<float, kMaxActionSize> action_high{};  // an action is in [low, high], inclusive
  int max_steps = 0;  // time limit after which an episode is truncated; 0 = none
  // The mean return that counts as solved; NaN = there is no accepted value.
  double solved_return = std::numeric_limits<double>::quiet_NaN();
  std::array<ObsPart, 8> parts{};  // names of the row's parts in order; may stay empty
  std::string_view about{};        // one line for `hotloop list envs`
  // Names of the values that `measure` writes at the end of an episode. A measure named "score" is
  // reported with the results. NaN means undefined in that episode; means over episodes skip it.
  std::array<std::string_view, kMaxMeasures> measures{};
  // Names of the reward parts that `reward_parts` writes, for agents that learn a value for each.
  std::array<std::string_view, kMaxRewardParts> reward_parts{};

  constexpr int measure_count() const { return count_names(measures); }
  constexpr int reward_part_count() const { return count_names(reward_parts); }

 private:
  template <std::size_t kMax>
  static constexpr int count_names(const std::array<std::string_view, kMax>& names) {
    int n = 0;
    while (n < static_cast<int>(kMax) && !names[n].empty()) ++n;
    return n;
  }
};

// An option that a training spec may set under `env.options`. Its value is a number; for a choice
// of words, it is the index of the word.
struct EnvOption {
  std::string_view name;
  std::string_view about;
  double initial = 0;  // NaN = it depends on other options, see `about`
  double low = 0;
  double high = 0;
  bool integer = false;                       // integers only
  std::array<std::string_view, 8> choices{};  // the allowed words; empty = a number
  bool is_view = false;                       // it changes observations or masks, not the dynamics
  bool is_speed = false;  // it changes only the speed: results are equal to the bit
};

constexpr EnvOption view(EnvOption option) {
  option.is_view = true;
  return option;
}

// A choice between ways to compute the same thing; `hotloop doctor` tries the others.
constexpr EnvOption speed(EnvOption option) {
  option.is_speed = true;
  return option;
}

constexpr EnvOption integer_option(std::string_view name, int initial, int low, int high,
                                   std::string_view about) {
  return {name,
          about,
          static_cast<double>(initial),
          static_cast<double>(low),
          static_cast<double>(high),
          true};
}
constexpr EnvOption number_option(std::string_view name, double initial, double low, double high,
                                  std::string_view about) {
  return {name, about, initial, low, high};
}
constexpr EnvOption word_option(std::string_view name, std::array<std::string_view, 8> choices,
                                int initial, std::string_view about) {
  return {name, about, static_cast<double>(initial), 0, 0, true, choices};
}

// An image; its smallest detail is one pixel.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb{};  // [height, width, 3]
};

}  // namespace hotloop
