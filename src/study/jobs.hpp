// Several runs at a time, each on a thread of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>

namespace hotloop {

// One thread has the turn; work has it when called, and gives it up while it trains. So runs begin in
// order, and whatever is done with the turn, making folders or printing, is done by one at a time.
using Turn = std::unique_lock<std::mutex>;

// Calls work(0) to work(count - 1), which must not throw, `jobs` at a time, until `stop` says so.
// Returns how many were begun.
std::size_t run_jobs(std::size_t count, int jobs, const std::atomic<bool>* stop,
                     const std::function<void(std::size_t, Turn&)>& work);

}  // namespace hotloop
