#include "bench/libraries.hpp"

#include <dnnl.h>
#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <memory>

#include <hotloop/rng.hpp>

#include "net/kernels/product.hpp"
#include "net/lanes.hpp"

namespace hotloop::bench {
namespace {

struct Operands {
  std::vector<float> x, w, y;  // [B, in], [out, in], [B, out]; each product overwrites one of them
};

std::shared_ptr<Operands> make_operands(const UpdateProduct& p) {
  auto o = std::make_shared<Operands>();
  Rng rng(1, Purpose::test, 0, 0);
  const auto fill = [&](std::vector<float>& v, int rows, int columns) {
    v.resize(static_cast<std::size_t>(round_up(rows, kLanes)) * round_up(columns, kLaneStep) + 16);
    for (float& value : v) value = static_cast<float>(rng.normal());
  };
  fill(o->x, p.batch, p.in);
  fill(o->w, p.out, p.in);
  fill(o->y, p.batch, p.out);
  return o;
}

Contender eigen(const UpdateProduct& p) {
  using Matrix = Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
  const auto o = make_operands(p);
  return {"Eigen", [o, p] {
            Matrix x(o->x.data(), p.batch, p.in), w(o->w.data(), p.out, p.in),
                y(o->y.data(), p.batch, p.out);
            switch (p.kind) {
              case UpdateProduct::kForward:
                y.noalias() = x * w.transpose();
                break;
              case UpdateProduct::kWeightGradient:
                w.noalias() = y.transpose() * x;
                break;
              case UpdateProduct::kInputGradient:
                x.noalias() = y * w;
                break;
            }
          }};
}

Contender onednn(const UpdateProduct& p) {
  const auto o = make_operands(p);
  return {"oneDNN", [o, p] {
            switch (p.kind) {
              case UpdateProduct::kForward:
                dnnl_sgemm('N', 'T', p.batch, p.out, p.in, 1, o->x.data(), p.in, o->w.data(), p.in,
                           0, o->y.data(), p.out);
                break;
              case UpdateProduct::kWeightGradient:
                dnnl_sgemm('T', 'N', p.out, p.in, p.batch, 1, o->y.data(), p.out, o->x.data(), p.in,
                           0, o->w.data(), p.in);
                break;
              case UpdateProduct::kInputGradient:
                dnnl_sgemm('N', 'N', p.batch, p.in, p.out, 1, o->y.data(), p.out, o->w.data(), p.in,
                           0, o->x.data(), p.in);
                break;
            }
          }};
}

// The whole batch at once, in rows: column-major views of the transposes. The forward product takes
// the weights as [in, out], which is faster for it.
Contender libxsmm_rows(const UpdateProduct& p) {
  const auto o = make_operands(p);
  switch (p.kind) {
    case UpdateProduct::kForward: {
      const Product product(
          {.m = p.out, .n = p.batch, .k = p.in, .lda = p.out, .ldb = p.in, .ldc = p.out});
      return {"libxsmm rows", [o, product] { product(o->w.data(), o->x.data(), o->y.data()); }};
    }
    case UpdateProduct::kWeightGradient: {
      const Product product({.m = p.in,
                             .n = p.out,
                             .k = p.batch,
                             .lda = p.in,
                             .ldb = p.out,
                             .ldc = p.in,
                             .transpose_b = true});
      return {"libxsmm rows", [o, product] { product(o->x.data(), o->y.data(), o->w.data()); }};
    }
    case UpdateProduct::kInputGradient: {
      const Product product(
          {.m = p.in, .n = p.batch, .k = p.out, .lda = p.in, .ldb = p.out, .ldc = p.in});
      return {"libxsmm rows", [o, product] { product(o->w.data(), o->y.data(), o->x.data()); }};
    }
  }
  return {};
}

Contender libxsmm_lanes(const UpdateProduct& p) {
  const auto o = make_operands(p);
  const int blocks = block_count(p.batch);
  const int stride = round_up(p.in, kLaneStep);
  const int x_block = kLanes * stride;
  const int y_block = kLanes * p.out;
  switch (p.kind) {
    case UpdateProduct::kForward: {
      const Product product(
          {.m = kLanes, .n = p.out, .k = p.in, .lda = kLanes, .ldb = stride, .ldc = kLanes});
      return {"libxsmm lanes", [=] {
                for (int b = 0; b < blocks; ++b)
                  product(&o->x[b * x_block], o->w.data(), &o->y[b * y_block]);
              }};
    }
    case UpdateProduct::kWeightGradient: {
      ProductShape shape{
          .m = stride, .n = p.out, .k = kLanes, .lda = stride, .ldb = kLanes, .ldc = stride};
      const Product first(shape);
      shape.accumulate = true;
      const Product product(shape);
      return {"libxsmm lanes", [=] {
                for (int b = 0; b < blocks; ++b)
                  (b == 0 ? first : product)(&o->x[b * x_block], &o->y[b * y_block], o->w.data());
              }};
    }
    case UpdateProduct::kInputGradient: {
      const Product product({.m = kLanes,
                             .n = p.in,
                             .k = p.out,
                             .lda = kLanes,
                             .ldb = stride,
                             .ldc = kLanes,
                             .transpose_b = true});
      return {"libxsmm lanes", [=] {
                for (int b = 0; b < blocks; ++b)
                  product(&o->y[b * y_block], o->w.data(), &o->x[b * x_block]);
              }};
    }
  }
  return {};
}

}  // namespace

std::string UpdateProduct::name() const {
  constexpr const char* kNames[] = {"forward", "weight gradient", "input gradient"};
  return fmt::format("{} {}x{} b{}", kNames[kind], in, out, batch);
}

std::vector<UpdateProduct> update_products(const Structure& net, int batch, const Passes& passes) {
  std::vector<UpdateProduct> products;
  const auto add_product = [&](const UpdateProduct& product) {
    const auto same = std::find_if(products.begin(), products.end(), [&](const UpdateProduct& p) {
      return p.name() == product.name();
    });
    if (same == products.end()) {
      products.push_back(product);
    } else {
      same->times += product.times;
    }
  };
  const auto add = [&](const DenseLayer& dense, bool input_gradient) {
    const int rows = batch * dense.rows;  // all rows of a batch at once, as with a library
    add_product({UpdateProduct::kForward, rows, dense.in, dense.out, passes.forward});
    add_product(
        {UpdateProduct::kWeightGradient, rows, dense.in, dense.out, passes.weight_gradient});
    const double times = input_gradient ? passes.input_gradient : passes.to_inputs;
    if (times > 0) add_product({UpdateProduct::kInputGradient, rows, dense.in, dense.out, times});
  };
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    if (const auto* dense = std::get_if<DenseLayer>(&net.layers[i]))
      add(*dense, net.wants_input_gradient(i));
    if (const auto* attention = std::get_if<AttentionLayer>(&net.layers[i])) {
      add(attention->hidden, net.wants_input_gradient(i));
      add(attention->score, true);
    }
  }
  return products;
}

std::vector<Contender> contenders(const UpdateProduct& product) {
  return {eigen(product), onednn(product), libxsmm_rows(product), libxsmm_lanes(product)};
}

}  // namespace hotloop::bench
