// Dropout, eight rows at a time: y = x * factor with factor 0 or 1 / (1 - p); dx = dy * factor. The
// factors are kept for the backward pass.
#include "net/layers/dropout.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include <hotloop/rng.hpp>

#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

constexpr int kRows = kLaneStep;  // side by side: one register
constexpr int kPieces = 8;        // of 16 bits in a Philox block of four words
constexpr int kLayerBits = 12;    // Philox blocks of a layer: 2^12, so up to 2^15 features
constexpr std::uint32_t kHalf = 1u << 16;

using Words = std::array<std::uint32_t, kRows>;  // the same word of each row

// Philox 4x32-10 (hotloop/rng.hpp) of eight counters with one key: plain loops, which the compiler
// turns into one register each.
void philox_of_rows(std::array<Words, 4>& counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    std::array<Words, 4> next;
    for (int i = 0; i < kRows; ++i) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0][i];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2][i];
      next[0][i] = static_cast<std::uint32_t>(b >> 32) ^ counter[1][i] ^ key[0];
      next[1][i] = static_cast<std::uint32_t>(b);
      next[2][i] = static_cast<std::uint32_t>(a >> 32) ^ counter[3][i] ^ key[1];
      next[3][i] = static_cast<std::uint32_t>(a);
    }
    counter = next;
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
}

class DropoutKernel final : public LayerKernel {
 public:
  explicit DropoutKernel(const DropoutLayer& layer);
  void forward(const ForwardBlock& block) const override;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const override;
  void backward(const BackwardBlock& block) const override;

 private:
  // The factors of eight features from `feature` on, for eight rows from `row` on.
  using Factors = std::array<std::array<float, kRows>, kPieces>;
  void draw(const TrainingPass& pass, int layer, int row, int feature, Factors& factors) const;

  int width_;
  std::uint32_t dropped_;  // pieces below this: p * 2^16
  float factor_;           // 1 / (1 - p)
};

DropoutKernel::DropoutKernel(const DropoutLayer& layer)
    : width_(layer.width), dropped_(static_cast<std::uint32_t>(std::lround(layer.rate * kHalf))) {
  assert(layer.rate >= 0 && layer.width <= kPieces << kLayerBits);
  dropped_ = std::min(dropped_, kHalf - 1);
  factor_ = static_cast<float>(kHalf) / static_cast<float>(kHalf - dropped_);
}

void DropoutKernel::draw(const TrainingPass& pass, int layer, int row, int feature,
                         Factors& factors) const {
  assert(pass.stream < 256 && layer < 1 << (24 - kLayerBits));
  const auto first = static_cast<std::uint32_t>(layer) << kLayerBits | feature / kPieces;
  std::array<Words, 4> words;
  for (int i = 0; i < kRows; ++i) {
    words[0][i] = static_cast<std::uint32_t>(Purpose::dropout) << 24 | first;
    words[1][i] = pass.stream << 24 | static_cast<std::uint32_t>(pass.first_row + row + i);
    words[2][i] = static_cast<std::uint32_t>(pass.step);
    words[3][i] = static_cast<std::uint32_t>(pass.step >> 32);
  }
  philox_of_rows(
      words, {static_cast<std::uint32_t>(pass.seed), static_cast<std::uint32_t>(pass.seed >> 32)});
  for (int piece = 0; piece < kPieces; ++piece) {
    for (int i = 0; i < kRows; ++i) {
      const std::uint32_t bits = words[piece / 2][i] >> piece % 2 * 16 & (kHalf - 1);
      factors[piece][i] = bits < dropped_ ? 0.0f : factor_;
    }
  }
}

void DropoutKernel::forward(const ForwardBlock& b) const {
  if (b.training == nullptr) {
    std::copy_n(b.x, width_ * kLanes, b.y);
    if (b.kept != nullptr) std::fill_n(b.kept, width_ * kLanes, 1.0f);
    return;
  }
  Factors factors;
  for (int feature = 0; feature < width_; feature += kPieces) {
    const int count = std::min(kPieces, width_ - feature);
    for (int lane = 0; lane < b.width; lane += kRows) {
      draw(*b.training, b.layer, b.row + lane, feature, factors);
      for (int piece = 0; piece < count; ++piece) {
        const int at = (feature + piece) * kLanes + lane;
        for (int i = 0; i < kRows; ++i) b.y[at + i] = b.x[at + i] * factors[piece][i];
        if (b.kept != nullptr) std::copy_n(factors[piece].data(), kRows, b.kept + at);
      }
    }
  }
}

void DropoutKernel::forward_one(const float*, const float* x, float* y, float*) const {
  std::copy_n(x, width_, y);
}

void DropoutKernel::backward(const BackwardBlock& b) const {
  if (b.dx == nullptr) return;
  with_width(b.width, [&]<int kWidth>() {
    for (int at = 0; at < width_ * kLanes; at += kLanes)
      Lanes<kWidth>(b.dx + at) = ConstLanes<kWidth>(b.dy + at) * ConstLanes<kWidth>(b.kept + at);
  });
}

}  // namespace

void each_tensor(DropoutLayer&, const TensorVisitor&) {}
void initialise(const DropoutLayer&, Initialiser, const Draws&, float*) {}
double multiply_adds(const DropoutLayer&) { return 0; }
LayerMemory memory_of(const DropoutLayer& layer) { return {.kept = layer.width}; }

std::shared_ptr<const LayerKernel> make_kernel(const DropoutLayer& layer) {
  return std::make_shared<DropoutKernel>(layer);
}

}  // namespace hotloop
