// Forward and backward passes over the three parts of a network: its structure, a flat array of
// parameters, and a workspace.
//
// The plan holds the kernel of each layer, with one compiled matrix product per direction and block
// width. A workspace holds the activations (and, for training, the gradients) of a batch up to its
// capacity; several threads may work on other rows of it. Several parameter arrays (online, target)
// share one plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/arena.hpp"
#include "net/lanes.hpp"
#include "net/structure.hpp"

namespace hotloop {

// What a layer does with dL/dx. If several layers read a feature, its gradient is the sum of
// theirs: the first in the backward pass writes, the others add.
enum class InputGradient { none, write, add };

// How gradients flow back through all layers.
struct BackwardRoute {
  std::vector<InputGradient> layers;  // [layers]
  std::vector<int> zeroed;  // features whose gradient starts at zero: in the backward pass,
                            // the first layer adds to it, or none does
};

class Plan {
 public:
  explicit Plan(Structure structure);

  const Structure& structure() const { return structure_; }
  const LayerKernel& kernel(int layer) const { return *kernels_[layer]; }
  const BackwardRoute& to_parameters() const { return to_parameters_; }
  const BackwardRoute& to_inputs() const { return to_inputs_; }  // also reaches all parameters
  bool needs_whole_batch() const { return needs_whole_batch_; }

  // A part of the gradient of the parameters: see LayerKernel::gradient_parts. Block gradients are
  // cut into parts as well.
  struct GradientPart {
    int layer, part;
    double work;    // its share of that of all parts
    double middle;  // of its work, if that of all parts is [0, 1]
  };
  const std::vector<GradientPart>& gradient_parts() const { return gradient_parts_; }
  // The parameters of a layer with block gradients; otherwise nothing.
  struct Range {
    std::size_t first = 0, last = 0;
  };
  Range block_gradients(int layer) const { return block_gradients_[layer]; }

 private:
  std::vector<GradientPart> find_gradient_parts() const;

  Structure structure_;
  std::vector<std::shared_ptr<const LayerKernel>> kernels_;  // [layers]; shared by copies
  BackwardRoute to_parameters_, to_inputs_;
  bool needs_whole_batch_;
  std::vector<Range> block_gradients_;  // [layers]
  std::vector<GradientPart> gradient_parts_;
};

// What a workspace is for; each use includes the previous ones.
enum class Use { inference, training, input_gradients };

class Workspace {
 public:
  // Up to `threads` threads may work on it at once, on other rows.
  Workspace(const Structure& structure, int capacity, Use use, int threads = 1);
  // Approximate.
  static std::size_t bytes_needed(const Structure& structure, int capacity, Use use,
                                  int threads = 1);

  int capacity() const { return capacity_; }
  int threads() const { return threads_; }
  Use use() const { return use_; }

  // Whether the coming passes of a thread train or evaluate (as at first); a backward pass must be
  // as its forward pass. Only dropout and batch norm differ.
  void set_training(const TrainingPass& pass, int thread = 0) { training_[thread] = pass; }
  void set_evaluation(int thread = 0) { training_[thread].reset(); }
  const TrainingPass* training(int thread = 0) const {
    return training_[thread] ? &*training_[thread] : nullptr;
  }

  // Lanes of one block, from `feature` on: [features - feature][kLanes].
  float* lanes(int feature, int block) { return lanes_.at(block) + feature * kLanes; }
  const float* outputs(int block) const { return lanes_.at(block) + outputs_at_ * kLanes; }
  // Training only: dL/dY, set by the loss.
  float* output_gradient(int block) { return gradient_.at(block); }
  // Use::input_gradients only: dL/dX [inputs][kLanes] of the last backward_to_inputs.
  float* input_gradient(int block) { return input_gradient_.at(block); }
  float* kept(int layer, int block) {  // by the forward pass for the backward pass; may be null
    return kept_[layer].data == nullptr ? nullptr : kept_[layer].at(block);
  }
  float* inner(int layer, int block) {  // features within a layer; may be null
    return inner_[layer].data == nullptr ? nullptr : inner_[layer].at(block);
  }
  // The layer's own, for all blocks.
  float* scratch(int layer, int thread = 0) { return scratch_[thread][layer].data(); }
  // What several threads leave for the gradient of a layer's parameters; null for one thread.
  float* rows(int layer, int block) {
    return rows_[layer].data == nullptr ? nullptr : rows_[layer].at(block);
  }
  // Gradients of the features in one block, and a second dX [max inputs][kLanes]. All blocks share
  // them, unless several threads do, or training passes need the whole batch.
  float* delta(int feature, int block = 0) { return delta_.at(block) + feature * kLanes; }
  float* spare(int block) { return spare_.at(block); }
  // The gradient of one block, flat; null without layers that have block gradients. One thread has
  // the same for all blocks.
  float* block_gradient(int block) { return block_gradients_.at(block); }
  // The same in all blocks.
  Blocks all_lanes(int feature) { return {lanes(feature, 0), lanes_.stride}; }
  Blocks all_deltas(int feature) { return {delta(feature), delta_.stride}; }
  Blocks all_spares() { return spare_; }
  float* column() { return column_.data(); }  // one sample, contiguous, [features]
  float* inner_column() { return inner_column_.data(); }

 private:
  int capacity_, threads_;
  Use use_;
  std::vector<std::optional<TrainingPass>> training_;  // [threads]
  Arena arena_;
  int outputs_at_;
  Blocks lanes_;               // [blocks][features][kLanes]
  std::vector<Blocks> kept_;   // [layers][blocks][LayerMemory::kept][kLanes]
  std::vector<Blocks> inner_;  // [layers][blocks][LayerMemory::inner][kLanes]
  std::vector<Blocks> rows_;   // [layers][blocks][LayerMemory::rows][kLanes]
  Blocks gradient_;            // [blocks][outputs][kLanes]
  Blocks input_gradient_;      // [blocks][inputs][kLanes]
  std::vector<std::vector<std::span<float>>> scratch_;  // [threads][layers][LayerMemory::scratch]
  Blocks delta_;                                        // [blocks or 1][features][kLanes]
  Blocks spare_;                   // [blocks or 1][max inputs of a layer][kLanes]
  Blocks block_gradients_;         // [blocks or 1][storage]
  std::span<float> column_;        // [features]
  std::span<float> inner_column_;  // [max inner features of a layer]
};

// Normalisation of the observations, x <- clamp((x - mean) * factor, -10, 10).
struct InputScale {
  const float* mean;    // [inputs]
  const float* factor;  // [inputs]
};
inline constexpr float kInputBound = 10;

// A batch of rows [inputs]: consecutive rows of `data`, or its rows places[0], places[1], ...
struct Rows {
  const float* data;
  const std::int32_t* places = nullptr;

  Rows(const float* rows) : data(rows) {}
  Rows(const float* rows, const std::int32_t* which) : data(rows), places(which) {}
};

// The rows [first, last) of a batch, for one of the threads that share it. They begin at a multiple
// of row_step(), and end at one or with the batch.
struct RowRange {
  int first, last;
  int thread = 0;  // of workspace.threads()
};
// Half a block, what a cache line of a feature holds; or a block, if a layer needs whole ones.
int row_step(const Structure& structure);

// The part of a block that lies in a range of rows: lanes [lane, lane + count).
struct BlockPart {
  int block, lane, count;

  int row() const { return block * kLanes + lane; }
  int width() const { return round_up(count, kLaneStep); }
};
template <class F>
void for_each_block(const RowRange& rows, F&& f) {
  for (int row = rows.first; row < rows.last;) {
    const int lane = row % kLanes, count = std::min(kLanes - lane, rows.last - row);
    f(BlockPart{row / kLanes, lane, count});
    row += count;
  }
}

// Y = net(X) for rows [batch, inputs], scaled first if `scale` is not null; the results are
// workspace.outputs(block). Computes blocks [first, last) only, so that threads can share a batch.
// If structure.needs_whole_batch(), a training pass must be of all blocks, in a workspace for
// training; it then runs layer by layer instead of block by block.
void forward(const Plan& plan, std::span<const float> parameters, const Rows& rows, int batch,
             int first, int last, Workspace& workspace, const InputScale* scale = nullptr);
inline void forward(const Plan& plan, std::span<const float> parameters, const Rows& rows,
                    int batch, Workspace& workspace, const InputScale* scale = nullptr) {
  forward(plan, parameters, rows, batch, 0, block_count(batch), workspace, scale);
}
// The same for a range of rows, which are those of `rows` at the same places.
void forward(const Plan& plan, std::span<const float> parameters, const Rows& rows,
             const RowRange& range, Workspace& workspace, const InputScale* scale = nullptr);
// Loads rows [batch, width] as the input features from `at` on, scaled first if `scale` is not
// null: for inputs that come from several arrays, and are then complete. They become the lanes of
// blocks from `first_block` on. Not for a single sample in a workspace for inference.
void load(const Rows& rows, int width, const RowRange& range, int at, Workspace& workspace,
          const InputScale* scale = nullptr, int first_block = 0);
inline void load(const Rows& rows, int width, int batch, int at, Workspace& workspace,
                 const InputScale* scale = nullptr, int first_block = 0) {
  load(rows, width, RowRange{0, batch}, at, workspace, scale, first_block);
}
// Y = net(X) for the inputs that the workspace holds: loaded, or those of the last batch.
void forward_loaded(const Plan& plan, std::span<const float> parameters, int batch,
                    Workspace& workspace);
void forward_loaded(const Plan& plan, std::span<const float> parameters, const RowRange& range,
                    Workspace& workspace);

// After a training pass of a structure that needs_whole_batch(), moves the running statistics in
// `parameters` towards those of its batch. Statistics that are not finite are left out.
void update_statistics(const Plan& plan, Workspace& workspace, std::span<float> parameters);

// Gradient of the loss with respect to all parameters, given workspace.output_gradient(block),
// after the forward pass of the same batch. Overwrites `gradient` (whose padding and part for
// statistics stay zero) with the sum over the blocks, added in block order. The stds of noisy
// layers get zero: noise_gradient fills them in. With `accumulate` the result is added to
// `gradient` instead.
void backward(const Plan& plan, std::span<const float> parameters, int batch, Workspace& workspace,
              std::span<float> gradient, bool accumulate = false);

// The same for a range of whole blocks: the first block of the batch overwrites the gradient, the
// others add to it. So ranges have to come in order.
void backward(const Plan& plan, std::span<const float> parameters, const RowRange& range,
              Workspace& workspace, std::span<float> gradient);

// The same by several threads, with the same bits; not if the structure needs_whole_batch(). Each
// first goes backward for its own rows. When all have done so, each adds up a part of the gradient
// over all rows, with its share [first, last) of the work in [0, 1].
void backward_rows(const Plan& plan, std::span<const float> parameters, const RowRange& range,
                   Workspace& workspace);
void backward_parameters(const Plan& plan, std::span<const float> parameters, int batch,
                         double first, double last, int thread, Workspace& workspace,
                         std::span<float> gradient);

// Gradient of the loss with respect to the inputs, in workspace.input_gradient(block); otherwise
// like `backward`. `scale` is that of the forward pass: the gradient is that of the unscaled
// inputs, and zero where they were clamped. Inputs that are indices (the parents of a forest) have
// gradient zero. The gradient of the parameters is computed only if `gradient` is not empty: an
// actor that learns through a critic does not need it.
void backward_to_inputs(const Plan& plan, std::span<const float> parameters, const RowRange& range,
                        Workspace& workspace, const InputScale* scale = nullptr);
void backward_to_inputs(const Plan& plan, std::span<const float> parameters, int batch,
                        Workspace& workspace, const InputScale* scale = nullptr,
                        std::span<float> gradient = {}, bool accumulate = false);

}  // namespace hotloop
