// A persistent team of threads for work that is split into static, contiguous chunks.
//
// `run(count, body)` calls body(begin, end, worker) once per worker with a fixed partition of
// [0, count). The caller is worker 0. The partition decides only who computes a row, never how a
// row is computed: bodies write disjoint rows, and sums over rows are made afterwards in a fixed
// order, so results do not depend on the number of threads.
#pragma once

#include <atomic>
#include <thread>
#include <type_traits>
#include <vector>

namespace hotloop {

class ThreadTeam {
 public:
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return size_; }

  template <class Body>
  void run(int count, Body&& body) {
    if (size_ == 1 || count <= 1) {
      if (count > 0) body(0, count, 0);
      return;
    }
    using Plain = std::remove_reference_t<Body>;
    run_all(
        count,
        [](void* context, int begin, int end, int worker) {
          (*static_cast<Plain*>(context))(begin, end, worker);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Call = void (*)(void* context, int begin, int end, int worker);

  void run_all(int count, Call call, void* context);
  void run_chunk(int worker) const;
  void help(int worker);
  void stop();

  const int size_;
  const int spins_;                 // looks at a flag before going to sleep
  std::atomic<unsigned> round_{0};  // raised when there is work; workers wait on it
  std::atomic<int> pending_{0};     // helpers that have not finished the round
  std::atomic<bool> stopping_{false};
  int count_ = 0;
  Call call_ = nullptr;
  void* context_ = nullptr;
  std::vector<std::jthread> helpers_;  // last: they use everything above until they are joined
};

}  // namespace hotloop
