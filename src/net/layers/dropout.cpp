// Dropout, eight rows at a time: y = x * factor with factor 0 or 1 / (1 - p); dx = dy * factor. The
// factors are kept for the backward pass.
#include "net/layers/dropout.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include <hotloop/rng.hpp>

#include "core/cpu/vec.hpp"
#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

constexpr int kPieces = 8;      // of 16 bits in a Philox block of four words
constexpr int kLayerBits = 12;  // Philox blocks of a layer: 2^12, so up to 2^15 features
constexpr std::uint32_t kHalf = 1u << 16;

// The same word of eight rows, and 64-bit numbers of every second row.
using Words = std::uint32_t __attribute__((vector_size(32)));
using Longs = std::uint64_t __attribute__((vector_size(32)));
constexpr std::uint64_t kLow = 0xffffffff;

// Products of words 0, 2, 4 and 6.
inline Longs multiply_even(Words a, std::uint32_t b) {
#ifdef __AVX2__
  return Longs(_mm256_mul_epu32(__m256i(a), _mm256_set1_epi64x(b)));
#else
  return (Longs(a) & kLow) * b;
#endif
}

// Philox 4x32-10 (hotloop/rng.hpp) of eight counters with one key.
inline void philox_of_rows(Words (&counter)[4], std::array<std::uint32_t, 2> key) {
  const auto multiply = [](Words a, std::uint32_t b, Words& high) {
    const Longs even = multiply_even(a, b), odd = multiply_even(Words(Longs(a) >> 32), b);
    high = Words(even >> 32 | (odd & ~kLow));
    return Words((even & kLow) | odd << 32);
  };
  for (int round = 0; round < 10; ++round) {
    Words high_a, high_b;
    const Words low_a = multiply(counter[0], 0xD2511F53, high_a);
    const Words low_b = multiply(counter[2], 0xCD9E8D57, high_b);
    counter[0] = high_b ^ counter[1] ^ key[0];
    counter[1] = low_b;
    counter[2] = high_a ^ counter[3] ^ key[1];
    counter[3] = low_a;
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
}

class DropoutKernel final : public LayerKernel {
 public:
  explicit DropoutKernel(const DropoutLayer& layer);
  void forward(const ForwardBlock& block) const override;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const override;
  void backward(const BackwardBlock& block) const override;
  int gradient_parts() const override { return 0; }

 private:
  // The words of eight features from `feature` on, for eight rows from `row` on.
  void draw(const ForwardBlock& block, int lane, int feature, Words (&words)[4]) const;

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

void DropoutKernel::draw(const ForwardBlock& b, int lane, int feature, Words (&words)[4]) const {
  const TrainingPass& pass = *b.training;
  assert(pass.stream < 256 && b.layer < 1 << (24 - kLayerBits));
  const std::uint32_t first = static_cast<std::uint32_t>(b.layer) << kLayerBits | feature / kPieces;
  const std::uint32_t row = pass.stream << 24 | static_cast<std::uint32_t>(b.row + lane);
  words[0] = Words{} + (static_cast<std::uint32_t>(Purpose::dropout) << 24 | first);
  words[1] = Words{0, 1, 2, 3, 4, 5, 6, 7} + row;
  words[2] = Words{} + static_cast<std::uint32_t>(pass.step);
  words[3] = Words{} + static_cast<std::uint32_t>(pass.step >> 32);
  philox_of_rows(
      words, {static_cast<std::uint32_t>(pass.seed), static_cast<std::uint32_t>(pass.seed >> 32)});
}

void DropoutKernel::forward(const ForwardBlock& b) const {
  if (b.training == nullptr) {
    for (int at = 0; at < width_ * kLanes; at += kLanes) {
      std::copy_n(b.x + at, b.width, b.y + at);
      if (b.kept != nullptr) std::fill_n(b.kept + at, b.width, 1.0f);
    }
    return;
  }
  Words words[4];
  for (int feature = 0; feature < width_; feature += kPieces) {
    const int count = std::min(kPieces, width_ - feature);
    for (int lane = 0; lane < b.width; lane += kVec) {
      draw(b, lane, feature, words);
      for (int piece = 0; piece < count; ++piece) {
        const Words bits = words[piece / 2] >> piece % 2 * 16 & (kHalf - 1);
        const Vec factor = Vec(Words(bits >= dropped_) & Words(broadcast(factor_)));
        const int at = (feature + piece) * kLanes + lane;
        store(b.y + at, load(b.x + at) * factor);
        if (b.kept != nullptr) store(b.kept + at, factor);
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
