// The batch step of MountainCar: plain loops that the compiler turns into SIMD code.
#include "envs/mountaincar.hpp"

#include <algorithm>

namespace hotloop {
namespace {

void step_rows(int count, double* __restrict position, double* __restrict velocity,
               const std::int32_t* __restrict actions, std::uint8_t* __restrict terminated) {
  for (int i = 0; i < count; ++i) {
    MountainCar world{position[i], velocity[i]};
    world.advance(actions[i]);
    position[i] = world.position;
    velocity[i] = world.velocity;
  }
  // A separate loop, so that the physics is not unrolled to the width of the bytes.
  for (int i = 0; i < count; ++i) {
    terminated[i] = MountainCar{position[i], velocity[i]}.arrived();
  }
}

void observe_rows(int count, const double* __restrict position, const double* __restrict velocity,
                  float* __restrict obs) {
  for (int i = 0; i < count; ++i) {
    obs[2 * i] = static_cast<float>(position[i]);
    obs[2 * i + 1] = static_cast<float>(velocity[i]);
  }
}

}  // namespace

HOTLOOP_ENV(MountainCar)

void MountainCar::Batch::resize(int count) {
  position.resize(count);
  velocity.resize(count);
}

void MountainCar::Batch::set(int row, const MountainCar& world) {
  position[row] = world.position;
  velocity[row] = world.velocity;
}

void MountainCar::Batch::step(int begin, int end, std::span<const std::int32_t> actions,
                              std::span<float> rewards, std::span<std::uint8_t> terminated) {
  step_rows(end - begin, &position[begin], &velocity[begin], &actions[begin], &terminated[begin]);
  std::fill(rewards.begin() + begin, rewards.begin() + end, -1.0f);
}

void MountainCar::Batch::observe(int begin, int end, std::span<float> obs) const {
  const std::size_t first = static_cast<std::size_t>(begin) * spec.obs;
  observe_rows(end - begin, &position[begin], &velocity[begin], &obs[first]);
}

}  // namespace hotloop
