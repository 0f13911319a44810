// The table of keys of a spec: those of every run here, those of the algorithm from its folder.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "algo/common/key.hpp"
#include "spec/spec.hpp"

namespace hotloop {

// The keys of the spec's algorithm in the order in which they are written, pointing into `spec`.
Keys spec_keys(TrainSpec& spec);

// The algorithms that have a key or a group of this path, by name: "dqn, sac"; empty if none has.
std::string algorithms_with(std::string_view path);

// The path of the key that is meant by `leaf` if it is the right one in the wrong place, two parts
// written as one word, or another library's name for it; else empty.
std::string key_elsewhere(std::span<const Key> keys, std::string_view leaf);
// The path of the key or group that other libraries call `name`, of those that are among `keys`; else
// empty.
std::string key_of_other_library(std::span<const Key> keys, std::string_view name);

// The keys of a schedule that is not a plain number; its range applies to from and to.
inline constexpr std::array<std::string_view, 8> kScheduleKeys = {
    "kind", "from", "to", "over", "factor", "every", "after", "count"};
inline constexpr Range kSchedulePeriod = {1, 1e15};
inline constexpr Range kScheduleFactor = {0, 1e6};
inline constexpr Range kScheduleBegin = {0, 1e15};
// Whether schedules of this kind have that key. `after` and `count` may always be left out.
bool schedule_has(ScheduleKind kind, std::string_view key);
inline constexpr std::size_t kMaxHiddenLayers = 32;  // of branches too, and of layers in each

// What is wrong with a spec whose keys are each in range: combinations that make no sense.
std::vector<Violation> spec_violations(const TrainSpec& spec);

}  // namespace hotloop
