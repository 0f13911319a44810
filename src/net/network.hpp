// Forward and backward over the three things a network is made of: its structure, a flat array of
// parameters, and a workspace.
//
// The plan holds the kernel of each layer, with one compiled matrix product per direction and block
// width. A workspace holds the activations (and, for training, the gradients) of a batch up to its
// capacity. Several parameter arrays (online, target) share one plan; each thread that learns has
// its own workspace.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/arena.hpp"
#include "net/lanes.hpp"
#include "net/layer_kernels.hpp"
#include "net/structure.hpp"

namespace hotloop {

class Plan {
 public:
  explicit Plan(Structure structure);

  const Structure& structure() const { return structure_; }
  const std::vector<LayerKernel>& kernels() const { return kernels_; }  // [layers]

 private:
  Structure structure_;
  std::vector<LayerKernel> kernels_;
};

enum class Use { inference, training };

class Workspace {
 public:
  Workspace(const Structure& structure, int capacity, Use use);

  int capacity() const { return capacity_; }
  Use use() const { return use_; }
  // Lanes [D][kLanes] of one block. Level 0 is the input, level l the output of layer l - 1.
  float* lanes(int level, int block) { return block_of(lanes_[level], block); }
  const float* lanes(int level, int block) const { return block_of(lanes_[level], block); }
  const float* outputs(int block) const {
    return lanes(static_cast<int>(lanes_.size()) - 1, block);
  }
  // Training only: dL/dY, set by the loss; the backward pass may overwrite it.
  float* output_gradient(int block) { return block_of(gradient_, block); }
  float* kept(int layer, int block) {  // of the forward pass for the backward pass; may be null
    return kept_[layer].data == nullptr ? nullptr : block_of(kept_[layer], block);
  }
  float* inner(int layer, int block) {  // features within a layer; may be null
    return inner_[layer].data == nullptr ? nullptr : block_of(inner_[layer], block);
  }
  float* scratch(int layer) { return scratch_[layer].data(); }  // the layer's own, one block
  float* delta(int which) { return delta_[which].data(); }      // scratch: gradients in one block
  float* column(int which) { return column_[which].data(); }    // scratch: one sample, contiguous

 private:
  struct Level {
    float* data = nullptr;
    std::size_t block_floats = 0;
  };
  static float* block_of(const Level& level, int block) {
    return level.data + level.block_floats * block;
  }

  int capacity_;
  Use use_;
  Arena arena_;
  std::vector<Level> lanes_;                // [layers + 1][blocks][D][kLanes]
  std::vector<Level> kept_;                 // [layers][blocks][LayerMemory::kept][kLanes]
  std::vector<Level> inner_;                // [layers][blocks][LayerMemory::inner][kLanes]
  Level gradient_;                          // [blocks][outputs][kLanes]
  std::vector<std::span<float>> scratch_;   // [layers][LayerMemory::scratch]
  std::array<std::span<float>, 2> delta_;   // [widest layer][kLanes]
  std::array<std::span<float>, 2> column_;  // [widest layer, or its inner features]
};

// Normalisation of the observations, x <- clamp((x - mean) * factor, -10, 10).
struct InputScale {
  const float* mean;    // [inputs]
  const float* factor;  // [inputs]
};
inline constexpr float kInputBound = 10;

// Y = net(X) for rows [batch, inputs], scaled first if `scale` is not null; the results are
// workspace.outputs(block). Blocks [first, last) only, so that threads can share a batch.
void forward(const Plan& plan, std::span<const float> parameters, const float* rows, int batch,
             int first, int last, Workspace& workspace, const InputScale* scale = nullptr);
inline void forward(const Plan& plan, std::span<const float> parameters, const float* rows,
                    int batch, Workspace& workspace, const InputScale* scale = nullptr) {
  forward(plan, parameters, rows, batch, 0, block_count(batch), workspace, scale);
}

// Gradient of the loss with respect to all parameters, given workspace.output_gradient(block),
// after the forward pass of the same batch. Overwrites `gradient` (whose padding stays zero) with
// the sum over the blocks, added in block order. The standard deviations of noisy layers get zero:
// noise_gradient fills them in.
void backward(const Plan& plan, std::span<const float> parameters, int batch, Workspace& workspace,
              std::span<float> gradient);

}  // namespace hotloop
