// One matrix product of fixed shape, planned once and called many times.
//
// C[m x n] (+)= A[m x k] * B[k x n], all column-major with leading dimensions, B optionally
// transposed. libxsmm compiles a kernel for exactly this shape; where it cannot (another CPU
// family), Eigen computes the same product. docs/products.md has the comparison of libraries.
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
      eigen_product(shape_, a, b, c);
    }
  }

  // The library-independent path, public so that tests and benchmarks can reach it.
  static void eigen_product(const ProductShape& shape, const float* a, const float* b, float* c);

 private:
  using Kernel = void (*)(const float* a, const float* b, float* c, ...);  // libxsmm_smmfunction

  ProductShape shape_{};
  Kernel kernel_ = nullptr;
};

}  // namespace hotloop
