// Hyper-parameters of TD3 and DDPG.
#pragma once

#include <array>
#include <string_view>

#include "algo/common/continuous/options.hpp"

namespace hotloop {

// How TD3 explores: independent Gaussian noise, or noise that drifts (Ornstein-Uhlenbeck).
enum class NoiseKind { gaussian, ornstein_uhlenbeck };
inline constexpr std::array<std::string_view, 2> kNoiseKindNames = {"gaussian",
                                                                    "ornstein_uhlenbeck"};

struct Td3Options : ContinuousOptions {
  NoiseKind noise = NoiseKind::gaussian;
  Schedule noise_std = constant(0.1);  // of exploration, in units of [-1, 1]
  double noise_theta = 0.15;           // ornstein_uhlenbeck: share of the noise lost per step
  double target_noise = 0.2;           // std of the noise on target actions; 0 = no smoothing
  double target_noise_clip = 0.5;
};

}  // namespace hotloop
