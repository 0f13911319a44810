// Fuzz targets: functions that get arbitrary bytes, as a file from a stranger may have them. A target
// ends normally or with one of our own errors; a crash, a hang, a report of a sanitizer or an
// exception of a library is a defect.
//
// Target NAME is the file tests/fuzz/NAME_target.cpp, which defines it:
//
//   HOTLOOP_FUZZ_TARGET(name) { ... bytes ... }
//
// and the folder tests/fuzz/corpus/NAME with its inputs. Nothing else needs to be changed. With
// HOTLOOP_FUZZ, each target is a libFuzzer program that tools/fuzz.sh runs. The tests replay every
// input, so an input that once crashed and is kept in the folder is a regression test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include <hotloop/error.hpp>

namespace hotloop::fuzz {

using Bytes = std::span<const std::uint8_t>;

struct Target {
  const char* name;
  void (*body)(Bytes bytes);

  void run(Bytes bytes) const {
    try {
      body(bytes);
    } catch (const RunError&) {
    } catch (const UsageError&) {
    }
  }
};

inline std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}

inline bool add(const Target& target) {
  targets().push_back(target);
  return true;
}

// What a target starts from, made once. An error here is a mistake in the target, not a refusal.
template <class Make>
auto prepared(Make&& make) {
  try {
    return make();
  } catch (const std::runtime_error& error) {
    throw std::logic_error(error.what());
  }
}

// Reads numbers off an input; zeros when it is used up.
class Input {
 public:
  explicit Input(Bytes bytes) : left_(bytes) {}

  bool empty() const { return left_.empty(); }
  template <class T>
  T next() {
    T value{};
    const std::size_t size = std::min(sizeof(T), left_.size());
    if (size > 0) std::memcpy(&value, left_.data(), size);
    left_ = left_.subspan(size);
    return value;
  }
  std::size_t below(std::size_t count) { return count == 0 ? 0 : next<std::uint16_t>() % count; }
  Bytes rest() const { return left_; }

 private:
  Bytes left_;
};

}  // namespace hotloop::fuzz

#ifdef HOTLOOP_LIBFUZZER
#define HOTLOOP_FUZZ_ENTRY(target)                                                    \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    target.run({data, size});                                                         \
    return 0;                                                                         \
  }
#else
#define HOTLOOP_FUZZ_ENTRY(target)
#endif

#define HOTLOOP_FUZZ_TARGET(name)                                                          \
  static void fuzz_##name(::hotloop::fuzz::Bytes bytes);                                   \
  static const ::hotloop::fuzz::Target kTarget_##name{#name, &fuzz_##name};                \
  [[maybe_unused]] static const bool kAdded_##name = ::hotloop::fuzz::add(kTarget_##name); \
  HOTLOOP_FUZZ_ENTRY(kTarget_##name)                                                       \
  static void fuzz_##name(::hotloop::fuzz::Bytes bytes)
