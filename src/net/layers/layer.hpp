// What a kind of layer is made of. Each kind has two files of its own in this folder:
//
//   dense.hpp  a plain struct: its shape, the offsets of its tensors, inputs(), outputs(), ==
//   dense.cpp  the five functions of the concept LayerKind below
//
// To add a kind: these two files; its name in `Layer` (structure.hpp); a word for it in
// branches.cpp; its slow twin in reference/network.hpp. All other code (plans, workspaces, tensor
// names, initial values, counts of arithmetic) visits the list and calls the five functions.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/limits.hpp"
#include "net/lanes.hpp"
#include "net/options.hpp"

namespace hotloop {

// What makes a pass a training pass; without it, a pass evaluates. Dropout masks are a function of
// these numbers, the layer and the row in the batch, never of threads.
struct TrainingPass {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t stream = 0;  // below 256: networks and passes of one step that need other masks
};

// The forward pass of one block, or of one half: only its `width` lanes are read and written, because
// the others may be another thread's.
struct ForwardBlock {
  const float* parameters;  // the flat array of the whole network
  int width;                // lanes in use, a multiple of kLaneStep
  const float* x;           // [in][kLanes]
  float* y;                 // [out][kLanes]
  float* kept;              // [LayerMemory::kept][kLanes] for the backward pass; null: not wanted
  float* inner = nullptr;   // [LayerMemory::inner][kLanes], if there are any
  const TrainingPass* training = nullptr;  // null: the pass evaluates
  int layer = 0;                           // its index in the structure
  int row = 0;                             // of lane 0, in the batch
};

// The backward pass of one block, or of one half, after its forward pass.
struct BackwardBlock {
  const float* parameters;
  int width;
  const float* x;     // as in the forward pass
  const float* y;     // its result
  const float* kept;  // what it kept
  float* dy;          // [out][kLanes] dL/dy, may be overwritten
  float* dx;          // [in][kLanes] receives dL/dx; null: not wanted
  float* scratch;     // [LayerMemory::scratch], the layer's own: starts as zeros, keeps its content
  float* gradient;  // the flat array; the layer writes its own tensors, never their padding; null:
                    // not wanted
  bool accumulate;  // add to the gradient (blocks after the first) instead of overwriting it
  const float* inner = nullptr;  // what the forward pass computed there
  float* rows = nullptr;  // [LayerMemory::rows][kLanes] of the whole block, its padding zero; null:
                          // not wanted
  int lane = 0;           // of the first sample, in the whole block

  // The gradient of a tensor; null: not wanted.
  float* gradient_of(std::size_t offset) const {
    return gradient == nullptr ? nullptr : gradient + offset;
  }
};

// Memory of a layer in a workspace: `inner` always, the others for training.
struct LayerMemory {
  int kept = 0;             // features kept per block
  std::size_t scratch = 0;  // floats
  int inner = 0;            // features per block between x and y that the forward pass computes
  int rows = 0;             // floats per sample that backward() leaves for add_gradient()
  // Whether only backward() can compute the gradient of its parameters, in whole blocks: then each
  // block has a gradient of its own, and these are added up.
  bool block_gradients = false;
};

// The features of a layer in all blocks of a batch.
struct Blocks {
  float* data = nullptr;   // of block 0: [features][kLanes]
  std::size_t stride = 0;  // floats from block to block

  float* at(int block) const { return data + stride * block; }
};

// A training pass of a layer whose result depends on all rows of the batch at once. The names have
// the same meaning as in the passes of a block. The scratch is kept from the forward to the
// backward pass.
struct ForwardBatch {
  const float* parameters;
  int batch;  // rows; lanes beyond them are in use up to a multiple of kLaneStep, and do not count
  Blocks x;
  Blocks y;
  float* scratch;
};
struct BackwardBatch {
  const float* parameters;
  int batch;
  Blocks x;
  Blocks dy;
  Blocks dx;  // zero in lanes beyond the rows; null: not wanted
  float* scratch;
  float* gradient;
  bool accumulate;
};

class BatchKernel;

// A layer and its plan (compiled matrix products).
class LayerKernel {
 public:
  virtual ~LayerKernel() = default;
  virtual void forward(const ForwardBlock& block) const = 0;
  // A single sample over contiguous features, x [in] -> y [out], with room for the inner features.
  virtual void forward_one(const float* parameters, const float* x, float* y,
                           float* inner) const = 0;
  virtual void backward(const BackwardBlock& block) const = 0;

  // Threads can share the gradient of the parameters: first they run backward() without it, each on
  // its own lanes; then each adds up other parts of it, over all blocks in order. An element is the
  // same sum in the same order as in backward(). 0: no parameters, or LayerMemory::block_gradients.
  virtual int gradient_parts() const = 0;
  // Adds parts [first, last), in the order of the parameters, of a block after its backward pass: dy
  // is what that left, dx is null.
  virtual void add_gradient(const BackwardBlock& /*block*/, int /*first*/, int /*last*/) const {}

  // Not null if training passes need the whole batch; those above then only evaluate.
  virtual const BatchKernel* whole_batch() const { return nullptr; }
};

class BatchKernel : public LayerKernel {
 public:
  const BatchKernel* whole_batch() const final { return this; }
  virtual void forward_batch(const ForwardBatch& batch) const = 0;
  virtual void backward_batch(const BackwardBatch& batch) const = 0;
  // Moves the statistics in the parameters towards those of the last training pass.
  virtual void update_statistics(float* scratch, float* parameters) const = 0;
};

// Called with each tensor of a layer, in the order in which they lie in the flat array; statistics
// lie behind the tensors of all layers.
class TensorVisitor {
 public:
  virtual ~TensorVisitor() = default;
  // [rows, columns], rows padded_row(columns) floats apart
  virtual void matrix(const std::string& name, std::size_t& offset, int rows,
                      int columns) const = 0;
  virtual void vector(const std::string& name, std::size_t& offset, int size) const = 0;
  // A vector that no optimiser changes, and whose gradient is never written. The limits state what
  // its numbers may be.
  virtual void statistic(const std::string& name, std::size_t& offset, int size,
                         const Limits& limits) const = 0;
};
constexpr int padded_row(int columns) { return round_up(columns, kLaneStep); }

// Names the tensors of a layer within another: "outer.name".
class InnerTensors final : public TensorVisitor {
 public:
  InnerTensors(std::string outer, const TensorVisitor& visit)
      : outer_(std::move(outer)), visit_(visit) {}
  void matrix(const std::string& name, std::size_t& offset, int rows, int columns) const override {
    visit_.matrix(outer_ + "." + name, offset, rows, columns);
  }
  void vector(const std::string& name, std::size_t& offset, int size) const override {
    visit_.vector(outer_ + "." + name, offset, size);
  }
  void statistic(const std::string& name, std::size_t& offset, int size,
                 const Limits& limits) const override {
    visit_.statistic(outer_ + "." + name, offset, size, limits);
  }

 private:
  std::string outer_;
  const TensorVisitor& visit_;
};

struct Draws;  // random streams for initial values: initialise.hpp

// clang-format off
template <class L>
concept LayerKind = std::equality_comparable<L> &&
    requires(const L layer, L& placed, const TensorVisitor& visit, const Draws& draws,
             float* parameters) {
  { layer.inputs() } -> std::same_as<int>;   // features per sample, before and after
  { layer.outputs() } -> std::same_as<int>;
  // Its tensors; the visitor may set their offsets.
  { each_tensor(placed, visit) } -> std::same_as<void>;
  // Sets the initial values of its tensors; the flat array is zero before.
  { initialise(layer, Initialiser::pytorch, draws, parameters) } -> std::same_as<void>;
  // In the forward pass of one sample; NaN if that depends on the sample.
  { multiply_adds(layer) } -> std::same_as<double>;
  { memory_of(layer) } -> std::same_as<LayerMemory>;
  { make_kernel(layer) } -> std::same_as<std::shared_ptr<const LayerKernel>>;
};
// clang-format on

}  // namespace hotloop
