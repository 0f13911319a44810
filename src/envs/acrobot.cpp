// The batch step of Acrobot: plain loops over the structure of arrays. The compiler turns all of
// them into SIMD code, except the wrapping of angles, which has an inner loop.
#include "envs/acrobot.hpp"

namespace hotloop {
namespace {

template <class Maths>
void integrate_rows(int count, double* __restrict theta1, double* __restrict theta2,
                    double* __restrict dtheta1, double* __restrict dtheta2,
                    const std::int32_t* __restrict actions) {
  for (int i = 0; i < count; ++i) {
    AcrobotBy<Maths> world{theta1[i], theta2[i], dtheta1[i], dtheta2[i]};
    world.integrate(actions[i]);
    theta1[i] = world.theta1;
    theta2[i] = world.theta2;
    dtheta1[i] = world.dtheta1;
    dtheta2[i] = world.dtheta2;
  }
}

template <class Maths>
void reward_rows(int count, const double* __restrict theta1, const double* __restrict theta2,
                 float* __restrict rewards, std::uint8_t* __restrict terminated) {
  for (int i = 0; i < count; ++i) {
    rewards[i] = AcrobotBy<Maths>{theta1[i], theta2[i]}.swung_up() ? 0.0f : -1.0f;
  }
  for (int i = 0; i < count; ++i) terminated[i] = rewards[i] == 0.0f;
}

template <class Maths>
void observe_rows(int count, const double* __restrict theta1, const double* __restrict theta2,
                  const double* __restrict dtheta1, const double* __restrict dtheta2,
                  float* __restrict obs) {
  for (int i = 0; i < count; ++i) {
    const SinCos first = Maths::sin_cos(theta1[i]);
    const SinCos second = Maths::sin_cos(theta2[i]);
    obs[6 * i] = static_cast<float>(first.cos);
    obs[6 * i + 1] = static_cast<float>(first.sin);
    obs[6 * i + 2] = static_cast<float>(second.cos);
    obs[6 * i + 3] = static_cast<float>(second.sin);
    obs[6 * i + 4] = static_cast<float>(dtheta1[i]);
    obs[6 * i + 5] = static_cast<float>(dtheta2[i]);
  }
}

constexpr EnvOption kOptions[] = {word_option(
    "maths", {"engine", "library"}, 0,
    "the engine's sine, fast and the same everywhere, or the C library's, as in Gymnasium")};

template <bool kBatch>
std::unique_ptr<WorldArray> make_acrobots(int count, std::span<const double> values) {
  const bool library = !values.empty() && values[0] == 1;
  const EnvEntry entry = library ? env_entry<AcrobotBy<LibraryMaths>>() : env_entry<Acrobot>();
  return kBatch ? entry.make(count) : entry.make_one_by_one(count);
}

[[maybe_unused]] const bool kRegistered =
    register_env({&Acrobot::spec, &make_acrobots<true>, &make_acrobots<false>, kOptions});

}  // namespace

double LibraryMaths::squared(double a) {
  static const volatile double kTwo = 2;  // volatile: otherwise the compiler would multiply
  return std::pow(a, kTwo);
}

template <class Maths>
void AcrobotBy<Maths>::Batch::resize(int count) {
  for (std::vector<double>* field : {&theta1, &theta2, &dtheta1, &dtheta2}) field->resize(count);
}

template <class Maths>
void AcrobotBy<Maths>::Batch::set(int row, const AcrobotBy& world) {
  theta1[row] = world.theta1;
  theta2[row] = world.theta2;
  dtheta1[row] = world.dtheta1;
  dtheta2[row] = world.dtheta2;
}

template <class Maths>
void AcrobotBy<Maths>::Batch::step(int begin, int end, std::span<const std::int32_t> actions,
                                   std::span<float> rewards, std::span<std::uint8_t> terminated) {
  const int count = end - begin;
  integrate_rows<Maths>(count, &theta1[begin], &theta2[begin], &dtheta1[begin], &dtheta2[begin],
                        &actions[begin]);
  for (int row = begin; row < end; ++row) {
    AcrobotBy world = get(row);
    world.confine();
    set(row, world);
  }
  reward_rows<Maths>(count, &theta1[begin], &theta2[begin], &rewards[begin], &terminated[begin]);
}

template <class Maths>
void AcrobotBy<Maths>::Batch::observe(int begin, int end, std::span<float> obs) const {
  const std::size_t first = static_cast<std::size_t>(begin) * spec.obs;
  observe_rows<Maths>(end - begin, &theta1[begin], &theta2[begin], &dtheta1[begin], &dtheta2[begin],
                      &obs[first]);
}

template struct AcrobotBy<EngineMaths>;
template struct AcrobotBy<LibraryMaths>;

}  // namespace hotloop
