#include "study/jobs.hpp"

#include <thread>
#include <vector>

namespace hotloop {

std::size_t run_jobs(std::size_t count, int jobs, const std::atomic<bool>* stop,
                     const std::function<void(std::size_t, Turn&)>& work) {
  std::mutex mutex;
  std::size_t started = 0;
  const auto take_turns = [&] {
    for (;;) {
      Turn turn(mutex);
      if (started == count || (stop != nullptr && stop->load())) return;
      work(started++, turn);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < jobs; ++i) threads.emplace_back(take_turns);
  }
  return started;
}

}  // namespace hotloop
