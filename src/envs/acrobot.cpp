// The whole-batch step of Acrobot: plain loops over the structure of arrays. All but the wrapping
// of angles, which loops by itself, become SIMD code.
#include "envs/acrobot.hpp"

namespace hotloop {
namespace {

void integrate_rows(int count, double* __restrict theta1, double* __restrict theta2,
                    double* __restrict dtheta1, double* __restrict dtheta2,
                    const std::int32_t* __restrict actions) {
  for (int i = 0; i < count; ++i) {
    Acrobot world{theta1[i], theta2[i], dtheta1[i], dtheta2[i]};
    world.integrate(actions[i]);
    theta1[i] = world.theta1;
    theta2[i] = world.theta2;
    dtheta1[i] = world.dtheta1;
    dtheta2[i] = world.dtheta2;
  }
}

void judge_rows(int count, const double* __restrict theta1, const double* __restrict theta2,
                float* __restrict rewards, std::uint8_t* __restrict terminated) {
  for (int i = 0; i < count; ++i) {
    rewards[i] = Acrobot{theta1[i], theta2[i]}.swung_up() ? 0.0f : -1.0f;
  }
  for (int i = 0; i < count; ++i) terminated[i] = rewards[i] == 0.0f;
}

void observe_rows(int count, const double* __restrict theta1, const double* __restrict theta2,
                  const double* __restrict dtheta1, const double* __restrict dtheta2,
                  float* __restrict obs) {
  for (int i = 0; i < count; ++i) {
    const SinCos first = sin_cos(theta1[i]);
    const SinCos second = sin_cos(theta2[i]);
    obs[6 * i] = static_cast<float>(first.cos);
    obs[6 * i + 1] = static_cast<float>(first.sin);
    obs[6 * i + 2] = static_cast<float>(second.cos);
    obs[6 * i + 3] = static_cast<float>(second.sin);
    obs[6 * i + 4] = static_cast<float>(dtheta1[i]);
    obs[6 * i + 5] = static_cast<float>(dtheta2[i]);
  }
}

}  // namespace

HOTLOOP_ENV(Acrobot)

void Acrobot::Batch::resize(int count) {
  for (std::vector<double>* field : {&theta1, &theta2, &dtheta1, &dtheta2}) field->resize(count);
}

void Acrobot::Batch::set(int row, const Acrobot& world) {
  theta1[row] = world.theta1;
  theta2[row] = world.theta2;
  dtheta1[row] = world.dtheta1;
  dtheta2[row] = world.dtheta2;
}

void Acrobot::Batch::step(int begin, int end, std::span<const std::int32_t> actions,
                          std::span<float> rewards, std::span<std::uint8_t> terminated) {
  const int count = end - begin;
  integrate_rows(count, &theta1[begin], &theta2[begin], &dtheta1[begin], &dtheta2[begin],
                 &actions[begin]);
  for (int row = begin; row < end; ++row) {
    Acrobot world = get(row);
    world.confine();
    set(row, world);
  }
  judge_rows(count, &theta1[begin], &theta2[begin], &rewards[begin], &terminated[begin]);
}

void Acrobot::Batch::observe(int begin, int end, std::span<float> obs) const {
  const std::size_t first = static_cast<std::size_t>(begin) * spec.obs;
  observe_rows(end - begin, &theta1[begin], &theta2[begin], &dtheta1[begin], &dtheta2[begin],
               &obs[first]);
}

}  // namespace hotloop
