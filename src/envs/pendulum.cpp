// The batch step of Pendulum: plain loops that the compiler turns into SIMD code.
#include "envs/pendulum.hpp"

#include <algorithm>

namespace hotloop {
namespace {

void step_rows(int count, double* __restrict angle, double* __restrict speed,
               const float* __restrict actions, float* __restrict rewards) {
  for (int i = 0; i < count; ++i) {
    Pendulum world{angle[i], speed[i]};
    rewards[i] = static_cast<float>(world.advance(actions[i]));
    angle[i] = world.angle;
    speed[i] = world.speed;
  }
}

void observe_rows(int count, const double* __restrict angle, const double* __restrict speed,
                  float* __restrict obs) {
  for (int i = 0; i < count; ++i) {
    const auto [sin, cos] = sin_cos(angle[i]);
    obs[3 * i] = static_cast<float>(cos);
    obs[3 * i + 1] = static_cast<float>(sin);
    obs[3 * i + 2] = static_cast<float>(speed[i]);
  }
}

}  // namespace

HOTLOOP_ENV(Pendulum)

void Pendulum::Batch::resize(int count) {
  angle.resize(count);
  speed.resize(count);
}

void Pendulum::Batch::set(int row, const Pendulum& world) {
  angle[row] = world.angle;
  speed[row] = world.speed;
}

void Pendulum::Batch::step(int begin, int end, std::span<const float> actions,
                           std::span<float> rewards, std::span<std::uint8_t> terminated) {
  step_rows(end - begin, &angle[begin], &speed[begin], &actions[begin], &rewards[begin]);
  std::fill(terminated.begin() + begin, terminated.begin() + end, std::uint8_t{0});
}

void Pendulum::Batch::observe(int begin, int end, std::span<float> obs) const {
  const std::size_t first = static_cast<std::size_t>(begin) * spec.obs;
  observe_rows(end - begin, &angle[begin], &speed[begin], &obs[first]);
}

}  // namespace hotloop
