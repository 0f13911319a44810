// The backward passes: see network.hpp.
#include <algorithm>
#include <cassert>
#include <iterator>

#include "net/lane_arrays.hpp"
#include "net/network.hpp"
#include "net/optimiser.hpp"
#include "net/passes.hpp"

namespace hotloop {

namespace {

// Adds `from` [features][kLanes] to `to`.
void add_lanes(const float* from, int features, int width, float* to) {
  with_width(width, [&]<int kWidth>() {
    for (int f = 0; f < features; ++f) {
      Lanes<kWidth> sum(to + f * kLanes);
      sum += ConstLanes<kWidth>(from + f * kLanes);
    }
  });
}

// Where a backward pass goes, and what it computes.
struct Backward {
  const Plan& plan;
  const BackwardRoute& route;
  std::span<const float> parameters;
  int batch;
  Workspace& workspace;
  float* gradient;  // null: not wanted, or added up later
  bool accumulate = false;
  bool later = false;      // only keep what the gradient is added up from
  bool one_delta = false;  // all blocks use the deltas of the first: they are in the cache
  int thread = 0;

  void start(const BlockPart& at) const;
  BackwardBlock block(int l, const BlockPart& at) const;  // without dx
  void layer(int l, const BlockPart& at) const;
  void whole_batch(const BatchKernel& kernel, int l) const;
  void add_spare(int l, const BlockPart& at) const;
  void add_block_gradient(int block, const Plan::Range& range) const;
  float* delta(int feature, const BlockPart& at) const {
    return workspace.delta(feature, one_delta ? 0 : at.block) + at.lane;
  }
  // Runs all layers backward on one block. dL/dX is in delta(0, at) if the route leads there.
  void all_layers(const BlockPart& at) const {
    start(at);
    for (int l = layer_count(plan) - 1; l >= 0; --l) layer(l, at);
  }
  void layer_by_layer() const;
};

void Backward::start(const BlockPart& at) const {
  const Structure& net = plan.structure();
  for (const int feature : route.zeroed) std::fill_n(delta(feature, at), at.width(), 0.0f);
  const float* from = workspace.output_gradient(at.block) + at.lane;
  float* to = delta(net.outputs_at, at);
  for (int lane = 0; lane < net.outputs * kLanes; lane += kLanes)
    std::copy_n(from + lane, at.width(), to + lane);
}

BackwardBlock Backward::block(int l, const BlockPart& at) const {
  const auto [from, to] = plan.structure().places[l];
  return {.parameters = parameters.data(),
          .width = at.width(),
          .x = workspace.lanes(from, at.block) + at.lane,
          .y = workspace.lanes(to, at.block) + at.lane,
          .kept = from_lane(workspace.kept(l, at.block), at.lane),
          .dy = delta(to, at),
          .dx = nullptr,
          .scratch = workspace.scratch(l, thread),
          .gradient = gradient,
          .accumulate = accumulate || at.block > 0,
          .inner = from_lane(workspace.inner(l, at.block), at.lane),
          .rows = later ? workspace.rows(l, at.block) : nullptr,
          .lane = at.lane};
}

void Backward::layer(int l, const BlockPart& at) const {
  const InputGradient wanted = route.layers[l];
  BackwardBlock pass = block(l, at);
  if (wanted == InputGradient::write) pass.dx = delta(plan.structure().places[l].from, at);
  if (wanted == InputGradient::add) pass.dx = workspace.spare(at.block) + at.lane;
  const Plan::Range range = plan.block_gradients(l);
  // Alone, the first block can write to the gradient: the bits are the same.
  const bool adds = gradient != nullptr && pass.accumulate;
  const bool has_own_gradient = range.first < range.last && (adds || later);
  if (has_own_gradient) {
    pass.gradient = workspace.block_gradient(at.block);
    pass.accumulate = false;
  }
  plan.kernel(l).backward(pass);
  if (has_own_gradient && !later) add_block_gradient(at.block, range);
  if (wanted == InputGradient::add) add_spare(l, at);
}

void Backward::add_block_gradient(int block, const Plan::Range& range) const {
  const float* from = workspace.block_gradient(block);
  if (accumulate || block > 0) {
    for (std::size_t i = range.first; i < range.last; ++i) gradient[i] += from[i];
  } else {
    std::copy(from + range.first, from + range.last, gradient + range.first);
  }
}

void Backward::add_spare(int l, const BlockPart& at) const {
  const Structure& net = plan.structure();
  add_lanes(workspace.spare(at.block) + at.lane, inputs_of(net.layers[l]), at.width(),
            delta(net.places[l].from, at));
}

void Backward::whole_batch(const BatchKernel& kernel, int l) const {
  const auto [from, to] = plan.structure().places[l];
  const InputGradient wanted = route.layers[l];
  kernel.backward_batch({.parameters = parameters.data(),
                         .batch = batch,
                         .x = workspace.all_lanes(from),
                         .dy = workspace.all_deltas(to),
                         .dx = wanted == InputGradient::none    ? Blocks{}
                               : wanted == InputGradient::write ? workspace.all_deltas(from)
                                                                : workspace.all_spares(),
                         .scratch = workspace.scratch(l),
                         .gradient = gradient,
                         .accumulate = accumulate});
  for (int block = 0; wanted == InputGradient::add && block < block_count(batch); ++block)
    add_spare(l, whole_block(batch, block));
}

void Backward::layer_by_layer() const {
  for (int block = 0; block < block_count(batch); ++block) start(whole_block(batch, block));
  for (int l = layer_count(plan) - 1; l >= 0; --l) {
    if (const BatchKernel* kernel = plan.kernel(l).whole_batch()) {
      whole_batch(*kernel, l);
    } else {
      for (int block = 0; block < block_count(batch); ++block) layer(l, whole_block(batch, block));
    }
  }
}

// Calls finish(block) when all layers are done with it.
template <class F>
void run_backward(const Backward& pass, F&& finish) {
  const bool layer_by_layer = is_layer_by_layer(pass.plan, pass.workspace);
  if (layer_by_layer) pass.layer_by_layer();
  for (int block = 0; block < block_count(pass.batch); ++block) {
    if (!layer_by_layer) pass.all_layers(whole_block(pass.batch, block));
    finish(block);
  }
}

// From the gradient of the scaled inputs `x` to that of the unscaled, both [features][kLanes].
void unscale_gradient(const InputScale& scale, const float* x, int features, int width, float* dx) {
  with_width(width, [&]<int kWidth>() {
    for (int f = 0; f < features; ++f) {
      Lanes<kWidth> d(dx + f * kLanes);
      const ConstLanes<kWidth> scaled(x + f * kLanes);
      d = (scaled.abs() < kInputBound).select(d * scale.factor[f], 0.0f);
    }
  });
}

}  // namespace

void backward(const Plan& plan, std::span<const float> parameters, int batch, Workspace& workspace,
              std::span<float> gradient, bool accumulate) {
  run_backward(
      {plan, plan.to_parameters(), parameters, batch, workspace, gradient.data(), accumulate},
      [](int) {});
}

void backward(const Plan& plan, std::span<const float> parameters, const RowRange& range,
              Workspace& workspace, std::span<float> gradient) {
  if (is_layer_by_layer(plan, workspace)) {
    assert(range.first == 0);
    return backward(plan, parameters, range.last, workspace, gradient);
  }
  const Backward pass{.plan = plan,
                      .route = plan.to_parameters(),
                      .parameters = parameters,
                      .batch = range.last,
                      .workspace = workspace,
                      .gradient = gradient.data(),
                      .one_delta = true,
                      .thread = range.thread};
  for_each_block(range, [&](const BlockPart& at) { pass.all_layers(at); });
}

void backward_rows(const Plan& plan, std::span<const float> parameters, const RowRange& range,
                   Workspace& workspace) {
  assert(!plan.needs_whole_batch() && workspace.threads() > range.thread);
  const Backward pass{.plan = plan,
                      .route = plan.to_parameters(),
                      .parameters = parameters,
                      .batch = range.last,
                      .workspace = workspace,
                      .gradient = nullptr,
                      .later = true,
                      .thread = range.thread};
  for_each_block(range, [&](const BlockPart& at) { pass.all_layers(at); });
}

void backward_parameters(const Plan& plan, std::span<const float> parameters, int batch,
                         double first, double last, int thread, Workspace& workspace,
                         std::span<float> gradient) {
  const Backward pass{.plan = plan,
                      .route = plan.to_parameters(),
                      .parameters = parameters,
                      .batch = batch,
                      .workspace = workspace,
                      .gradient = gradient.data(),
                      .thread = thread};
  const std::vector<Plan::GradientPart>& parts = plan.gradient_parts();
  const auto at = [&](double share) {
    return std::partition_point(parts.begin(), parts.end(), [&](const Plan::GradientPart& part) {
      return part.middle < share;
    });
  };
  for (auto part = at(first); part != at(last);) {
    const int layer = part->layer, from = part->part;
    for (; part != at(last) && part->layer == layer; ++part) continue;
    const int to = std::prev(part)->part + 1;
    const Plan::Range all = plan.block_gradients(layer);
    const auto place = [&](int i) { return std::min(all.first + i * kParameterPart, all.last); };
    for (int block = 0; block < block_count(batch); ++block) {
      if (all.first < all.last) {
        pass.add_block_gradient(block, {place(from), place(to)});
      } else {
        BackwardBlock of_block = pass.block(layer, whole_block(batch, block));
        of_block.rows = workspace.rows(layer, block);
        plan.kernel(layer).add_gradient(of_block, from, to);
      }
    }
  }
}

namespace {

// dL/dX of the part of a block that has gone backward.
void take_input_gradient(const Plan& plan, const BlockPart& at, Workspace& workspace,
                         const InputScale* scale) {
  const int inputs = plan.structure().inputs;
  const float* from = workspace.delta(0, at.block) + at.lane;
  float* dx = workspace.input_gradient(at.block) + at.lane;
  for (int lane = 0; lane < inputs * kLanes; lane += kLanes)
    std::copy_n(from + lane, at.width(), dx + lane);
  if (scale != nullptr)
    unscale_gradient(*scale, workspace.lanes(0, at.block) + at.lane, inputs, at.width(), dx);
}

}  // namespace

void backward_to_inputs(const Plan& plan, std::span<const float> parameters, const RowRange& range,
                        Workspace& workspace, const InputScale* scale) {
  assert(workspace.use() == Use::input_gradients && !is_layer_by_layer(plan, workspace));
  const Backward pass{.plan = plan,
                      .route = plan.to_inputs(),
                      .parameters = parameters,
                      .batch = range.last,
                      .workspace = workspace,
                      .gradient = nullptr,
                      .thread = range.thread};
  for_each_block(range, [&](const BlockPart& at) {
    pass.all_layers(at);
    take_input_gradient(plan, at, workspace, scale);
  });
}

void backward_to_inputs(const Plan& plan, std::span<const float> parameters, int batch,
                        Workspace& workspace, const InputScale* scale, std::span<float> gradient,
                        bool accumulate) {
  assert(workspace.use() == Use::input_gradients);
  run_backward(
      {plan, plan.to_inputs(), parameters, batch, workspace,
       gradient.empty() ? nullptr : gradient.data(), accumulate},
      [&](int block) { take_input_gradient(plan, whole_block(batch, block), workspace, scale); });
}

void update_statistics(const Plan& plan, Workspace& workspace, std::span<float> parameters) {
  assert(is_layer_by_layer(plan, workspace));
  for (int l = 0; l < layer_count(plan); ++l) {
    if (const BatchKernel* kernel = plan.kernel(l).whole_batch())
      kernel->update_statistics(workspace.scratch(l), parameters.data());
  }
}

}  // namespace hotloop
