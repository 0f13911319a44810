#include "net/network.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "net/lane_arrays.hpp"
#include "net/optimiser.hpp"
#include "net/passes.hpp"

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

LayerMemory memory_of_any(const Layer& layer) {
  return std::visit([](const auto& kind) { return memory_of(kind); }, layer);
}

bool has_block_gradients(const Structure& structure) {
  return std::ranges::any_of(
      structure.layers, [](const Layer& layer) { return memory_of_any(layer).block_gradients; });
}

// The range of the flat array that holds the tensors of a layer.
class FindRange final : public TensorVisitor {
 public:
  explicit FindRange(Plan::Range& range) : range_(range) {}
  void matrix(const std::string&, std::size_t& offset, int rows, int columns) const override {
    add(offset, static_cast<std::size_t>(rows) * padded_row(columns));
  }
  void vector(const std::string&, std::size_t& offset, int size) const override {
    add(offset, size);
  }
  void statistic(const std::string&, std::size_t&, int, const Limits&) const override {}

 private:
  void add(std::size_t first, std::size_t size) const {
    range_.first = range_.last == 0 ? first : std::min(range_.first, first);
    range_.last = std::max(range_.last, first + size);
  }
  Plan::Range& range_;
};

}  // namespace

int row_step(const Structure& structure) {
  return has_block_gradients(structure) ? kLanes : kLanes / 2;
}

Plan::Plan(Structure structure)
    : structure_(std::move(structure)),
      to_parameters_(
          find_route(structure_, [&](int l) { return structure_.wants_input_gradient(l); })),
      to_inputs_(find_route_to_inputs(structure_)),
      needs_whole_batch_(structure_.needs_whole_batch()),
      block_gradients_(structure_.layers.size()) {
  for (const Layer& layer : structure_.layers) {
    kernels_.push_back(std::visit([](const auto& kind) { return make_kernel(kind); }, layer));
  }
  for (std::size_t l = 0; l < structure_.layers.size(); ++l) {
    if (!memory_of_any(structure_.layers[l]).block_gradients) continue;
    Layer layer = structure_.layers[l];  // a visitor could set the offsets
    std::visit([&](auto& kind) { each_tensor(kind, FindRange(block_gradients_[l])); }, layer);
  }
  gradient_parts_ = find_gradient_parts();
}

std::vector<Plan::GradientPart> Plan::find_gradient_parts() const {
  std::vector<GradientPart> all;
  double work = 0;  // multiply-adds per sample, and something for layers that have none
  for (int l = 0; l < static_cast<int>(kernels_.size()); ++l) {
    int parts = kernels_[l]->gradient_parts();
    double of_layer = outputs_of(structure_.layers[l]);
    if (const auto [first, last] = block_gradients_[l]; first < last) {
      parts = static_cast<int>((last - first + kParameterPart - 1) / kParameterPart);
      of_layer = static_cast<double>(last - first) / kLanes;  // one addition in a block
    } else if (parts > 0) {
      of_layer +=
          std::visit([](const auto& kind) { return multiply_adds(kind); }, structure_.layers[l]);
    }
    for (int part = 0; part < parts; ++part)
      all.push_back({l, part, of_layer / parts, work + of_layer * (part + 0.5) / parts});
    if (parts > 0) work += of_layer;
  }
  for (GradientPart& part : all) {
    part.work /= work;
    part.middle /= work;
  }
  return all;
}

Workspace::Workspace(const Structure& structure, int capacity, Use use, int threads)
    : capacity_(capacity),
      threads_(threads),
      use_(use),
      training_(threads),
      outputs_at_(structure.outputs_at) {
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
  scratch_.resize(threads);
  for (const Layer& layer : structure.layers) {
    widest = std::max(widest, inputs_of(layer));
    LayerMemory memory = memory_of_any(layer);
    max_inner = std::max(max_inner, memory.inner);
    inner_.push_back(memory.inner > 0 ? blocks(memory.inner) : Blocks{});
    if (use == Use::inference) memory = {};
    kept_.push_back(memory.kept > 0 ? blocks(memory.kept) : Blocks{});
    rows_.push_back(memory.rows > 0 && threads > 1 ? blocks(memory.rows) : Blocks{});
    for (auto& of_thread : scratch_) of_thread.push_back(arena_.take<float>(memory.scratch));
  }
  column_ = arena_.take<float>(structure.features);
  inner_column_ = arena_.take<float>(max_inner);
  if (use == Use::inference) return;
  gradient_ = blocks(structure.outputs);
  const bool whole = structure.needs_whole_batch() || threads > 1;
  delta_ = whole ? blocks(structure.features) : one_block(structure.features);
  spare_ = whole ? blocks(widest) : one_block(widest);
  if (has_block_gradients(structure)) {
    const std::size_t own = threads > 1 ? count : 1;  // one thread adds it up at once
    block_gradients_ = {arena_.take<float>(structure.storage * own).data(),
                        threads > 1 ? structure.storage : 0};
  }
  if (use == Use::input_gradients) input_gradient_ = blocks(structure.inputs);
}

std::size_t Workspace::bytes_needed(const Structure& structure, int capacity, Use use,
                                    int threads) {
  std::size_t per_lane = structure.features, once = 0;
  int widest = 0;
  if (use == Use::input_gradients) per_lane += structure.inputs;
  for (const Layer& layer : structure.layers) {
    widest = std::max(widest, inputs_of(layer));
    const LayerMemory memory = memory_of_any(layer);
    per_lane += memory.inner;
    if (use == Use::inference) continue;
    per_lane += memory.kept + (threads > 1 ? memory.rows : 0);
    once += memory.scratch * threads;
  }
  if (use != Use::inference && (structure.needs_whole_batch() || threads > 1))
    per_lane += structure.features + widest;
  std::size_t per_block = per_lane * kLanes;
  if (use != Use::inference && threads > 1 && has_block_gradients(structure))
    per_block += structure.storage;
  return sizeof(float) * (per_block * block_count(capacity) + once);
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

// Rows of one block to lanes [width][kLanes].
void load_block(const Rows& rows, int width, const BlockPart& at, float* lanes,
                const InputScale* scale) {
  if (rows.places == nullptr) {
    rows_to_lanes(rows.data + static_cast<std::size_t>(at.row()) * width, width, at.count, width,
                  lanes);
  } else {
    gather_to_lanes(rows.data, rows.places + at.row(), at.count, width, lanes);
  }
  if (scale != nullptr) scale_lanes(*scale, width, at.width(), lanes);
}

// Runs layer `l` forward on one block whose inputs are in place.
void forward_layer(const Plan& plan, std::span<const float> parameters, const BlockPart& at, int l,
                   Workspace& workspace, int thread = 0) {
  const Place place = plan.structure().places[l];
  const ForwardBlock pass{.parameters = parameters.data(),
                          .width = at.width(),
                          .x = workspace.lanes(place.from, at.block) + at.lane,
                          .y = workspace.lanes(place.to, at.block) + at.lane,
                          .kept = from_lane(workspace.kept(l, at.block), at.lane),
                          .inner = from_lane(workspace.inner(l, at.block), at.lane),
                          .training = workspace.training(thread),
                          .layer = l,
                          .row = at.row()};
  plan.kernel(l).forward(pass);
}

void forward_block(const Plan& plan, std::span<const float> parameters, const BlockPart& at,
                   Workspace& workspace, int thread = 0) {
  for (int l = 0; l < layer_count(plan); ++l)
    forward_layer(plan, parameters, at, l, workspace, thread);
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
      forward_layer(plan, parameters, whole_block(batch, block), l, workspace);
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
    const BlockPart at = whole_block(batch, block);
    load_block(rows, net.inputs, at, workspace.lanes(0, block), scale);
    if (!layer_by_layer) forward_block(plan, parameters, at, workspace);
  }
  if (layer_by_layer) forward_layer_by_layer(plan, parameters, batch, workspace);
}

void forward(const Plan& plan, std::span<const float> parameters, const Rows& rows,
             const RowRange& range, Workspace& workspace, const InputScale* scale) {
  if (is_layer_by_layer(plan, workspace)) {
    assert(range.first == 0);
    return forward(plan, parameters, rows, range.last, workspace, scale);
  }
  for_each_block(range, [&](const BlockPart& at) {
    float* lanes = workspace.lanes(0, at.block) + at.lane;
    load_block(rows, plan.structure().inputs, at, lanes, scale);
    forward_block(plan, parameters, at, workspace, range.thread);
  });
}

void load(const Rows& rows, int width, const RowRange& range, int at, Workspace& workspace,
          const InputScale* scale, int first_block) {
  assert(!is_single(range.last, workspace));
  for_each_block(range, [&](const BlockPart& part) {
    float* lanes = workspace.lanes(at, first_block + part.block) + part.lane;
    load_block(rows, width, part, lanes, scale);
  });
}

void forward_loaded(const Plan& plan, std::span<const float> parameters, int batch,
                    Workspace& workspace) {
  if (is_single(batch, workspace)) return forward_one(plan, parameters, workspace);
  if (is_layer_by_layer(plan, workspace))
    return forward_layer_by_layer(plan, parameters, batch, workspace);
  forward_loaded(plan, parameters, RowRange{0, batch}, workspace);
}

void forward_loaded(const Plan& plan, std::span<const float> parameters, const RowRange& range,
                    Workspace& workspace) {
  for_each_block(range, [&](const BlockPart& at) {
    forward_block(plan, parameters, at, workspace, range.thread);
  });
}

}  // namespace hotloop
