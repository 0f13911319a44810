#include "net/product.hpp"

#include <libxsmm.h>

#include <Eigen/Core>

namespace hotloop {

Product::Product(const ProductShape& shape) : shape_(shape) {
  const float alpha = 1;
  const float beta = shape.accumulate ? 1 : 0;
  const int flags = shape.transpose_b ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
  kernel_ = libxsmm_smmdispatch(shape.m, shape.n, shape.k, &shape.lda, &shape.ldb, &shape.ldc,
                                &alpha, &beta, &flags, nullptr);
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
