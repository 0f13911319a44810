// Several runs at a time, each on its own thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>

namespace hotloop {

// A lock that one thread holds at a time. Work is called with it held, and releases it while
// training. So runs start in order, and creating folders or printing happens on one thread at a
// time.
using JobTurn = std::unique_lock<std::mutex>;

// Calls work(0) to work(count - 1), which must not throw, `jobs` at a time, until `stop` is set.
// Returns how many were started.
std::size_t run_jobs(std::size_t count, int jobs, const std::atomic<bool>* stop,
                     const std::function<void(std::size_t, JobTurn&)>& work);

}  // namespace hotloop
