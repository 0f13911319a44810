// Batch renormalisation, one feature at a time over all blocks of the batch:
//
//   n = (x - mean) / sigma,  y = a (x - mean) + b  with a = scale r / sigma, b = scale d + shift
//   dshift = sum dy,  dscale = r sum dy n + d sum dy
//   dx = a (dy - mean of dy - n * mean of dy n)
//
// Sums and means are over the rows of the batch: lanes beyond them do not count, and get dx = 0. In
// evaluation mean and sigma are constants, so dx = a dy, block by block.
#include "net/layers/batch_norm.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

// Sum of term(block, lane) over the rows of a batch, in an order that depends only on their number.
template <class Term>
float sum_over_rows(int batch, const Term& term) {
  std::array<float, kLanes> sums{};
  const int whole = batch / kLanes;
  for (int block = 0; block < whole; ++block) {
    for (int lane = 0; lane < kLanes; ++lane) sums[lane] += term(block, lane);
  }
  for (int lane = 0; lane < batch % kLanes; ++lane) sums[lane] += term(whole, lane);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}

// What a training pass computes, for the backward pass and the running statistics.
struct BatchStatistics {
  float *mean, *variance, *inverse, *r, *d;  // [width]; `inverse` is 1 / sigma

  BatchStatistics(float* scratch, int width)
      : mean(scratch),
        variance(mean + width),
        inverse(variance + width),
        r(inverse + width),
        d(r + width) {}
  static constexpr int kArrays = 5;
};

class BatchNormKernel final : public BatchKernel {
 public:
  explicit BatchNormKernel(const BatchNormLayer& layer) : layer_(layer) {}
  void forward(const ForwardBlock& block) const override;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const override;
  void backward(const BackwardBlock& block) const override;
  int gradient_parts() const override { return 0; }  // of the whole batch
  void forward_batch(const ForwardBatch& batch) const override;
  void backward_batch(const BackwardBatch& batch) const override;
  void update_statistics(float* scratch, float* parameters) const override;

 private:
  float running_inverse(const float* parameters, int f) const {
    return 1.0f / std::sqrt(parameters[layer_.variance + f] + kBatchNormEpsilon);
  }

  BatchNormLayer layer_;
};

void BatchNormKernel::forward(const ForwardBlock& b) const {
  const float* p = b.parameters;
  with_width(b.width, [&]<int kWidth>() {
    for (int f = 0; f < layer_.width; ++f) {
      Lanes<kWidth>(b.y + f * kLanes) =
          (ConstLanes<kWidth>(b.x + f * kLanes) - p[layer_.mean + f]) *
              (running_inverse(p, f) * p[layer_.scale + f]) +
          p[layer_.shift + f];
    }
  });
}

void BatchNormKernel::forward_one(const float* p, const float* x, float* y, float*) const {
  for (int f = 0; f < layer_.width; ++f) {
    y[f] = (x[f] - p[layer_.mean + f]) * (running_inverse(p, f) * p[layer_.scale + f]) +
           p[layer_.shift + f];
  }
}

void BatchNormKernel::backward(const BackwardBlock& b) const {
  const float* p = b.parameters;
  with_width(b.width, [&]<int kWidth>() {
    for (int f = 0; f < layer_.width; ++f) {
      const ConstLanes<kWidth> dy(b.dy + f * kLanes);
      const float inverse = running_inverse(p, f);
      if (b.gradient != nullptr) {
        const float sum = dy.sum();
        const float sum_n =
            (dy * (ConstLanes<kWidth>(b.x + f * kLanes) - p[layer_.mean + f])).sum() * inverse;
        float &shift = b.gradient[layer_.shift + f], &scale = b.gradient[layer_.scale + f];
        shift = b.accumulate ? shift + sum : sum;
        scale = b.accumulate ? scale + sum_n : sum_n;
      }
      if (b.dx != nullptr) Lanes<kWidth>(b.dx + f * kLanes) = dy * (inverse * p[layer_.scale + f]);
    }
  });
}

void BatchNormKernel::forward_batch(const ForwardBatch& b) const {
  const float* p = b.parameters;
  const auto rows = static_cast<float>(b.batch);
  const bool warm = p[layer_.passes] >= kBatchNormWarmUp;
  const BatchStatistics s(b.scratch, layer_.width);
  for (int f = 0; f < layer_.width; ++f) {
    const auto x = [&](int block) { return b.x.at(block) + f * kLanes; };
    const float mean =
        sum_over_rows(b.batch, [&](int block, int lane) { return x(block)[lane]; }) / rows;
    const float variance = sum_over_rows(b.batch,
                                         [&](int block, int lane) {
                                           const float centred = x(block)[lane] - mean;
                                           return centred * centred;
                                         }) /
                           rows;
    const float sigma = std::sqrt(variance + kBatchNormEpsilon);
    s.mean[f] = mean;
    s.variance[f] = variance;
    s.inverse[f] = 1.0f / sigma;
    s.r[f] = 1, s.d[f] = 0;
    if (warm) {
      const float inverse = running_inverse(p, f);
      s.r[f] = std::clamp(sigma * inverse, 1 / kBatchNormMaxR, kBatchNormMaxR);
      s.d[f] = std::clamp((mean - p[layer_.mean + f]) * inverse, -kBatchNormMaxD, kBatchNormMaxD);
    }
    const float slope = p[layer_.scale + f] * s.r[f] * s.inverse[f];
    const float shift = p[layer_.scale + f] * s.d[f] + p[layer_.shift + f];
    for (int block = 0; block < block_count(b.batch); ++block) {
      with_width(block_width(b.batch, block), [&]<int kWidth>() {
        Lanes<kWidth>(b.y.at(block) + f * kLanes) =
            (ConstLanes<kWidth>(x(block)) - mean) * slope + shift;
      });
    }
  }
}

void BatchNormKernel::backward_batch(const BackwardBatch& b) const {
  const float* p = b.parameters;
  const auto rows = static_cast<float>(b.batch);
  const BatchStatistics s(b.scratch, layer_.width);
  for (int f = 0; f < layer_.width; ++f) {
    const float mean = s.mean[f], inverse = s.inverse[f];
    const auto x = [&](int block) { return b.x.at(block) + f * kLanes; };
    const auto dy = [&](int block) { return b.dy.at(block) + f * kLanes; };
    const float sum = sum_over_rows(b.batch, [&](int block, int lane) { return dy(block)[lane]; });
    const float sum_n = inverse * sum_over_rows(b.batch, [&](int block, int lane) {
                          return dy(block)[lane] * (x(block)[lane] - mean);
                        });
    if (b.gradient != nullptr) {
      const float d_scale = s.r[f] * sum_n + s.d[f] * sum;
      float &shift = b.gradient[layer_.shift + f], &scale = b.gradient[layer_.scale + f];
      shift = b.accumulate ? shift + sum : sum;
      scale = b.accumulate ? scale + d_scale : d_scale;
    }
    if (b.dx.data == nullptr) continue;
    const float slope = p[layer_.scale + f] * s.r[f] * inverse;
    const float mean_dy = sum / rows, mean_n = sum_n / rows * inverse;
    for (int block = 0; block < block_count(b.batch); ++block) {
      float* dx = b.dx.at(block) + f * kLanes;
      const int width = block_width(b.batch, block);
      with_width(width, [&]<int kWidth>() {
        Lanes<kWidth>{dx} = (ConstLanes<kWidth>(dy(block)) - mean_dy -
                             (ConstLanes<kWidth>(x(block)) - mean) * mean_n) *
                            slope;
      });
      const int count = std::min(width, b.batch - block * kLanes);
      std::fill(dx + count, dx + width, 0.0f);
    }
  }
}

void BatchNormKernel::update_statistics(float* scratch, float* p) const {
  const BatchStatistics s(scratch, layer_.width);
  for (int f = 0; f < layer_.width; ++f) {
    if (!std::isfinite(s.mean[f]) || !std::isfinite(s.variance[f])) continue;
    float &mean = p[layer_.mean + f], &variance = p[layer_.variance + f];
    mean += kBatchNormMomentum * (s.mean[f] - mean);
    variance += kBatchNormMomentum * (s.variance[f] - variance);
  }
  p[layer_.passes] += 1;  // stays at kBatchNormMaxPasses
}

}  // namespace

void each_tensor(BatchNormLayer& layer, const TensorVisitor& visit) {
  visit.vector("scale", layer.scale, layer.width);
  visit.vector("shift", layer.shift, layer.width);
  visit.statistic("mean", layer.mean, layer.width, Limits::finite());
  visit.statistic("variance", layer.variance, layer.width, Limits::at_least(0));
  visit.statistic("passes", layer.passes, 1, Limits::integers(0, kBatchNormMaxPasses));
}

void initialise(const BatchNormLayer& layer, Initialiser, const Draws&, float* parameters) {
  std::fill_n(parameters + layer.scale, layer.width, 1.0f);
  std::fill_n(parameters + layer.variance, layer.width, 1.0f);
}

double multiply_adds(const BatchNormLayer&) { return 0; }

LayerMemory memory_of(const BatchNormLayer& layer) {
  return {.scratch = static_cast<std::size_t>(BatchStatistics::kArrays) * layer.width};
}

std::shared_ptr<const LayerKernel> make_kernel(const BatchNormLayer& layer) {
  return std::make_shared<BatchNormKernel>(layer);
}

}  // namespace hotloop
