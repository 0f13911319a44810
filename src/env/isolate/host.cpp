#include "env/isolate/host.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <new>

#include <hotloop/error.hpp>

#include "core/phase_clock.hpp"
#include "core/system.hpp"
#include "env/claims.hpp"
#include "env/isolate/isolated_worlds.hpp"
#include "env/isolate/serve.hpp"

namespace hotloop {
namespace {

using Clock = std::chrono::steady_clock;

struct Cost {
  const Clock::time_point start = Clock::now();
  const std::uint64_t start_ticks = PhaseClock::ticks();
  std::atomic<std::uint64_t> ticks{0}, vector_steps{0};
};
Cost& cost() {
  static Cost all;
  return all;
}

constexpr double kSlice = 0.05;  // seconds between looks at a process that has not answered

}  // namespace

IsolationCost isolation_cost() {
  const Cost& all = cost();
  const double seconds = std::chrono::duration<double>(Clock::now() - all.start).count();
  const auto ticks = static_cast<double>(PhaseClock::ticks() - all.start_ticks);
  return {static_cast<double>(all.ticks) * seconds / std::max(ticks, 1.0), all.vector_steps};
}

Host::Host(std::function<EnvEntry()> load, std::string shown, const Isolation& options)
    : shown_(std::move(shown)),
      options_(options),
      channels_(std::clamp(usable_cores(), 1, SharedMemory::kChannels)),
      owner_(getpid()) {
  cost();
  memory_ = memfd_create("hotloop", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory_ < 0) throw RunError("cannot share memory with another process");
  fcntl(memory_, F_ADD_SEALS, F_SEAL_SHRINK);  // or the host could make our reads fail
  try {
    shared_ = new (share(sizeof(SharedMemory)).at) SharedMemory;
  } catch (...) {
    close(memory_);
    throw;
  }
  shared_->channels[0].turn = Side::host;
  std::fflush(nullptr);  // buffered output must not be written twice
  child_ = fork();
  if (child_ == 0) serve(*shared_, channels_, memory_, owner_, load, options_);
  try {
    if (child_ < 0) throw RunError("cannot start another process");
    Channel& first = shared_->channels[0];
    wait_for_answer(first);
    if (first.answer.failure != CallFailure::none) {
      const std::string text(first.answer.text.data(),
                             std::min<std::size_t>(first.answer.length, first.answer.text.size()));
      if (first.answer.failure == CallFailure::usage) throw UsageError(text);
      throw RunError(text);
    }
    read_spec(first.answer);
  } catch (...) {
    end();
    throw;
  }
}

Host::~Host() { end(); }

void Host::end() {
  if (getpid() != owner_) return;  // in another host, which was forked from this process
  if (child_ > 0 && end_.empty()) {
    kill(child_, SIGKILL);
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  for (const Piece& piece : all_) munmap(piece.at, piece.bytes);
  close(memory_);
}

void Host::read_spec(const Answer& answer) {
  spec_ = answer.spec;
  texts_.assign(answer.text.data(), std::min<std::size_t>(answer.length, answer.text.size()));
  std::string_view rest = texts_;
  for_each_text(spec_, [&](std::string_view& text) {
    text = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
  });
  if (const std::string problem = spec_problem(spec_); !problem.empty()) {
    throw UsageError(fmt::format("environment {}: {}", shown_, problem));
  }
}

int Host::my_slot() const {
  static std::atomic<int> threads{0};
  thread_local const int number = threads++;
  return number % channels_;
}

Host::Piece Host::share(std::size_t bytes) {
  const std::lock_guard lock(end_mutex_);
  auto fitting = free_.end();  // the smallest
  for (auto free = free_.begin(); free != free_.end(); ++free) {
    if (free->bytes < bytes) continue;
    if (fitting == free_.end() || free->bytes < fitting->bytes) fitting = free;
  }
  if (fitting != free_.end()) {
    const Piece piece = *fitting;
    free_.erase(fitting);
    return piece;
  }
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t rounded = (bytes + page - 1) / page * page;
  all_.reserve(all_.size() + 1);
  free_.reserve(all_.size() + 1);  // giving back needs no memory
  void* at = MAP_FAILED;
  if (ftruncate(memory_, static_cast<off_t>(size_ + rounded)) == 0) {
    at = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_SHARED, memory_,
              static_cast<off_t>(size_));
  }
  if (at == MAP_FAILED) {
    if (errno == ENOMEM) throw std::bad_alloc();
    throw RunError("cannot share memory with another process");
  }
  all_.push_back({static_cast<std::byte*>(at), size_, rounded});
  size_ += rounded;
  return all_.back();
}

void Host::give_back(const Piece& piece) {
  const std::lock_guard lock(end_mutex_);
  fallocate(memory_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(piece.offset),
            static_cast<off_t>(piece.bytes));  // frees the pages
  free_.push_back(piece);
}

const Answer& Host::exchange(Channel& channel, const Request& request) {
  if (is_gone_.load(std::memory_order_acquire)) throw WorldError(end_);
  const std::uint64_t begin = PhaseClock::ticks();
  channel.request = request;
  channel.hand_to(Side::host);
  wait_for_answer(channel);
  const Answer& answer = channel.answer;
  const std::uint64_t spent = PhaseClock::ticks() - begin;
  cost().ticks.fetch_add(spent - std::min<std::uint64_t>(spent, answer.ticks),
                         std::memory_order_relaxed);
  if (request.command == HostCommand::step && request.begin == 0) {
    cost().vector_steps.fetch_add(1, std::memory_order_relaxed);
  }
  if (answer.failure == CallFailure::none) return answer;
  const std::string text(answer.text.data(),
                         std::min<std::size_t>(answer.length, answer.text.size()));
  if (answer.failure == CallFailure::stray_write) throw WorldError(text);  // in the host's memory
  throw RunError(text);
}

void Host::wait_for_answer(Channel& channel) {
  double waited = 0;  // a suspended machine does not count
  while (!channel.wait_for(Side::caller, kSlice)) {
    waited += kSlice;
    check_alive();
    if (waited >= options_.timeout_seconds) end_hung();
  }
}

bool Host::is_alive() {
  const std::lock_guard lock(end_mutex_);
  if (!end_.empty()) return false;
  int status = 0;
  const pid_t ended = waitpid(child_, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return true;
  end_ = fmt::format("environment {}: {}", shown_, ending_text(shared_->calls, status));
  is_gone_.store(true, std::memory_order_release);
  return false;
}

void Host::check_alive() {
  if (!is_alive()) throw WorldError(end_);
}

void Host::end_hung() {
  const std::lock_guard lock(end_mutex_);
  if (!end_.empty()) throw WorldError(end_);
  const CallNote* note = shared_->calls.first_in_call();
  const char* function = note != nullptr ? note->function() : nullptr;
  end_ = fmt::format(
      "environment {}: {} did not return within {:g} s{}; env.timeout_seconds gives it more time",
      shown_, function != nullptr ? function : "it", options_.timeout_seconds,
      note != nullptr ? note->place() : "");
  kill(child_, SIGKILL);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  is_gone_.store(true, std::memory_order_release);
  throw WorldError(end_);
}

}  // namespace hotloop
