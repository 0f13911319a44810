#include "net/network.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "net/lane_arrays.hpp"

namespace hotloop {

namespace {

// Layer l computes dL/dx if wants(l).
template <class F>
BackwardRoute find_route(const Structure& structure, F&& wants) {
  BackwardRoute route{std::vector(structure.layers.size(), InputGradient::none), {}};
  std::vector<bool> written(structure.features);
  for (int l = static_cast<int>(structure.layers.size()) - 1; l >= 0; --l) {
    if (!wants(l)) continue;
    const auto first = written.begin() + structure.places[l].from;
    const auto last = first + inputs_of(structure.layers[l]);
    const bool adds = std::find(first, last, true) != last;
    route.layers[l] = adds ? InputGradient::add : InputGradient::write;
    for (auto feature = first; feature != last; ++feature) {
      if (adds && !*feature) route.zeroed.push_back(static_cast<int>(feature - written.begin()));
      *feature = true;
    }
  }
  return route;
}

// All layers compute dL/dx. Inputs that no layer reads have gradient zero.
BackwardRoute find_route_to_inputs(const Structure& structure) {
  BackwardRoute route =
      find_route(structure, [&](int l) { return inputs_of(structure.layers[l]) > 0; });
  std::vector<bool> read(structure.features);
  for (std::size_t l = 0; l < structure.layers.size(); ++l)
    std::fill_n(read.begin() + structure.places[l].from, inputs_of(structure.layers[l]), true);
  for (int i = 0; i < structure.inputs; ++i) {
    if (!read[i]) route.zeroed.push_back(i);
  }
  return route;
}

}  // namespace

Plan::Plan(Structure structure)
    : structure_(std::move(structure)),
      to_parameters_(
          find_route(structure_, [&](int l) { return structure_.wants_input_gradient(l); })),
      to_inputs_(find_route_to_inputs(structure_)),
      needs_whole_batch_(structure_.needs_whole_batch()) {
  for (const Layer& layer : structure_.layers) {
    kernels_.push_back(std::visit([](const auto& kind) { return make_kernel(kind); }, layer));
  }
}

Workspace::Workspace(const Structure& structure, int capacity, Use use)
    : capacity_(capacity), use_(use), outputs_at_(structure.outputs_at) {
  const std::size_t count = block_count(capacity);
  const auto blocks = [&](int features) {
    const std::size_t stride = static_cast<std::size_t>(features) * kLanes;
    return Blocks{arena_.take<float>(stride * count).data(), stride};
  };
  const auto one_block = [&](int features) {
    return Blocks{arena_.take<float>(static_cast<std::size_t>(features) * kLanes).data(), 0};
  };
  lanes_ = blocks(structure.features);
  int widest = 0, max_inner = 0;
  for (const Layer& layer : structure.layers) {
    widest = std::max(widest, inputs_of(layer));
    LayerMemory memory = std::visit([](const auto& kind) { return memory_of(kind); }, layer);
    max_inner = std::max(max_inner, memory.inner);
    inner_.push_back(memory.inner > 0 ? blocks(memory.inner) : Blocks{});
    if (use == Use::inference) memory = {};
    kept_.push_back(memory.kept > 0 ? blocks(memory.kept) : Blocks{});
    scratch_.push_back(arena_.take<float>(memory.scratch));
  }
  column_ = arena_.take<float>(structure.features);
  inner_column_ = arena_.take<float>(max_inner);
  if (use == Use::inference) return;
  gradient_ = blocks(structure.outputs);
  const bool whole = structure.needs_whole_batch();
  delta_ = whole ? blocks(structure.features) : one_block(structure.features);
  spare_ = whole ? blocks(widest) : one_block(widest);
  if (use == Use::input_gradients) input_gradient_ = blocks(structure.inputs);
}

std::size_t Workspace::bytes_needed(const Structure& structure, int capacity, Use use) {
  std::size_t per_lane = structure.features, once = 0;
  if (use == Use::input_gradients) per_lane += structure.inputs;
  if (use != Use::inference && structure.needs_whole_batch()) per_lane += structure.features;
  for (const Layer& layer : structure.layers) {
    const LayerMemory memory = std::visit([](const auto& kind) { return memory_of(kind); }, layer);
    per_lane += memory.inner;
    if (use == Use::inference) continue;
    per_lane += memory.kept;
    once += memory.scratch;
  }
  return sizeof(float) * (per_lane * kLanes * block_count(capacity) + once);
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

// Adds `from` [features][kLanes] to `to`.
void add_lanes(const float* from, int features, int width, float* to) {
  with_width(width, [&]<int kWidth>() {
    for (int f = 0; f < features; ++f) {
      Lanes<kWidth> sum(to + f * kLanes);
      sum += ConstLanes<kWidth>(from + f * kLanes);
    }
  });
}

// Rows of one block to lanes [width][kLanes].
void load_block(const Rows& rows, int width, int batch, int block, float* lanes,
                const InputScale* scale) {
  const int row = block * kLanes;
  const int count = std::min(kLanes, batch - row);
  if (rows.places == nullptr) {
    rows_to_lanes(rows.data + static_cast<std::size_t>(row) * width, width, count, width, lanes);
  } else {
    gather_to_lanes(rows.data, rows.places + row, count, width, lanes);
  }
  if (scale != nullptr) scale_lanes(*scale, width, block_width(batch, block), lanes);
}

// Runs layer `l` forward on one block whose inputs are in place.
void forward_layer(const Plan& plan, std::span<const float> parameters, int batch, int block, int l,
                   Workspace& workspace) {
  const Place place = plan.structure().places[l];
  const ForwardBlock pass{.parameters = parameters.data(),
                          .width = block_width(batch, block),
                          .x = workspace.lanes(place.from, block),
                          .y = workspace.lanes(place.to, block),
                          .kept = workspace.kept(l, block),
                          .inner = workspace.inner(l, block),
                          .training = workspace.training(),
                          .layer = l,
                          .row = block * kLanes};
  plan.kernel(l).forward(pass);
}

int layer_count(const Plan& plan) { return static_cast<int>(plan.structure().layers.size()); }

void forward_block(const Plan& plan, std::span<const float> parameters, int batch, int block,
                   Workspace& workspace) {
  for (int l = 0; l < layer_count(plan); ++l)
    forward_layer(plan, parameters, batch, block, l, workspace);
}

// Whether a pass must run layer by layer over all blocks.
bool is_layer_by_layer(const Plan& plan, const Workspace& workspace) {
  return plan.needs_whole_batch() && workspace.training() != nullptr;
}

void forward_layer_by_layer(const Plan& plan, std::span<const float> parameters, int batch,
                            Workspace& workspace) {
  assert(workspace.use() != Use::inference);
  for (int l = 0; l < layer_count(plan); ++l) {
    if (const BatchKernel* kernel = plan.kernel(l).whole_batch()) {
      const Place place = plan.structure().places[l];
      kernel->forward_batch({.parameters = parameters.data(),
                             .batch = batch,
                             .x = workspace.all_lanes(place.from),
                             .y = workspace.all_lanes(place.to),
                             .scratch = workspace.scratch(l)});
      continue;
    }
    for (int block = 0; block < block_count(batch); ++block)
      forward_layer(plan, parameters, batch, block, l, workspace);
  }
}

// A single sample (one environment that acts) is a matrix-vector product per dense layer: the lane
// kernels would spend seven eighths of their work on padding. The result is in lane 0.
bool is_single(int batch, const Workspace& workspace) {
  return batch == 1 && workspace.use() == Use::inference && workspace.training() == nullptr;
}

void load_one(const Structure& net, const float* row, Workspace& workspace,
              const InputScale* scale) {
  float* features = workspace.column();
  std::copy_n(row, net.inputs, features);
  for (int i = 0; scale != nullptr && i < net.inputs; ++i) {
    features[i] =
        std::clamp((row[i] - scale->mean[i]) * scale->factor[i], -kInputBound, kInputBound);
  }
}

void forward_one(const Plan& plan, std::span<const float> parameters, Workspace& workspace) {
  const Structure& net = plan.structure();
  float* features = workspace.column();
  for (int l = 0; l < static_cast<int>(net.layers.size()); ++l) {
    const auto [from, to] = net.places[l];
    plan.kernel(l).forward_one(parameters.data(), features + from, features + to,
                               workspace.inner_column());
  }
  const int first = net.outputs_at;
  for (int o = 0; o < net.outputs; ++o) workspace.lanes(first + o, 0)[0] = features[first + o];
}

}  // namespace

void forward(const Plan& plan, std::span<const float> parameters, const Rows& rows, int batch,
             int first, int last, Workspace& workspace, const InputScale* scale) {
  const Structure& net = plan.structure();
  if (is_single(batch, workspace)) {
    const std::size_t place = rows.places == nullptr ? 0 : rows.places[0];
    load_one(net, rows.data + place * net.inputs, workspace, scale);
    forward_one(plan, parameters, workspace);
    return;
  }
  const bool layer_by_layer = is_layer_by_layer(plan, workspace);
  assert(!layer_by_layer || (first == 0 && last == block_count(batch)));
  for (int block = first; block < last; ++block) {
    load_block(rows, net.inputs, batch, block, workspace.lanes(0, block), scale);
    if (!layer_by_layer) forward_block(plan, parameters, batch, block, workspace);
  }
  if (layer_by_layer) forward_layer_by_layer(plan, parameters, batch, workspace);
}

void load(const Rows& rows, int width, int batch, int at, Workspace& workspace,
          const InputScale* scale, int first_block) {
  assert(!is_single(batch, workspace));
  for (int block = 0; block < block_count(batch); ++block)
    load_block(rows, width, batch, block, workspace.lanes(at, first_block + block), scale);
}

void forward_loaded(const Plan& plan, std::span<const float> parameters, int batch,
                    Workspace& workspace) {
  if (is_single(batch, workspace)) return forward_one(plan, parameters, workspace);
  if (is_layer_by_layer(plan, workspace))
    return forward_layer_by_layer(plan, parameters, batch, workspace);
  for (int block = 0; block < block_count(batch); ++block)
    forward_block(plan, parameters, batch, block, workspace);
}

namespace {

// Where a backward pass goes, and what it computes.
struct Backward {
  const Plan& plan;
  const BackwardRoute& route;
  std::span<const float> parameters;
  int batch;
  Workspace& workspace;
  float* gradient;  // null: not wanted
  bool accumulate;

  void start(int block) const;
  void layer(int l, int block) const;
  void whole_batch(const BatchKernel& kernel, int l) const;
  void add_spare(int l, int block) const;
  // Runs all layers backward on one block. dL/dX is in workspace.delta(0, block) if the route leads
  // there.
  void all_layers(int block) const {
    start(block);
    for (int l = layer_count(plan) - 1; l >= 0; --l) layer(l, block);
  }
  void layer_by_layer() const;
};

void Backward::start(int block) const {
  const Structure& net = plan.structure();
  for (const int feature : route.zeroed) std::fill_n(workspace.delta(feature, block), kLanes, 0.0f);
  std::copy_n(workspace.output_gradient(block), net.outputs * kLanes,
              workspace.delta(net.outputs_at, block));
}

void Backward::layer(int l, int block) const {
  const auto [from, to] = plan.structure().places[l];
  const InputGradient wanted = route.layers[l];
  float* dx = wanted == InputGradient::none    ? nullptr
              : wanted == InputGradient::write ? workspace.delta(from, block)
                                               : workspace.spare(block);
  const BackwardBlock pass{.parameters = parameters.data(),
                           .width = block_width(batch, block),
                           .x = workspace.lanes(from, block),
                           .y = workspace.lanes(to, block),
                           .kept = workspace.kept(l, block),
                           .dy = workspace.delta(to, block),
                           .dx = dx,
                           .scratch = workspace.scratch(l),
                           .gradient = gradient,
                           .accumulate = accumulate || block > 0,
                           .inner = workspace.inner(l, block)};
  plan.kernel(l).backward(pass);
  if (wanted == InputGradient::add) add_spare(l, block);
}

void Backward::add_spare(int l, int block) const {
  const Structure& net = plan.structure();
  add_lanes(workspace.spare(block), inputs_of(net.layers[l]), block_width(batch, block),
            workspace.delta(net.places[l].from, block));
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
    add_spare(l, block);
}

void Backward::layer_by_layer() const {
  for (int block = 0; block < block_count(batch); ++block) start(block);
  for (int l = layer_count(plan) - 1; l >= 0; --l) {
    if (const BatchKernel* kernel = plan.kernel(l).whole_batch()) {
      whole_batch(*kernel, l);
    } else {
      for (int block = 0; block < block_count(batch); ++block) layer(l, block);
    }
  }
}

// Calls finish(block) when all layers are done with it.
template <class F>
void run_backward(const Backward& pass, F&& finish) {
  const bool layer_by_layer = is_layer_by_layer(pass.plan, pass.workspace);
  if (layer_by_layer) pass.layer_by_layer();
  for (int block = 0; block < block_count(pass.batch); ++block) {
    if (!layer_by_layer) pass.all_layers(block);
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

void backward_to_inputs(const Plan& plan, std::span<const float> parameters, int batch,
                        Workspace& workspace, const InputScale* scale, std::span<float> gradient,
                        bool accumulate) {
  assert(workspace.use() == Use::input_gradients);
  const int inputs = plan.structure().inputs;
  run_backward({plan, plan.to_inputs(), parameters, batch, workspace,
                gradient.empty() ? nullptr : gradient.data(), accumulate},
               [&](int block) {
                 float* dx = workspace.input_gradient(block);
                 std::copy_n(workspace.delta(0, block), inputs * kLanes, dx);
                 if (scale != nullptr) {
                   unscale_gradient(*scale, workspace.lanes(0, block), inputs,
                                    block_width(batch, block), dx);
                 }
               });
}

void update_statistics(const Plan& plan, Workspace& workspace, std::span<float> parameters) {
  assert(is_layer_by_layer(plan, workspace));
  for (int l = 0; l < layer_count(plan); ++l) {
    if (const BatchKernel* kernel = plan.kernel(l).whole_batch())
      kernel->update_statistics(workspace.scratch(l), parameters.data());
  }
}

}  // namespace hotloop
