// What each kind of layer computes: its pass over one block of lanes, forward and backward.
//
// A kernel is a layer together with what was planned for it (compiled matrix products). Each kind
// lives in a file of its own: dense.cpp, conv.cpp, norm.cpp, streams.cpp, dueling.cpp, dag.cpp,
// attention.cpp, forest.cpp; only copies and constants need none.
// network.cpp knows no kinds; it walks the list and visits.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "net/lanes.hpp"
#include "net/product.hpp"
#include "net/layers/row_linear.hpp"
#include "net/structure.hpp"

namespace hotloop {

// One block on its way forward.
struct ForwardBlock {
  const float* parameters;  // the flat array of the whole network
  int width;                // lanes in use, a multiple of kLaneStep
  const float* x;           // [in][kLanes]
  float* y;                 // [out][kLanes]
  float* kept;              // [LayerMemory::kept][kLanes] for the backward pass; null: not wanted
  float* inner = nullptr;   // [LayerMemory::inner][kLanes], if there are any
};

// One block on its way back, after its forward pass.
struct BackwardBlock {
  const float* parameters;
  int width;
  const float* x;     // as in the forward pass
  const float* y;     // its result
  const float* kept;  // what it kept
  float* dy;          // [out][kLanes] dL/dy, may be overwritten
  float* dx;          // [in][kLanes] receives dL/dx; null: not wanted
  float* scratch;     // [LayerMemory::scratch], the layer's own: starts as zeros, keeps its content
  float* gradient;    // the flat array; the layer writes its own tensors, never their padding
  bool accumulate;    // add to the gradient (blocks after the first) instead of overwriting it
  const float* inner = nullptr;  // what the forward pass computed there
};

// Memory of a layer in a workspace: `inner` always, the others for training.
struct LayerMemory {
  int kept = 0;             // features kept per block
  std::size_t scratch = 0;  // floats
  int inner = 0;            // features per block between x and y that the forward pass computes
};

// forward_one is the pass of a single sample over contiguous features, x [in] -> y [out], with room for
// the inner features.
template <class K, class L>
concept KernelOf = requires(const K kernel, const ForwardBlock& f, const BackwardBlock& b,
                            const float* x, float* y, float* inner, const L& layer) {
  requires std::convertible_to<const L&, K>;
  { kernel.forward(f) } -> std::same_as<void>;
  { kernel.forward_one(x, x, y, inner) } -> std::same_as<void>;
  { kernel.backward(b) } -> std::same_as<void>;
  { memory_of(layer) } -> std::same_as<LayerMemory>;
};

class DenseKernel {
 public:
  DenseKernel(const DenseLayer& layer);
  void forward(const ForwardBlock& block) const;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const;
  void backward(const BackwardBlock& block) const;

 private:
  // For a block of some width: Z = W X, dX = W' dZ, dW = dZ X', dW += dZ X'. The gradient of W goes
  // over panels of inputs, so that a panel of X stays in the first-level cache while all of dZ meets
  // it.
  struct WeightGradient {
    Product set, add;
  };
  struct Products {
    Product forward, input_gradient;
    WeightGradient panel, rest;
  };
  const Products& products(int width) const { return products_[width / kLaneStep - 1]; }

  DenseLayer layer_;
  std::array<Products, kLanes / kLaneStep> products_;  // [width / 8 - 1]
};
LayerMemory memory_of(const DenseLayer& layer);

class ConvKernel {
 public:
  ConvKernel(const ConvLayer& layer);
  void forward(const ForwardBlock& block) const;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const;
  void backward(const BackwardBlock& block) const;

 private:
  // For a block of some width, and the neighbours of a position within one row of the grid (three,
  // at the border two, in a grid of one column one): Z = W X, Z += W X, dX += W' dZ, dW += dZ X'.
  struct Products {
    Product forward, add_forward, add_input_gradient, add_weight_gradient;
  };
  const Products& products(int width, int neighbours) const {
    return products_[width / kLaneStep - 1][neighbours - 1];
  }

  ConvLayer layer_;
  std::array<std::array<Products, 3>, kLanes / kLaneStep> products_;  // [width / 8 - 1][count - 1]
};
LayerMemory memory_of(const ConvLayer& layer);

class NormKernel {
 public:
  NormKernel(const NormLayer& layer) : layer_(layer) {}
  void forward(const ForwardBlock& block) const;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const;
  void backward(const BackwardBlock& block) const;

 private:
  NormLayer layer_;
};
LayerMemory memory_of(const NormLayer& layer);

class StreamsKernel {
 public:
  StreamsKernel(const StreamsLayer& layer)
      : layer_(layer), value_(layer.value), advantage_(layer.advantage) {}
  void forward(const ForwardBlock& block) const;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const;
  void backward(const BackwardBlock& block) const;

 private:
  StreamsLayer layer_;
  DenseKernel value_, advantage_;
};
LayerMemory memory_of(const StreamsLayer& layer);

class DuelingKernel {
 public:
  DuelingKernel(const DuelingLayer& layer) : layer_(layer) {}
  void forward(const ForwardBlock& block) const;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const;
  void backward(const BackwardBlock& block) const;

 private:
  DuelingLayer layer_;
};
LayerMemory memory_of(const DuelingLayer& layer);

class DagKernel {
 public:
  DagKernel(const DagLayer& layer);
  void forward(const ForwardBlock& block) const;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const;
  void backward(const BackwardBlock& block) const;

 private:
  // One neuron and the stretch of edges that it adds up: into it on the way forward, out of it on the
  // way back.
  struct Step {
    std::int32_t node, first, last;
  };
  struct OutEdge {
    std::int32_t target;  // where its dz begins
    std::int32_t number;
  };
  template <Activation kActivation, int kWidth>
  void compute(std::span<const Step> steps, const ForwardBlock& block, float* rows,
               int first) const;
  template <Activation kActivation, int kWidth>
  void output_deltas(const BackwardBlock& block) const;
  template <Activation kActivation, int kWidth>
  void hidden_deltas(const BackwardBlock& block) const;

  DagLayer layer_;
  std::vector<Step> forward_;          // hidden neurons in order, then outputs; edges by number
  std::vector<std::int32_t> sources_;  // [edges], where the row of the source begins
  std::vector<Step> backward_;         // hidden neurons in reverse order, then inputs
  std::vector<OutEdge> out_edges_;     // [edges], by source as in backward_
};
LayerMemory memory_of(const DagLayer& layer);

class AttentionKernel {
 public:
  AttentionKernel(const AttentionLayer& layer)
      : layer_(layer), hidden_(layer.hidden), score_(layer.score) {}
  void forward(const ForwardBlock& block) const;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const;
  void backward(const BackwardBlock& block) const;

 private:
  AttentionLayer layer_;
  DenseKernel hidden_, score_;
};
LayerMemory memory_of(const AttentionLayer& layer);

class CopyKernel {
 public:
  CopyKernel(const CopyLayer& layer) : layer_(layer) {}
  void forward(const ForwardBlock& block) const {
    std::copy_n(block.x, layer_.width * kLanes, block.y);
  }
  void forward_one(const float*, const float* x, float* y, float*) const {
    std::copy_n(x, layer_.width, y);
  }
  void backward(const BackwardBlock& block) const {
    if (block.dx != nullptr) std::copy_n(block.dy, layer_.width * kLanes, block.dx);
  }

 private:
  CopyLayer layer_;
};
inline LayerMemory memory_of(const CopyLayer&) { return {}; }

class ConstantKernel {
 public:
  ConstantKernel(const ConstantLayer& layer) : layer_(layer) {}
  void forward(const ForwardBlock& block) const {
    for (int f = 0; f < layer_.width; ++f) {
      std::fill_n(block.y + f * kLanes, kLanes, block.parameters[layer_.value + f]);
    }
  }
  void forward_one(const float* parameters, const float*, float* y, float*) const {
    std::copy_n(parameters + layer_.value, layer_.width, y);
  }
  void backward(const BackwardBlock& block) const {
    for (int f = 0; f < layer_.width; ++f) {
      float& gradient = block.gradient[layer_.value + f];
      if (!block.accumulate) gradient = 0;
      for (int lane = 0; lane < block.width; ++lane) gradient += block.dy[f * kLanes + lane];
    }
  }

 private:
  ConstantLayer layer_;
};
inline LayerMemory memory_of(const ConstantLayer&) { return {}; }

class ForestKernel {
 public:
  ForestKernel(const ForestLayer& layer);
  void forward(const ForwardBlock& block) const;
  void forward_one(const float* parameters, const float* x, float* y, float* inner) const;
  void backward(const BackwardBlock& block) const;

 private:
  // Feature f of a sample is x[f * stride + lane]; the memory is for `stride` lanes.
  void pass(const float* parameters, const float* x, int stride, int lanes, float* y, float* inner,
            float* kept) const;

  ForestLayer layer_;
  RowLinear graph_in_, edge_in_;
  RowLinear square_;  // from tokens to tokens
  RowLinear units_;   // its way back is from the features of nodes to tokens
};
LayerMemory memory_of(const ForestLayer& layer);

static_assert(KernelOf<DenseKernel, DenseLayer>);
static_assert(KernelOf<ConvKernel, ConvLayer>);
static_assert(KernelOf<NormKernel, NormLayer>);
static_assert(KernelOf<StreamsKernel, StreamsLayer>);
static_assert(KernelOf<DuelingKernel, DuelingLayer>);
static_assert(KernelOf<DagKernel, DagLayer>);
static_assert(KernelOf<AttentionKernel, AttentionLayer>);
static_assert(KernelOf<CopyKernel, CopyLayer>);
static_assert(KernelOf<ConstantKernel, ConstantLayer>);
static_assert(KernelOf<ForestKernel, ForestLayer>);

using LayerKernel =
    std::variant<DenseKernel, ConvKernel, NormKernel, StreamsKernel, DuelingKernel, DagKernel,
                 AttentionKernel, CopyKernel, ConstantKernel, ForestKernel>;

}  // namespace hotloop
