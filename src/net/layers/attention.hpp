// Additive attention (Bahdanau et al. 2015) over the rows h_i of x:
//   s_i = v . tanh(W h_i + b) + c,   w = softmax over i of s,   y = sum over i of w_i h_i.
#pragma once

#include "net/layers/dense.hpp"

namespace hotloop {

struct AttentionLayer {
  DenseLayer hidden;  // W, b
  DenseLayer score;   // v, c

  int rows() const { return hidden.rows; }
  int width() const { return hidden.in; }
  int inputs() const { return hidden.inputs(); }
  int outputs() const { return width(); }
  bool operator==(const AttentionLayer&) const = default;
};

// Over `rows` rows of `width` features, with `units` rows of W.
AttentionLayer attention_layer(int rows, int width, int units);

void each_tensor(AttentionLayer& layer, const TensorVisitor& visit);
void initialise(const AttentionLayer& layer, Initialiser init, const Draws& draws,
                float* parameters);
double multiply_adds(const AttentionLayer& layer);
LayerMemory memory_of(const AttentionLayer& layer);
std::shared_ptr<const LayerKernel> make_kernel(const AttentionLayer& layer);

}  // namespace hotloop
