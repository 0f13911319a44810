// A persistent team of threads for work that is split into static, contiguous chunks.
//
// `run(count, body)` calls body(begin, end, worker) once per worker with a fixed partition of
// [0, count). The caller is worker 0. When it has finished, it also runs chunks that no helper has
// started, with that helper's number, so a helper that the system does not schedule delays nobody.
// The partition decides only who computes a row, never how: bodies write disjoint rows, and sums
// over rows are computed afterwards in a fixed order, so results do not depend on the number of
// threads. If bodies throw, `run` waits for all of them and rethrows the exception of the first
// such worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <type_traits>
#include <vector>

#include "core/phase_clock.hpp"

namespace hotloop {

class ThreadTeam {
 public:
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return size_; }

  // Usage in rounds that the clock split, in ticks times the weights of rounds.
  struct Use {
    std::uint64_t runs = 0;           // times work was distributed; not weighted
    std::uint64_t span = 0;           // total time of the runs
    std::vector<std::uint64_t> busy;  // [size] busy time of each thread in it
  };
  Use use() const;

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

  struct alignas(64) Busy {  // on its own cache line
    std::uint64_t ticks = 0;
    std::exception_ptr error;          // thrown by its body
    std::atomic<unsigned> claimed{0};  // the last round in which its chunk was claimed
  };

  void run_all(int count, Call call, void* context);
  void run_timed(PhaseClock& clock);
  void start_helpers();
  void wait_for_helpers();
  void run_own_and_unclaimed();
  bool claim(int worker, unsigned round);
  void run_chunk(int worker, int runner) noexcept;
  void rethrow();
  void help(int worker);
  void stop();

  const int size_;
  const int spins_;                 // checks of a flag before going to sleep
  std::atomic<unsigned> round_{0};  // incremented when there is work; workers wait on it
  std::atomic<int> pending_{0};     // unfinished chunks of helpers
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};  // a body threw
  int count_ = 0;
  Call call_ = nullptr;
  void* context_ = nullptr;
  std::uint64_t weight_ = 0;  // of the round being timed; 0 = not timed
  std::uint64_t runs_ = 0, span_ = 0;
  std::vector<Busy> busy_;
  std::vector<std::jthread> helpers_;  // last: they use everything above until they are joined
};

}  // namespace hotloop
