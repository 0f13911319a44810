#include "arrays.hpp"

namespace hotloop::python {
namespace {

// Returns whether all are in [0, limit). Without a branch, so that it costs next to nothing.
template <class T>
bool copy_actions(std::span<const T> from, int limit, std::span<std::int32_t> to) {
  bool sound = true;
  for (std::size_t row = 0; row < from.size(); ++row) {
    const bool in_range = static_cast<std::uint64_t>(from[row]) < static_cast<std::uint64_t>(limit);
    sound &= in_range;
    to[row] = static_cast<std::int32_t>(from[row]);
  }
  return sound;
}

template <class T>
[[noreturn]] void report_bad_action(std::span<const T> from, int limit) {
  for (std::size_t row = 0; row < from.size(); ++row) {
    if (static_cast<std::uint64_t>(from[row]) < static_cast<std::uint64_t>(limit)) continue;
    throw UsageError(
        fmt::format("actions: row {} is {}; allowed: 0 to {}", row, from[row], limit - 1));
  }
  throw UsageError("actions: out of range");
}

void check_mask(std::span<const std::int32_t> actions, int width,
                std::span<const std::uint8_t> mask) {
  for (std::size_t row = 0; row < actions.size(); ++row) {
    const std::uint8_t* allowed = &mask[row * width];
    if (allowed[actions[row]] != 0) continue;
    std::string list;
    for (int a = 0; a < width; ++a) {
      if (allowed[a] != 0) list += fmt::format("{}{}", list.empty() ? "" : ", ", a);
    }
    throw UsageError(
        fmt::format("actions: row {} is {}, which the mask forbids there; allowed now: {} "
                    "(action_mask in infos)",
                    row, actions[row], list));
  }
}

}  // namespace

void read_discrete(const AnyArray& array, int actions, std::span<const std::uint8_t> mask,
                   std::span<std::int32_t> to) {
  if (array.ndim() != 1 || array.size() != to.size()) {
    throw UsageError(
        fmt::format("actions have shape {}; allowed: ({},)", shape_text(array), to.size()));
  }
  const bool is_integer =
      with_values<std::int64_t, std::int32_t, std::uint8_t, std::int8_t, std::int16_t,
                  std::uint16_t, std::uint32_t, std::uint64_t>(array, [&](auto values) {
        if (!copy_actions(values, actions, to)) report_bad_action(values, actions);
      });
  if (!is_integer) {
    throw UsageError(
        fmt::format("actions are of type {}; allowed: any integer type", type_text(array)));
  }
  if (!mask.empty()) check_mask(to, actions, mask);
}

void read_continuous(const AnyArray& array, int size, std::span<float> to) {
  const std::size_t rows = to.size() / static_cast<std::size_t>(size);
  if (array.ndim() != 2 || array.shape(0) != rows || array.size() != to.size()) {
    throw UsageError(
        fmt::format("actions have shape {}; allowed: ({}, {})", shape_text(array), rows, size));
  }
  const bool is_float = with_values<float, double>(array, [&](auto values) {
    bool sound = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      to[i] = static_cast<float>(values[i]);
      sound &= std::isfinite(to[i]);
    }
    for (std::size_t i = 0; !sound && i < values.size(); ++i) {
      if (std::isfinite(to[i])) continue;
      throw UsageError(fmt::format("actions: row {}, dimension {} is {}; allowed: finite numbers",
                                   i / static_cast<std::size_t>(size),
                                   i % static_cast<std::size_t>(size), values[i]));
    }
  });
  if (!is_float) {
    throw UsageError(
        fmt::format("actions are of type {}; allowed: float32, float64", type_text(array)));
  }
}

}  // namespace hotloop::python
