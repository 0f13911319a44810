#include "env/isolate/channel.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

#include "core/system.hpp"

namespace hotloop {
namespace {

// At most about 0.2 ms, which bridges a few updates. Longer waits are for slow environments or slow
// learning, which a wake-up of a few microseconds delays little. With one core, the other side
// cannot run while this one looks.
int spin_limit() {
  static const int limit = usable_cores() > 1 ? 16000 : 0;
  return limit;
}

long futex(std::atomic<Side>& word, int operation, Side value, const timespec* timeout) {
  static_assert(sizeof(std::atomic<Side>) == 4 && std::atomic<Side>::is_always_lock_free);
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout,
                 nullptr, 0);
}

}  // namespace

void Channel::hand_to(Side other) {
  turn.store(other, std::memory_order_seq_cst);
  if (asleep[static_cast<std::size_t>(other)].load(std::memory_order_seq_cst) == 0) return;
  futex(turn, FUTEX_WAKE, static_cast<Side>(INT_MAX), nullptr);
}

bool Channel::wait_for(Side mine, double seconds) {
  // On a busy machine looking only keeps the other side from running, so each time that it was in
  // vain halves it. Once in a while it is tried again.
  Patience& own = patience[static_cast<std::size_t>(mine)];
  own.spins = ++own.waits % 64 == 0 ? spin_limit() : std::min(own.spins, spin_limit());
  for (int i = own.spins; i > 0; --i) {
    if (turn.load(std::memory_order_acquire) == mine) {
      own.spins = std::max(own.spins * 2, 16);
      return true;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  own.spins /= 2;
  const Side other = mine == Side::caller ? Side::host : Side::caller;
  const auto whole = static_cast<std::time_t>(seconds);
  const timespec timeout{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  auto& sleeping = asleep[static_cast<std::size_t>(mine)];
  sleeping.store(1, std::memory_order_seq_cst);
  // Wakes without a reason are possible; the caller asks again.
  if (turn.load(std::memory_order_seq_cst) == other) {
    futex(turn, FUTEX_WAIT, other, seconds > 0 ? &timeout : nullptr);
  }
  sleeping.store(0, std::memory_order_relaxed);
  return turn.load(std::memory_order_acquire) == mine;
}

std::size_t SharedRows::place(std::byte* at, const EnvSpec& spec, int count, bool has_mask,
                              std::size_t row_bytes) {
  constexpr std::size_t kAlignment = 64;
  const auto n = static_cast<std::size_t>(count);
  std::size_t bytes = 0;
  const auto take = [&](auto& array, std::size_t size) {
    using T = typename std::remove_reference_t<decltype(array)>::element_type;
    if (at != nullptr) array = {reinterpret_cast<T*>(at + bytes), size};
    bytes += (size * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  };
  take(discrete, spec.actions > 0 ? n : 0);
  take(continuous, n * static_cast<std::size_t>(spec.action_size));
  take(rewards, n);
  take(terminated, n);
  take(obs, n * static_cast<std::size_t>(spec.obs));
  take(mask, has_mask ? n * static_cast<std::size_t>(spec.actions) : 0);
  take(reward_parts, n * static_cast<std::size_t>(spec.reward_part_count()));
  take(measures, n * static_cast<std::size_t>(spec.measure_count()));
  take(states, n * row_bytes);
  return bytes;
}

}  // namespace hotloop
