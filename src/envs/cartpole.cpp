// The batch step of CartPole: plain loops over the structure of arrays that the compiler
// turns into SIMD code (restrict pointers, no branch, no call).
#include "envs/cartpole.hpp"

#include <algorithm>

namespace hotloop {
namespace {

void step_rows(int count, double* __restrict x, double* __restrict x_dot, double* __restrict theta,
               double* __restrict theta_dot, const std::int32_t* __restrict actions,
               std::uint8_t* __restrict terminated) {
  for (int i = 0; i < count; ++i) {
    CartPole world{x[i], x_dot[i], theta[i], theta_dot[i]};
    world.advance(actions[i]);
    x[i] = world.x;
    x_dot[i] = world.x_dot;
    theta[i] = world.theta;
    theta_dot[i] = world.theta_dot;
  }
  // A separate loop: with bytes and doubles in one loop, the compiler unrolls the physics to the
  // width of the bytes and runs out of registers.
  for (int i = 0; i < count; ++i) {
    terminated[i] = CartPole{x[i], x_dot[i], theta[i], theta_dot[i]}.fallen();
  }
}

void observe_rows(int count, const double* __restrict x, const double* __restrict x_dot,
                  const double* __restrict theta, const double* __restrict theta_dot,
                  float* __restrict obs) {
  for (int i = 0; i < count; ++i) {
    obs[4 * i] = static_cast<float>(x[i]);
    obs[4 * i + 1] = static_cast<float>(x_dot[i]);
    obs[4 * i + 2] = static_cast<float>(theta[i]);
    obs[4 * i + 3] = static_cast<float>(theta_dot[i]);
  }
}

}  // namespace

HOTLOOP_ENV(CartPole)

void CartPole::Batch::resize(int count) {
  for (std::vector<double>* field : {&x, &x_dot, &theta, &theta_dot}) field->resize(count);
}

void CartPole::Batch::set(int row, const CartPole& world) {
  x[row] = world.x;
  x_dot[row] = world.x_dot;
  theta[row] = world.theta;
  theta_dot[row] = world.theta_dot;
}

void CartPole::Batch::step(int begin, int end, std::span<const std::int32_t> actions,
                           std::span<float> rewards, std::span<std::uint8_t> terminated) {
  assert(std::all_of(theta.begin() + begin, theta.begin() + end,
                     [](double angle) { return std::abs(angle) <= kEighthTurn; }));
  const int count = end - begin;
  step_rows(count, &x[begin], &x_dot[begin], &theta[begin], &theta_dot[begin], &actions[begin],
            &terminated[begin]);
  std::fill(rewards.begin() + begin, rewards.begin() + end, 1.0f);
}

void CartPole::Batch::observe(int begin, int end, std::span<float> obs) const {
  const std::size_t first = static_cast<std::size_t>(begin) * spec.obs;
  observe_rows(end - begin, &x[begin], &x_dot[begin], &theta[begin], &theta_dot[begin],
               &obs[first]);
}

}  // namespace hotloop
