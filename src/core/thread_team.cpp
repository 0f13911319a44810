#include "core/thread_team.hpp"

#include <fmt/format.h>

#include <hotloop/error.hpp>

#include <cstdint>
#include <system_error>

#include "core/system.hpp"

namespace hotloop {
namespace {

// How often a helper checks before it sleeps: rounds follow each other within microseconds, and a
// futex wake-up costs more than a small chunk. With fewer cores than threads it sleeps at once.
int spin_limit(int threads) { return threads <= usable_cores() ? 20000 : 0; }

template <class T>
void wait_while_equal(std::atomic<T>& value, T old, int spins) {
  for (int i = 0; i < spins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadTeam::ThreadTeam(int threads) : size_(threads), spins_(spin_limit(threads)), busy_(threads) {
  try {
    for (int worker = 1; worker < threads; ++worker) {
      helpers_.emplace_back([this, worker] { help(worker); });
    }
  } catch (const std::system_error& error) {
    stop();
    throw RunError(fmt::format("run.threads: only {} of {} threads could be started: {}",
                               helpers_.size() + 1, threads, error.what()));
  } catch (...) {  // out of memory
    stop();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { stop(); }

// Otherwise joining the helpers would never return.
void ThreadTeam::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

ThreadTeam::Use ThreadTeam::use() const {
  Use use{.runs = runs_, .span = span_, .busy = {}};
  for (const Busy& busy : busy_) use.busy.push_back(busy.ticks);
  return use;
}

void ThreadTeam::run_all(int count, Call call, void* context) {
  count_ = count;
  call_ = call;
  context_ = context;
  PhaseClock* clock = PhaseClock::splitting();
  weight_ = clock != nullptr ? clock->weight() : 0;
  if (clock != nullptr) {
    run_timed(*clock);
  } else {
    start_helpers();
    run_own_and_unclaimed();
    wait_for_helpers();
  }
  if (failed_.load(std::memory_order_relaxed)) rethrow();
}

void ThreadTeam::rethrow() {
  failed_ = false;
  std::exception_ptr first;
  for (Busy& busy : busy_) {
    if (first == nullptr) first = busy.error;
    busy.error = nullptr;
  }
  std::rethrow_exception(first);
}

void ThreadTeam::run_timed(PhaseClock& clock) {
  const std::uint64_t begin = PhaseClock::ticks();
  start_helpers();
  run_own_and_unclaimed();
  const Phase phase = clock.running();
  clock.part(Phase::wait);
  wait_for_helpers();
  clock.resume(phase);
  ++runs_;
  span_ += (PhaseClock::ticks() - begin) * weight_;
}

void ThreadTeam::start_helpers() {
  pending_.store(size() - 1, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

void ThreadTeam::wait_for_helpers() {
  for (int left = pending_.load(std::memory_order_acquire); left != 0;
       left = pending_.load(std::memory_order_acquire)) {
    wait_while_equal(pending_, left, spins_);
  }
}

// Each worker's chunk is claimed once per round, in order, so a finished round cannot be claimed.
bool ThreadTeam::claim(int worker, unsigned round) {
  unsigned before = round - 1;
  return busy_[worker].claimed.compare_exchange_strong(before, round, std::memory_order_acq_rel);
}

void ThreadTeam::run_own_and_unclaimed() {
  run_chunk(0, 0);
  const unsigned round = round_.load(std::memory_order_relaxed);
  for (int worker = 1; worker < size(); ++worker) {
    if (!claim(worker, round)) continue;
    run_chunk(worker, 0);
    pending_.fetch_sub(1, std::memory_order_acq_rel);
  }
}

void ThreadTeam::run_chunk(int worker, int runner) noexcept {
  const auto bound = [this](int w) { return static_cast<int>(std::int64_t{count_} * w / size()); };
  const int begin = bound(worker);
  const int end = bound(worker + 1);
  if (begin == end) return;
  const std::uint64_t started = weight_ > 0 ? PhaseClock::ticks() : 0;
  try {
    call_(context_, begin, end, worker);
  } catch (...) {
    busy_[worker].error = std::current_exception();
    failed_.store(true, std::memory_order_relaxed);
  }
  if (weight_ > 0) busy_[runner].ticks += (PhaseClock::ticks() - started) * weight_;
}

void ThreadTeam::help(int worker) {
  unsigned seen = 0;
  while (true) {
    wait_while_equal(round_, seen, spins_);
    seen = round_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    if (!claim(worker, seen)) continue;
    run_chunk(worker, worker);
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

}  // namespace hotloop
