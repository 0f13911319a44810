// The gradients of a batch, by one thread or by several.
//
// One thread takes a few blocks of rows at a time, forward and backward, while they are in its cache.
// Several threads first divide the rows, forward and backward; then the parameters, whose gradients
// they add up over all rows. Each element of a gradient is one sum over the rows in order, so the
// bits do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <span>

#include "core/cpu/flush_denormals.hpp"
#include "core/thread_team.hpp"
#include "net/network.hpp"
#include "net/work.hpp"

namespace hotloop {

// How a batch goes through networks of one structure.
struct BatchSplit {
  int batch = 0;
  int step = 0;     // threads get multiples of this many rows
  int threads = 1;  // that share a batch
  int rows = 0;     // at once, if a single thread does everything

  BatchSplit(const Structure& structure, int rows_of_batch, int max_threads)
      : batch(rows_of_batch), step(row_step(structure)) {
    constexpr double kEnough = 1 << 19;       // operations in a forward pass: over 10 us of work
    constexpr std::size_t kCached = 1 << 19;  // bytes
    constexpr int kMaxRows = 128;
    const std::size_t block = Workspace::bytes_needed(structure, kLanes, Use::training);
    const bool whole = structure.needs_whole_batch();
    const bool is_small = work_of(structure).forward * batch < kEnough;  // not if unknown (NaN)
    if (!whole && !is_small) threads = std::min(max_threads, (batch + step - 1) / step);
    const int blocks = static_cast<int>(
        std::clamp(kCached / block, std::size_t{1}, std::size_t{kMaxRows / kLanes}));
    rows = whole ? batch : std::min(batch, blocks * kLanes);
  }
  // Rows that a thread takes through the networks at once.
  int rows_at_once() const { return threads > 1 ? (batch + threads - 1) / threads : rows; }
};

// A network that learns from a batch.
struct LearningNetwork {
  const Plan& plan;
  std::span<const float> parameters;
  Workspace& workspace;
  std::span<float> gradient;  // flat
};

// learn(i, rows) makes the forward pass of network i for a range of rows and sets the gradient of
// its outputs, for one network after the other.
template <class Learn>
void compute_gradients(std::span<const LearningNetwork> networks, const BatchSplit& split,
                       ThreadTeam& team, Learn&& learn) {
  const int count = static_cast<int>(networks.size());
  if (split.threads == 1 || team.size() == 1) {
    const FlushDenormals flush;
    for (int first = 0; first < split.batch; first += split.rows) {
      const RowRange rows{first, std::min(first + split.rows, split.batch)};
      for (int i = 0; i < count; ++i) {
        const LearningNetwork& net = networks[i];
        learn(i, rows);
        backward(net.plan, net.parameters, rows, net.workspace, net.gradient);
      }
    }
    return;
  }
  team.run((split.batch + split.step - 1) / split.step, [&](int first, int last, int thread) {
    const FlushDenormals flush;
    const RowRange rows{first * split.step, std::min(last * split.step, split.batch), thread};
    for (int i = 0; i < count; ++i) {
      const LearningNetwork& net = networks[i];
      learn(i, rows);
      backward_rows(net.plan, net.parameters, rows, net.workspace);
    }
  });
  team.run(team.size(), [&](int first, int last, int thread) {
    const FlushDenormals flush;
    const double all = team.size();
    for (const LearningNetwork& net : networks) {
      backward_parameters(net.plan, net.parameters, split.batch, first / all, last / all, thread,
                          net.workspace, net.gradient);
    }
  });
}

template <class Learn>
void compute_gradient(const LearningNetwork& network, const BatchSplit& split, ThreadTeam& team,
                      Learn&& learn) {
  compute_gradients({&network, 1}, split, team, [&](int, const RowRange& rows) { learn(rows); });
}

}  // namespace hotloop
