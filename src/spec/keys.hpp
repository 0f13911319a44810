// All keys of a spec: the general ones are declared here, those of an algorithm in its folder.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "algo/common/key.hpp"
#include "spec/spec.hpp"

namespace hotloop {

// The general keys and those of the algorithm, in the order they are written. Point into `spec`.
Keys spec_keys(TrainSpec& spec);

// The names of the algorithms with this key or group: "dqn, sac"; empty if there are none.
std::string algorithms_with(std::string_view path);

// The path of the key that the user probably meant by `leaf`: a key in the wrong group, two parts
// of a path joined by _, or another library's name. Otherwise empty.
std::string key_elsewhere(std::span<const Key> keys, std::string_view leaf);
// The path of the key or group among `keys` that other libraries call `name`; otherwise empty.
std::string key_of_other_library(std::span<const Key> keys, std::string_view name);

// The keys of a schedule that is not a constant. The key's range applies to `from` and `to`.
inline constexpr std::array<std::string_view, 8> kScheduleKeys = {
    "kind", "from", "to", "over", "factor", "every", "after", "count"};
inline constexpr Range kSchedulePeriod = {1, 1e15};
// `over: run`: the length of the run, once all keys have been read.
inline constexpr std::int64_t kWholeRun = 0;
inline constexpr Range kScheduleFactor = {0, 1e6};
inline constexpr Range kScheduleBegin = {0, 1e15};
// Whether schedules of this kind have this key. `after` and `count` are always optional.
bool schedule_has(ScheduleKind kind, std::string_view key);
inline constexpr std::size_t kMaxHiddenLayers = 32;  // also of branches, and of layers in each

// Combinations of keys that make no sense, in a spec whose keys are each in range.
std::vector<Violation> spec_violations(const TrainSpec& spec);

}  // namespace hotloop
