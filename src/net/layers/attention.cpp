// Additive attention over the rows h_i of a sample (Bahdanau et al. 2015):
//
//   t_i = tanh(W h_i + b),  s_i = v . t_i + c,  w = softmax(s),  y = sum of w_i h_i
//   dw_i = dy . h_i,  ds_i = w_i (dw_i - sum over j of w_j dw_j)
//   dh_i = w_i dy + the gradient through W
#include "net/layers/attention.hpp"

#include <cmath>

#include "net/initialise.hpp"
#include "net/lane_arrays.hpp"

namespace hotloop {
namespace {

// s [rows][kLanes] becomes w.
template <int kWidth>
void softmax(int rows, float* s) {
  using Array = Eigen::Array<float, kWidth, 1>;
  Array largest = ConstLanes<kWidth>(s);
  for (int i = 1; i < rows; ++i) largest = largest.max(ConstLanes<kWidth>(s + i * kLanes));
  Array sum = Array::Zero();
  for (int i = 0; i < rows; ++i) {
    Lanes<kWidth> w(s + i * kLanes);
    w = (w - largest).exp();
    sum += w;
  }
  for (int i = 0; i < rows; ++i) Lanes<kWidth>(s + i * kLanes) /= sum;
}

template <int kWidth>
void weighted_sum(const AttentionLayer& layer, const float* x, const float* w, float* y) {
  for (int f = 0; f < layer.width(); ++f) {
    Eigen::Array<float, kWidth, 1> sum = Eigen::Array<float, kWidth, 1>::Zero();
    for (int i = 0; i < layer.rows(); ++i)
      sum += ConstLanes<kWidth>(w + i * kLanes) *
             ConstLanes<kWidth>(x + (i * layer.width() + f) * kLanes);
    Lanes<kWidth>(y + f * kLanes) = sum;
  }
}

// ds [rows][kLanes] from dy.
template <int kWidth>
void score_gradient(const AttentionLayer& layer, const float* x, const float* w, const float* dy,
                    float* ds) {
  using Array = Eigen::Array<float, kWidth, 1>;
  Array mean = Array::Zero();
  for (int i = 0; i < layer.rows(); ++i) {
    Array dw = Array::Zero();
    for (int f = 0; f < layer.width(); ++f)
      dw += ConstLanes<kWidth>(dy + f * kLanes) *
            ConstLanes<kWidth>(x + (i * layer.width() + f) * kLanes);
    Lanes<kWidth>(ds + i * kLanes) = dw;
    mean += ConstLanes<kWidth>(w + i * kLanes) * dw;
  }
  for (int i = 0; i < layer.rows(); ++i) {
    Lanes<kWidth> d(ds + i * kLanes);
    d = ConstLanes<kWidth>(w + i * kLanes) * (d - mean);
  }
}

// dx += w_i dy.
template <int kWidth>
void add_weighted(const AttentionLayer& layer, const float* w, const float* dy, float* dx) {
  for (int i = 0; i < layer.rows(); ++i) {
    for (int f = 0; f < layer.width(); ++f) {
      Lanes<kWidth> d(dx + (i * layer.width() + f) * kLanes);
      d += ConstLanes<kWidth>(w + i * kLanes) * ConstLanes<kWidth>(dy + f * kLanes);
    }
  }
}

class AttentionKernel final : public LayerKernel {
 public:
  explicit AttentionKernel(const AttentionLayer& layer)
      : layer_(layer), hidden_(make_kernel(layer.hidden)), score_(make_kernel(layer.score)) {}
  void forward(const ForwardBlock& block) const override;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const override;
  void backward(const BackwardBlock& block) const override;
  int gradient_parts() const override {
    return hidden_->gradient_parts() + score_->gradient_parts();
  }
  void add_gradient(const BackwardBlock& block, int first, int last) const override;

 private:
  // The passes of the two dense layers, without dx. Their dy are dt and ds.
  struct Inner {
    BackwardBlock hidden, score;
  };
  Inner inner(const BackwardBlock& block) const;

  AttentionLayer layer_;
  std::shared_ptr<const LayerKernel> hidden_, score_;
};

void AttentionKernel::forward(const ForwardBlock& b) const {
  ForwardBlock hidden = b, score = b;
  hidden.y = b.inner;
  score.x = b.inner;
  score.y = b.inner + layer_.hidden.outputs() * kLanes;
  hidden_->forward(hidden);
  score_->forward(score);
  with_width(b.width, [&]<int kWidth>() {
    softmax<kWidth>(layer_.rows(), score.y);
    weighted_sum<kWidth>(layer_, b.x, score.y, b.y);
  });
}

void AttentionKernel::forward_one(const float* parameters, const float* x, float* y,
                                  float* inner) const {
  const int rows = layer_.rows(), width = layer_.width();
  float* w = inner + layer_.hidden.outputs();
  hidden_->forward_one(parameters, x, inner, nullptr);
  score_->forward_one(parameters, inner, w, nullptr);
  Eigen::Map<Eigen::ArrayXf> weights(w, rows);
  weights = (weights - weights.maxCoeff()).exp();
  weights /= weights.sum();
  Eigen::Map<Eigen::ArrayXf> sum(y, width);
  sum.setZero();
  for (int i = 0; i < rows; ++i)
    sum += w[i] * Eigen::Map<const Eigen::ArrayXf>(x + i * width, width);
}

// Scratch and rows: those of the two dense layers, then ds [rows] and dt.
AttentionKernel::Inner AttentionKernel::inner(const BackwardBlock& b) const {
  const LayerMemory of_hidden = memory_of(layer_.hidden), of_score = memory_of(layer_.score);
  Inner inner{b, b};
  inner.score.scratch += of_hidden.scratch;
  float* ds = inner.score.scratch + of_score.scratch;
  if (b.rows != nullptr) {
    inner.score.rows += of_hidden.rows * kLanes;
    ds = inner.score.rows + of_score.rows * kLanes + b.lane;
  }
  inner.score.x = b.inner;
  inner.score.y = b.inner + layer_.hidden.outputs() * kLanes;
  inner.score.dy = ds;
  inner.hidden.y = b.inner;
  inner.hidden.dy = ds + layer_.rows() * kLanes;
  inner.score.dx = inner.hidden.dx = nullptr;
  return inner;
}

void AttentionKernel::add_gradient(const BackwardBlock& b, int first, int last) const {
  const auto [hidden, score] = inner(b);
  const int of_hidden = hidden_->gradient_parts();
  if (first < of_hidden) hidden_->add_gradient(hidden, first, std::min(last, of_hidden));
  if (last > of_hidden)
    score_->add_gradient(score, std::max(first - of_hidden, 0), last - of_hidden);
}

void AttentionKernel::backward(const BackwardBlock& b) const {
  auto [hidden, score] = inner(b);
  const float* w = score.y;
  with_width(b.width,
             [&]<int kWidth>() { score_gradient<kWidth>(layer_, b.x, w, b.dy, score.dy); });
  score.dx = hidden.dy;
  score_->backward(score);
  hidden.dx = b.dx;
  hidden_->backward(hidden);
  if (b.dx == nullptr) return;
  with_width(b.width, [&]<int kWidth>() { add_weighted<kWidth>(layer_, w, b.dy, b.dx); });
}

}  // namespace

AttentionLayer attention_layer(int rows, int width, int units) {
  return {.hidden = {.rows = rows, .in = width, .out = units, .activation = Activation::tanh},
          .score = {.rows = rows, .in = units, .out = 1}};
}

void each_tensor(AttentionLayer& layer, const TensorVisitor& visit) {
  each_tensor(layer.hidden, InnerTensors("hidden", visit));
  each_tensor(layer.score, InnerTensors("score", visit));
}

void initialise(const AttentionLayer& layer, Initialiser init, const Draws& draws,
                float* parameters) {
  initialise(layer.hidden, init, draws, parameters);
  initialise(layer.score, init, draws.after(layer.hidden.out), parameters);
}

double multiply_adds(const AttentionLayer& layer) {
  return multiply_adds(layer.hidden) + multiply_adds(layer.score) +
         1.0 * layer.rows() * layer.width();
}

// Inner: t [rows, units], then w [rows].
LayerMemory memory_of(const AttentionLayer& layer) {
  const int inner = layer.hidden.outputs() + layer.rows();
  const LayerMemory hidden = memory_of(layer.hidden), score = memory_of(layer.score);
  return {.scratch = hidden.scratch + score.scratch + static_cast<std::size_t>(inner) * kLanes,
          .inner = inner,
          .rows = hidden.rows + score.rows + inner};
}

std::shared_ptr<const LayerKernel> make_kernel(const AttentionLayer& layer) {
  return std::make_shared<AttentionKernel>(layer);
}

}  // namespace hotloop
