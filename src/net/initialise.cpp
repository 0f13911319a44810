#include "net/initialise.hpp"

#include <Eigen/Core>
#include <Eigen/QR>
#include <algorithm>
#include <cassert>
#include <cmath>

#include "net/structure.hpp"

namespace hotloop {
namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Eigen splits large products by cache sizes, which changes the order of sums. While this object
// lives, the sizes are the same on every CPU.
struct FixedCacheSizes {
  std::ptrdiff_t first = Eigen::l1CacheSize(), second = Eigen::l2CacheSize(),
                 third = Eigen::l3CacheSize();
  FixedCacheSizes() { Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 8 << 20); }
  ~FixedCacheSizes() { Eigen::setCpuCacheSizes(first, second, third); }
  FixedCacheSizes(const FixedCacheSizes&) = delete;
  FixedCacheSizes& operator=(const FixedCacheSizes&) = delete;
};

// Q of a Gaussian matrix, with the signs of R's diagonal moved into it, is uniform over all
// orthogonal matrices.
RowMatrix orthogonal(int rows, int columns, const Draws& draws) {
  const int large = std::max(rows, columns);
  const int small = std::min(rows, columns);
  Eigen::MatrixXd gauss(large, small);
  for (int j = 0; j < small; ++j) {
    Rng rng = draws.row(j);
    for (int i = 0; i < large; ++i) gauss(i, j) = rng.normal();
  }
  const FixedCacheSizes fixed;
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(gauss);
  Eigen::MatrixXd q = qr.householderQ() * Eigen::MatrixXd::Identity(large, small);
  for (int j = 0; j < small; ++j) {
    if (qr.matrixQR()(j, j) < 0) q.col(j) *= -1;
  }
  if (rows < columns) return q.transpose();
  return q;
}

bool is_rectifier(Activation a) { return a == Activation::relu || a == Activation::leaky_relu; }

}  // namespace

void initialise(const Affine& map, Initialiser init, const Draws& draws) {
  // Each row of W draws from its own stream, followed by its bias if that is drawn.
  const auto fill = [&](auto&& draw, bool draw_bias) {
    for (int o = 0; o < map.out; ++o) {
      Rng rng = draws.row(o);
      float* row = map.weight + static_cast<std::size_t>(o) * map.stride;
      for (int i = 0; i < map.in; ++i) row[i] = static_cast<float>(draw(rng, o, i));
      if (draw_bias && map.bias != nullptr) map.bias[o] = static_cast<float>(draw(rng, o, map.in));
    }
  };
  switch (init) {
    case Initialiser::pytorch: {
      const double bound = 1 / std::sqrt(map.in);
      fill([&](Rng& rng, int, int) { return rng.uniform(-bound, bound); }, true);
      break;
    }
    case Initialiser::glorot: {
      const double bound = std::sqrt(6.0 / (map.in + map.fan_out));
      fill([&](Rng& rng, int, int) { return rng.uniform(-bound, bound); }, false);
      break;
    }
    case Initialiser::he: {
      const double sigma = std::sqrt(2.0 / map.in);
      fill([&](Rng& rng, int, int) { return sigma * rng.normal(); }, false);
      break;
    }
    case Initialiser::orthogonal: {
      const double gain = is_rectifier(map.activation) ? std::sqrt(2.0) : 1.0;
      const RowMatrix q = orthogonal(map.out, map.in, draws);
      fill([&](Rng&, int o, int i) { return gain * q(o, i); }, false);
      break;
    }
    case Initialiser::small_world:
      assert(false);  // there is no graph
      break;
  }
}

void initialise(const Structure& structure, Initialiser init, std::uint64_t seed,
                std::span<float> parameters) {
  std::fill(parameters.begin(), parameters.end(), 0.0f);
  for (std::uint32_t index = 0; index < structure.layers.size(); ++index) {
    const Draws draws{seed, index};
    std::visit([&](const auto& layer) { initialise(layer, init, draws, parameters.data()); },
               structure.layers[index]);
  }
}

}  // namespace hotloop
