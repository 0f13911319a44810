// The memory that a process shares with the host process of an isolated environment, and how one
// hands over to the other.
//
// A channel belongs to one side at a time, whose `turn` it is. The other waits: first by looking
// again and again, because most steps take less than it takes to wake a thread, then asleep.
#pragma once

#include <hotloop/worlds.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "env/check/doing.hpp"

namespace hotloop {

enum class HostCommand : std::uint32_t {
  load,    // answered once, at the start: the spec
  make,    // count, plain -> worlds, has_mask, checks_state, row_bytes
  attach,  // worlds, offset: their arrays are there
  destroy,
  clear,
  reset,    // begin, stream -> draws; also observes the row
  step,     // begin, end, seed, purpose, step; also observes the rows
  measure,  // begin
  picture,  // begin -> width, height
  fetch,    // offset: copies the latest picture there
  save,     // begin
  restore,  // begin -> is_valid; also observes the row
  check,    // all rows
};

struct Request {
  HostCommand command = HostCommand::load;
  bool plain = false;
  void* worlds = nullptr;  // of the host's memory
  int count = 0;
  int begin = 0, end = 0;  // rows
  RngState stream{};       // of a reset; of a step without lane and draws
  std::uint64_t offset = 0;
};

enum class CallFailure : std::uint32_t { none, usage, run, stray_write };

struct Answer {
  CallFailure failure = CallFailure::none;
  void* worlds = nullptr;
  std::uint8_t has_mask = 0, checks_state = 0, is_valid = 0;  // another process may write any bits
  std::uint64_t row_bytes = 0;
  std::uint32_t draws = 0;
  int width = 0, height = 0;
  EnvSpec spec{};           // its strings follow in `text`
  std::uint64_t ticks = 0;  // that the environment itself took
  std::uint32_t length = 0;
  std::array<char, 1 << 14> text{};
};

enum class Side : std::uint32_t { caller, host };

struct alignas(64) Channel {
  std::atomic<Side> turn{Side::caller};
  std::array<std::atomic<std::uint32_t>, 2> asleep{};  // by side
  struct Patience {
    int spins = 1 << 30;  // how often to look before going to sleep, at most
    unsigned waits = 0;
  };
  std::array<Patience, 2> patience{};  // by side
  alignas(64) Request request;
  alignas(64) Answer answer;

  void hand_to(Side other);
  // Waits until it is `mine`; gives up after `seconds`, unless that is 0.
  bool wait_for(Side mine, double seconds);
};

struct SharedMemory {
  static constexpr int kChannels = 16;
  CallNotes calls;  // of the host
  std::array<Channel, kChannels> channels;
};

// The arrays of N rows, at fixed places of one piece of shared memory.
struct SharedRows {
  std::span<std::int32_t> discrete;    // [N] or empty: actions
  std::span<float> continuous;         // [N, action_size] or empty
  std::span<float> rewards;            // [N]
  std::span<std::uint8_t> terminated;  // [N]
  std::span<float> obs;                // [N, D], always as the rows are now
  std::span<std::uint8_t> mask;        // [N, A] or empty, likewise
  std::span<float> reward_parts;       // [N, C] or empty
  std::span<float> measures;           // [N, M] or empty
  std::span<std::byte> states;         // [N, row_bytes]

  // Returns the size in bytes; `at` may be null to learn only that.
  std::size_t place(std::byte* at, const EnvSpec& spec, int count, bool has_mask,
                    std::size_t row_bytes);
};

template <class T>
std::span<T> rows_of(std::span<T> all, int begin, int end, std::size_t width) {
  return all.subspan(static_cast<std::size_t>(begin) * width,
                     static_cast<std::size_t>(end - begin) * width);
}

// Calls visit(text) for every string of a spec.
template <class Spec, class Visit>
void for_each_text(Spec& spec, Visit&& visit) {
  visit(spec.name);
  visit(spec.about);
  for (auto& part : spec.parts) visit(part.name);
  for (auto& name : spec.measures) visit(name);
  for (auto& name : spec.reward_parts) visit(name);
}

}  // namespace hotloop
