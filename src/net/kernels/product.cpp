#include "net/kernels/product.hpp"

#include <libxsmm.h>

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <mutex>

#include "core/cpu/vec.hpp"
#include "core/system.hpp"

namespace hotloop {
namespace {

// C of kVecs vectors by any number of columns, kColumns at a time: enough independent sums to hide
// latency. For AVX2 libxsmm computes three columns at a time for any m, which leaves the
// multipliers idle half of the time for one or two vectors.
template <int kVecs, int kColumns>
void narrow_product(const ProductShape& s, const float* a, const float* b, float* c) {
  const std::ptrdiff_t row_step = s.transpose_b ? s.ldb : 1,
                       column_step = s.transpose_b ? 1 : s.ldb;
  int done = 0;
  for (; done + kColumns <= s.n; done += kColumns) {
    Vec sums[kColumns][kVecs] = {};
    if (s.accumulate) {
      for (int j = 0; j < kColumns; ++j) {
        for (int v = 0; v < kVecs; ++v) sums[j][v] = load(c + j * s.ldc + v * kVec);
      }
    }
    for (int k = 0; k < s.k; ++k) {
      const float* x = a + k * s.lda;
      const float* w = b + k * row_step;
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 3
        for (int v = 0; v < kVecs; ++v)
          sums[j][v] = multiply_add(load(x + v * kVec), broadcast(w[j * column_step]), sums[j][v]);
      }
    }
    for (int j = 0; j < kColumns; ++j) {
      for (int v = 0; v < kVecs; ++v) store(c + j * s.ldc + v * kVec, sums[j][v]);
    }
    b += kColumns * column_step;
    c += kColumns * s.ldc;
  }
  if constexpr (kColumns > 1) {
    ProductShape rest = s;
    rest.n -= done;
    if (rest.n > 0) narrow_product<kVecs, kColumns == 3 ? 2 : kColumns / 2>(rest, a, b, c);
  }
}

// The instruction set to compile a kernel for. With AVX-512, kernels of one vector and few columns
// keep several sums for each element, to hide latency. They are compiled for AVX2, which keeps one.
int target_for(const ProductShape& shape, int best) {
  constexpr int kOneVector = 16, kFewColumns = 12;
  const bool several_sums = shape.m <= kOneVector && shape.n < kFewColumns;
  return several_sums ? std::min(best, LIBXSMM_X86_AVX2) : best;
}

}  // namespace

Product::Product(const ProductShape& shape) : shape_(shape) {
  const float alpha = 1;
  const float beta = shape.accumulate ? 1 : 0;
  const int flags = shape.transpose_b ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
  static std::mutex target_mutex;  // the target is global in libxsmm
  const std::lock_guard lock(target_mutex);
  // Without memory for its tables libxsmm crashes, and without memory for a kernel it returns none,
  // which must not be mistaken for a CPU that has none.
  constexpr std::size_t kTables = std::size_t{12} << 20, kKernel = std::size_t{1} << 20;
  static const bool initialised = [] {
    require_memory(kTables);
    libxsmm_init();  // detects the CPU
    return true;
  }();
  if (initialised) require_memory(kKernel);
  const int best = libxsmm_get_target_archid();
  const int target = target_for(shape, best);
#ifdef __FMA__  // otherwise these would round twice, and libxsmm's wide products once
  if (target <= LIBXSMM_X86_AVX2) {
    switch (shape.m) {
      case kVec:
        generic_ = narrow_product<1, 8>;
        return;
      case 2 * kVec:
        generic_ = narrow_product<2, 6>;
        return;
      case 3 * kVec:
        generic_ = narrow_product<3, 4>;
        return;
    }
  }
#endif
  libxsmm_set_target_archid(target);
  kernel_ = libxsmm_smmdispatch(shape.m, shape.n, shape.k, &shape.lda, &shape.ldb, &shape.ldc,
                                &alpha, &beta, &flags, nullptr);
  libxsmm_set_target_archid(best);
}

void Product::eigen_product(const ProductShape& s, const float* a, const float* b, float* c) {
  using Matrix = Eigen::Map<const Eigen::MatrixXf, 0, Eigen::OuterStride<>>;
  Eigen::Map<Eigen::MatrixXf, 0, Eigen::OuterStride<>> out(c, s.m, s.n,
                                                           Eigen::OuterStride<>(s.ldc));
  const Matrix left(a, s.m, s.k, Eigen::OuterStride<>(s.lda));
  const auto add = [&](const auto& right) {
    if (!s.accumulate) out.setZero();
    out.noalias() += left * right;
  };
  if (s.transpose_b) {
    add(Matrix(b, s.n, s.k, Eigen::OuterStride<>(s.ldb)).transpose());
  } else {
    add(Matrix(b, s.k, s.n, Eigen::OuterStride<>(s.ldb)));
  }
}

}  // namespace hotloop
