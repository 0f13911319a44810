#include "net/optimiser.hpp"

#include <array>
#include <cmath>

#include "core/cpu/flush_denormals.hpp"
#include "core/cpu/vec.hpp"

namespace hotloop {

float euclidean_norm(std::span<const float> values) {
  constexpr std::size_t kPartial = 32;  // independent sums: four registers hide the latency
  std::array<float, kPartial> sums{};
  const std::size_t whole = values.size() / kPartial * kPartial;
  for (std::size_t i = 0; i < whole; i += kPartial) {
    for (std::size_t j = 0; j < kPartial; ++j) sums[j] += values[i + j] * values[i + j];
  }
  for (std::size_t i = whole; i < values.size(); ++i) sums[i - whole] += values[i] * values[i];
  double total = 0;
  for (float sum : sums) total += sum;
  return static_cast<float>(std::sqrt(total));
}

float clip_factor(float norm, float clip_norm) {
  return clip_norm > 0 && norm > clip_norm ? clip_norm / norm : 1.0f;
}

Optimiser::Optimiser(const OptimiserOptions& options, std::size_t size)
    : options_(options), first_(arena_.take<float>(size)), second_(arena_.take<float>(size)) {}

void Optimiser::step(std::span<float> parameters, std::span<const float> gradient,
                     float learning_rate, float gradient_scale, ThreadTeam& team) {
  const FlushDenormals flush;  // denormal powers would be slow
  powers_[0] *= options_.beta1;
  powers_[1] *= options_.beta2;
  const Step step{.learning_rate = learning_rate,
                  .gradient_scale = gradient_scale,
                  .size = static_cast<float>(learning_rate / (1 - powers_[0])),
                  .root_scale = static_cast<float>(1 / std::sqrt(1 - powers_[1]))};
  share_parameters(parameters.size(), team, [&](std::size_t first, std::size_t last) {
    step_part(step, first, last, parameters.data(), gradient.data());
  });
}

void Optimiser::step_part(const Step& step, std::size_t first, std::size_t last, float* parameters,
                          const float* gradient) {
  const FlushDenormals flush;
  const OptimiserOptions o = options_;
  float* __restrict p = parameters + first;
  const float* __restrict grad = gradient + first;
  float* __restrict m = first_.data() + first;
  float* __restrict v = second_.data() + first;
  const std::size_t size = last - first;
  const auto [learning_rate, gradient_scale, step_size, root_scale] = step;
  const bool decoupled = o.kind == OptimiserKind::adamw;
  const float decay = decoupled ? 0 : o.weight_decay;

  switch (o.kind) {
    case OptimiserKind::adam:
    case OptimiserKind::adamw: {
      const float keep = decoupled ? 1 - learning_rate * o.weight_decay : 1;
      const float epsilon = o.epsilon;
      const float keep1 = o.beta1, take1 = 1 - o.beta1, keep2 = o.beta2, take2 = 1 - o.beta2;
      for (std::size_t i = 0; i < size; ++i) {
        const float g = multiply_add(decay, p[i], grad[i] * gradient_scale);
        m[i] = multiply_add(keep1, m[i], take1 * g);
        v[i] = multiply_add(keep2, v[i], take2 * g * g);
        const float root = multiply_add(std::sqrt(v[i]), root_scale, epsilon);
        p[i] = multiply_add(keep, p[i], -step_size * m[i] / root);
      }
      break;
    }
    case OptimiserKind::rmsprop:
      for (std::size_t i = 0; i < size; ++i) {
        const float g = grad[i] * gradient_scale + decay * p[i];
        v[i] = o.decay * v[i] + (1 - o.decay) * g * g;
        m[i] = o.momentum * m[i] + g / (std::sqrt(v[i]) + o.epsilon);
        p[i] -= learning_rate * m[i];
      }
      break;
    case OptimiserKind::sgd:
      for (std::size_t i = 0; i < size; ++i) {
        m[i] = o.momentum * m[i] + grad[i] * gradient_scale + decay * p[i];
        p[i] -= learning_rate * m[i];
      }
      break;
  }
}

}  // namespace hotloop
