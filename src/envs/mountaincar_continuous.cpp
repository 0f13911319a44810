// The batch step of MountainCarContinuous: plain loops that the compiler turns into SIMD code.
#include "envs/mountaincar_continuous.hpp"

namespace hotloop {
namespace {

void step_rows(int count, double* __restrict position, double* __restrict velocity,
               std::int64_t* __restrict fresh, const float* __restrict actions,
               float* __restrict rewards, std::uint8_t* __restrict terminated) {
  for (int i = 0; i < count; ++i) {
    MountainCarContinuous world{position[i], velocity[i], fresh[i]};
    world.advance(actions[i]);
    position[i] = world.position;
    velocity[i] = world.velocity;
    fresh[i] = world.fresh;
  }
  // A separate loop, so that the physics is not unrolled to the width of the bytes.
  for (int i = 0; i < count; ++i) {
    const bool arrived = MountainCarContinuous{position[i], velocity[i]}.arrived();
    rewards[i] = MountainCarContinuous::reward(actions[i], arrived);
    terminated[i] = arrived;
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

HOTLOOP_ENV(MountainCarContinuous)

void MountainCarContinuous::Batch::resize(int count) {
  position.resize(count);
  velocity.resize(count);
  fresh.resize(count);
}

void MountainCarContinuous::Batch::set(int row, const MountainCarContinuous& world) {
  position[row] = world.position;
  velocity[row] = world.velocity;
  fresh[row] = world.fresh;
}

void MountainCarContinuous::Batch::step(int begin, int end, std::span<const float> actions,
                                        std::span<float> rewards,
                                        std::span<std::uint8_t> terminated) {
  step_rows(end - begin, &position[begin], &velocity[begin], &fresh[begin], &actions[begin],
            &rewards[begin], &terminated[begin]);
}

void MountainCarContinuous::Batch::observe(int begin, int end, std::span<float> obs) const {
  const std::size_t first = static_cast<std::size_t>(begin) * spec.obs;
  observe_rows(end - begin, &position[begin], &velocity[begin], &obs[first]);
}

}  // namespace hotloop
