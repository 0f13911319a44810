// Batch renormalisation (Ioffe 2017) as in CrossQ (Bhatt et al. 2024), per feature:
//
//   training     n = (x - mean_B) / sigma_B,  y = scale (r n + d) + shift,
//                r = clip(sigma_B / sigma_run, 1/3, 3),
//                d = clip((mean_B - mean_run) / sigma_run, -5, 5)
//   evaluation   y = scale (x - mean_run) / sigma_run + shift
//
// B is the whole batch; CrossQ's holds s and s'. sigma = sqrt(variance + 1e-3), the variances are
// biased. The backward pass goes through mean_B and sigma_B, but treats r and d as constants. In
// the first 100,000 training passes r = 1 and d = 0: plain batch normalisation (Ioffe & Szegedy
// 2015).
//
// A training pass does not change the parameters. After it, update_statistics (network.hpp) moves
// the running statistics by 1 % towards those of the batch, during the warm-up too, and counts the
// pass. They are tensors behind all trained ones (Structure::trainable), so that they are saved and
// copied with the parameters, but the optimiser never sees them.
//
// This follows github.com/adityab/CrossQ (sbx/sac/policies.py; its momentum of 0.99 is our 0.01)
// with one difference, of the order of epsilon / variance: there x is divided by
// sqrt(variance / r^2 + 1e-3), and d is multiplied by sqrt(variance) / r. Here, as in Ioffe's
// paper, training and evaluation agree where nothing is clipped. The version of sb3-contrib has
// the same formulas as CrossQ's, but unbiased variances, and its warm-up is one pass longer.
#pragma once

#include "net/layers/layer.hpp"

namespace hotloop {

struct BatchNormLayer {
  int width = 0;
  std::size_t scale = 0;     // offset of scale [width]
  std::size_t shift = 0;     // offset of shift [width]
  std::size_t mean = 0;      // offset of the running mean [width]
  std::size_t variance = 0;  // offset of the running variance [width]
  std::size_t passes = 0;    // offset of the number of training passes [1], up to 2^24

  int inputs() const { return width; }
  int outputs() const { return width; }
  bool operator==(const BatchNormLayer&) const = default;
};
inline constexpr float kBatchNormEpsilon = 1e-3f;
inline constexpr float kBatchNormMomentum = 0.01f;
inline constexpr float kBatchNormMaxR = 3, kBatchNormMaxD = 5;
inline constexpr float kBatchNormWarmUp = 100'000;     // training passes
inline constexpr float kBatchNormMaxPasses = 1 << 24;  // a float counts no further

void each_tensor(BatchNormLayer& layer, const TensorVisitor& visit);
void initialise(const BatchNormLayer& layer, Initialiser init, const Draws& draws,
                float* parameters);
double multiply_adds(const BatchNormLayer& layer);
LayerMemory memory_of(const BatchNormLayer& layer);
std::shared_ptr<const LayerKernel> make_kernel(const BatchNormLayer& layer);

}  // namespace hotloop
