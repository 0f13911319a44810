// Forward and backward over the three things a network is made of: its structure, a flat array of
// parameters, and a workspace.
//
// The plan holds one compiled matrix product per layer, direction and block width. A workspace
// holds the activations (and, for training, the gradients) of a batch up to its capacity. Several
// parameter arrays (online, target) share one plan; each thread that learns has its own workspace.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/arena.hpp"
#include "net/lanes.hpp"
#include "net/product.hpp"
#include "net/structure.hpp"

namespace hotloop {

class Plan {
 public:
  explicit Plan(Structure structure);

  const Structure& structure() const { return structure_; }

  // Products of layer l for a block of `width` lanes:
  //   forward Z = W X,   input_gradient dX = W' dZ,   weight_gradient dW (+)= dZ X'.
  const Product& forward(int l, int width) const { return at(l, width).forward; }
  const Product& input_gradient(int l, int width) const { return at(l, width).input_gradient; }
  const Product& weight_gradient(int l, int width, bool accumulate) const {
    return accumulate ? at(l, width).add_weight_gradient : at(l, width).weight_gradient;
  }

 private:
  struct LayerProducts {
    Product forward, input_gradient, weight_gradient, add_weight_gradient;
  };
  static constexpr int kWidths = kLanes / kLaneStep;
  const LayerProducts& at(int l, int width) const { return products_[l][width / kLaneStep - 1]; }

  Structure structure_;
  std::vector<std::array<LayerProducts, kWidths>> products_;  // [layer][width / 8 - 1]
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
  // Training only: dL/dY, set by the loss.
  float* output_gradient(int block) { return block_of(gradient_, block); }
  float* slope(int level, int block) {
    return slope_[level].data == nullptr ? nullptr : block_of(slope_[level], block);
  }
  float* rows(int level) { return rows_[level].data(); }    // scratch: one block of level, as rows
  float* delta(int which) { return delta_[which].data(); }  // scratch: gradients in one block
  float* column(int which) { return column_[which].data(); }  // scratch: one sample, contiguous

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
  std::vector<Level> slope_;                // same, only behind GELU layers
  Level gradient_;                          // [blocks][outputs][kLanes]
  std::vector<std::span<float>> rows_;      // [layers][kLanes][stride]
  std::array<std::span<float>, 2> delta_;   // [widest input of a layer][kLanes]
  std::array<std::span<float>, 2> column_;  // [widest layer]
};

// Y = net(X) for rows [batch, inputs]; the results are workspace.outputs(block). Blocks
// [first, last) only, so that threads can share a batch.
void forward(const Plan& plan, std::span<const float> parameters, const float* rows, int batch,
             int first, int last, Workspace& workspace);
inline void forward(const Plan& plan, std::span<const float> parameters, const float* rows,
                    int batch, Workspace& workspace) {
  forward(plan, parameters, rows, batch, 0, block_count(batch), workspace);
}

// Gradient of the loss with respect to all parameters, given workspace.output_gradient(block),
// after the forward pass of the same batch. Overwrites `gradient` (whose padding stays zero) with
// the sum over the blocks, added in block order.
void backward(const Plan& plan, std::span<const float> parameters, int batch, Workspace& workspace,
              std::span<float> gradient);

}  // namespace hotloop
