#include "session/demonstrations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <hotloop/error.hpp>

#include "algo/common/algorithm.hpp"
#include "core/text.hpp"
#include "env/world_facts.hpp"

namespace hotloop {
namespace {

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw UsageError("replay.demonstrations: " + fmt::format(text, std::forward<Args>(args)...));
}

std::string text_of(const TransitionKind& kind) {
  if (kind.action_size == 0) {
    return fmt::format("observations of {} numbers and {} discrete actions {} masks", kind.obs,
                       kind.actions, kind.masks ? "with" : "without");
  }
  return fmt::format("observations of {} numbers and continuous actions from [{}] to [{}]",
                     kind.obs, fmt::join(kind.action_low, ", "), fmt::join(kind.action_high, ", "));
}

void check_fits(const TransitionFile& file, const TrainSpec& spec) {
  const std::string& path = spec.learn.demonstrations;
  const Demonstrations& t = file.transitions;
  if (const std::string env = recorded_name(spec.env); file.env != env) {
    refuse("{} was recorded in {}; this run is on {}", path, printable(file.env), env);
  }
  const WorldFacts world = world_facts(spec.world());
  const std::string found = text_of(t.kind);
  const std::string allowed = text_of(transition_kind(world.spec, world.masks));
  if (found != allowed) refuse("{} has {}; {} has {}", path, found, spec.env, allowed);
  const std::int64_t capacity = spec.algorithm->replay_capacity(spec);
  if (capacity == 0) refuse("{} has no replay memory", spec.algorithm->name());
  const std::int64_t needed = demonstration_steps(t.size(), spec.envs) * spec.envs;
  if (needed > capacity) {
    throw UsageError(fmt::format(
        "replay.capacity: {} is less than the {} transitions of {}{}; allowed: at least {}",
        capacity, t.size(), path,
        needed > t.size() ? fmt::format(" in whole vector steps of {} (env.count)", spec.envs) : "",
        needed));
  }
}

}  // namespace

std::optional<TransitionFile> read_demonstrations(TrainSpec& spec) {
  const std::string& path = spec.learn.demonstrations;
  if (path.empty()) return {};
  TransitionFile file;
  try {
    file = load_transitions(path);
  } catch (const RunError& error) {
    refuse("{}", error.what());
  }
  check_fits(file, spec);
  const std::string hash = transitions_hash(file);
  std::string& expected = spec.learn.demonstrations_hash;
  if (!expected.empty() && expected != hash) {
    refuse("{} has changed: the hash of its content is {}; replay.demonstrations_hash is {}", path,
           hash, expected);
  }
  expected = hash;
  return file;
}

}  // namespace hotloop
