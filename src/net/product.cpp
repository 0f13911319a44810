#include "net/product.hpp"

#include <libxsmm.h>

#include <Eigen/Core>
#include <algorithm>
#include <mutex>

namespace hotloop {
namespace {

// The instruction set to compile a kernel for. With AVX-512, kernels of one vector and few columns keep
// several sums for each element, to hide latency: those are compiled for AVX2, which does not.
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
  static std::mutex of_target;  // which is the library's, for all threads
  const std::lock_guard lock(of_target);
  libxsmm_init();  // finds out about the CPU, the first time
  const int best = libxsmm_get_target_archid();
  libxsmm_set_target_archid(target_for(shape, best));
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
