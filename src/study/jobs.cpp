#include "study/jobs.hpp"

#include <fmt/format.h>

#include <system_error>
#include <thread>
#include <vector>

#include <hotloop/error.hpp>

namespace hotloop {

std::size_t run_jobs(std::size_t count, int jobs, const std::atomic<bool>* stop,
                     const std::function<void(std::size_t, JobTurn&)>& work) {
  std::mutex mutex;
  std::size_t started = 0;
  const auto take_turns = [&] {
    for (;;) {
      JobTurn turn(mutex);
      if (started == count || (stop != nullptr && stop->load())) return;
      work(started++, turn);
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(jobs));
    try {
      for (int i = 0; i < jobs; ++i) threads.emplace_back(take_turns);
    } catch (const std::system_error& error) {  // fewer threads give the same results, later
      if (threads.empty()) {
        throw RunError(fmt::format("--jobs: no thread could be started: {}", error.what()));
      }
    }
  }
  return started;
}

}  // namespace hotloop
