// The caller's side of a host process: an environment that runs in its own process.
//
// If that process crashes, ends or does not answer in time, it is gone, and every call from then on
// throws a WorldError that says what happened. The memory of this process is untouched.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "env/isolate/channel.hpp"
#include "env/options.hpp"

namespace hotloop {

class Host {
 public:
  // Starts the process, which calls `load`. Throws what `load` throws.
  Host(std::function<EnvEntry()> load, std::string shown, const Isolation& options);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Its strings are valid as long as the host.
  const EnvSpec& spec() const { return spec_; }
  bool is_alive();

  // Sends a request in this thread's channel and waits for the answer, which `read` gets. Throws
  // RunError if the environment threw, WorldError if its process is gone.
  template <class Read>
  void call(const Request& request, Read&& read) {
    const int slot = my_slot();
    const std::lock_guard lock(mutexes_[slot]);
    read(exchange(shared_->channels[slot], request));
  }
  void call(const Request& request) {
    call(request, [](const Answer&) {});
  }

  // A piece of the shared memory, full of zeros, until it is given back.
  struct Piece {
    std::byte* at = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  // at least as many as asked for
  };
  Piece share(std::size_t bytes);
  void give_back(const Piece& piece);

 private:
  int my_slot() const;
  const Answer& exchange(Channel& channel, const Request& request);
  void wait_for_answer(Channel& channel);
  void read_spec(const Answer& answer);
  void check_alive();
  [[noreturn]] void end_hung();
  void end();

  std::string shown_;
  Isolation options_;
  int channels_;
  int memory_ = -1;
  std::uint64_t size_ = 0;  // of the memory
  std::vector<Piece> all_, free_;
  SharedMemory* shared_ = nullptr;
  pid_t owner_ = 0, child_ = 0;
  std::array<std::mutex, SharedMemory::kChannels> mutexes_;  // one caller per channel
  std::mutex end_mutex_;
  std::string end_;                   // why the process is gone; empty while it lives
  std::atomic<bool> is_gone_{false};  // set after `end_`, which never changes again
  EnvSpec spec_;
  std::string texts_;
};

}  // namespace hotloop
