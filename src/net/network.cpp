#include "net/network.hpp"

#include <algorithm>
#include <utility>

#include "net/lane_arrays.hpp"

namespace hotloop {

Plan::Plan(Structure structure) : structure_(std::move(structure)) {
  for (const Layer& layer : structure_.layers) {
    kernels_.push_back(std::visit([](const auto& kind) { return LayerKernel(kind); }, layer));
  }
}

Workspace::Workspace(const Structure& structure, int capacity, Use use)
    : capacity_(capacity), use_(use) {
  const std::size_t blocks = block_count(capacity);
  const auto level = [&](int features) {
    const std::size_t block_floats = static_cast<std::size_t>(features) * kLanes;
    return Level{arena_.take<float>(block_floats * blocks).data(), block_floats};
  };
  lanes_.push_back(level(structure.inputs));
  int widest = structure.inputs, longest = structure.inputs;
  for (const Layer& layer : structure.layers) {
    lanes_.push_back(level(outputs_of(layer)));
    widest = std::max(widest, outputs_of(layer));
    LayerMemory memory = std::visit([](const auto& kind) { return memory_of(kind); }, layer);
    longest = std::max(longest, memory.inner + outputs_of(layer));
    inner_.push_back(memory.inner > 0 ? level(memory.inner) : Level{});
    if (use == Use::inference) memory = {};
    kept_.push_back(memory.kept > 0 ? level(memory.kept) : Level{});
    scratch_.push_back(arena_.take<float>(memory.scratch));
  }
  for (auto& column : column_) column = arena_.take<float>(round_up(longest, kLaneStep));
  if (use == Use::inference) return;
  gradient_ = level(structure.outputs);
  for (auto& delta : delta_) delta = arena_.take<float>(static_cast<std::size_t>(widest) * kLanes);
}

namespace {

// In place on lanes [features][kLanes].
void scale_lanes(const InputScale& scale, int features, int width, float* lanes) {
  with_width(width, [&]<int kWidth>() {
    for (int f = 0; f < features; ++f) {
      Lanes<kWidth> x(lanes + f * kLanes);
      x = ((x - scale.mean[f]) * scale.factor[f]).max(-kInputBound).min(kInputBound);
    }
  });
}

// A single sample (one environment that acts) is a matrix-vector product per dense layer: the lane
// kernels would spend seven eighths of their work on padding. The result stands in lane 0.
void forward_one(const Plan& plan, std::span<const float> parameters, const float* row,
                 Workspace& workspace, const InputScale* scale) {
  const Structure& net = plan.structure();
  float* x = workspace.column(0);
  float* y = workspace.column(1);
  std::copy_n(row, net.inputs, x);
  for (int i = 0; scale != nullptr && i < net.inputs; ++i) {
    x[i] = std::clamp((x[i] - scale->mean[i]) * scale->factor[i], -kInputBound, kInputBound);
  }
  for (const LayerKernel& layer : plan.kernels()) {
    std::visit([&](const auto& kernel) { kernel.forward_one(parameters.data(), x, y); }, layer);
    std::swap(x, y);
  }
  float* outputs = workspace.lanes(static_cast<int>(net.layers.size()), 0);
  for (int o = 0; o < net.outputs; ++o) outputs[o * kLanes] = x[o];
}

}  // namespace

void forward(const Plan& plan, std::span<const float> parameters, const float* rows, int batch,
             int first, int last, Workspace& workspace, const InputScale* scale) {
  const Structure& net = plan.structure();
  if (batch == 1 && workspace.use() == Use::inference) {
    forward_one(plan, parameters, rows, workspace, scale);
    return;
  }
  for (int block = first; block < last; ++block) {
    const int width = block_width(batch, block);
    const int row = block * kLanes;
    rows_to_lanes(rows + static_cast<std::size_t>(row) * net.inputs, net.inputs,
                  std::min(kLanes, batch - row), net.inputs, workspace.lanes(0, block));
    if (scale != nullptr) scale_lanes(*scale, net.inputs, width, workspace.lanes(0, block));
    for (int l = 0; l < static_cast<int>(net.layers.size()); ++l) {
      const ForwardBlock pass{.parameters = parameters.data(),
                              .width = width,
                              .x = workspace.lanes(l, block),
                              .y = workspace.lanes(l + 1, block),
                              .kept = workspace.kept(l, block),
                              .inner = workspace.inner(l, block)};
      std::visit([&](const auto& kernel) { kernel.forward(pass); }, plan.kernels()[l]);
    }
  }
}

void backward(const Plan& plan, std::span<const float> parameters, int batch, Workspace& workspace,
              std::span<float> gradient) {
  for (int block = 0; block < block_count(batch); ++block) {
    float* dy = workspace.output_gradient(block);
    for (int l = static_cast<int>(plan.kernels().size()) - 1; l >= 0; --l) {
      const BackwardBlock pass{
          .parameters = parameters.data(),
          .width = block_width(batch, block),
          .x = workspace.lanes(l, block),
          .y = workspace.lanes(l + 1, block),
          .kept = workspace.kept(l, block),
          .dy = dy,
          .dx = l == 0 ? nullptr : workspace.delta(l % 2),  // nobody asks for the observation's
          .scratch = workspace.scratch(l),
          .gradient = gradient.data(),
          .accumulate = block > 0,
          .inner = workspace.inner(l, block)};
      std::visit([&](const auto& kernel) { kernel.backward(pass); }, plan.kernels()[l]);
      dy = pass.dx;
    }
  }
}

}  // namespace hotloop
