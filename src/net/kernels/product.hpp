// One matrix product of fixed shape, planned once and called many times.
//
// C[m x n] (+)= A[m x k] * B[k x n], all column-major with leading dimensions, B optionally
// transposed. libxsmm compiles a kernel for exactly this shape; where it is slow (few rows without
// AVX-512) product.cpp has its own kernel, and where it is not available (other CPU families) Eigen
// computes the same product. docs/products.md has the comparison of libraries.
//
// Invariant of the kernels: an element of C is one sum over k in ascending order, each term added
// by a fused multiply-add, for any m and n. So a row's result does not depend on the batch around
// it, and every x86 CPU with FMA computes the same bits.
#pragma once

namespace hotloop {

struct ProductShape {
  int m, n, k;
  int lda, ldb, ldc;
  bool transpose_b = false;  // B is stored as n x k
  bool accumulate = false;   // add to C instead of overwriting it
};

class Product {
 public:
  Product() = default;
  explicit Product(const ProductShape& shape);

  void operator()(const float* a, const float* b, float* c) const {
    if (kernel_ != nullptr) {
      kernel_(a, b, c);
    } else {
      generic_(shape_, a, b, c);
    }
  }

  bool compiled() const { return kernel_ != nullptr; }
  // The library-independent path, public so that tests and benchmarks can reach it.
  static void eigen_product(const ProductShape& shape, const float* a, const float* b, float* c);

 private:
  using Kernel = void (*)(const float* a, const float* b, float* c, ...);  // libxsmm_smmfunction

  ProductShape shape_{};
  Kernel kernel_ = nullptr;
  void (*generic_)(const ProductShape&, const float*, const float*, float*) = eigen_product;
};

}  // namespace hotloop
