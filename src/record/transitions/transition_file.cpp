#include "record/transitions/transition_file.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <new>

#include <hotloop/error.hpp>

#include "core/text.hpp"
#include "env/file/world_file.hpp"
#include "record/json_fields.hpp"
#include "record/safetensors.hpp"

namespace hotloop {
namespace {

constexpr const char* kTransitionFormat = "hotloop-transitions-1";
constexpr std::int64_t kMaxTransitions = std::int64_t{1} << 32;

Json kind_to_json(const std::string& env, const TransitionKind& kind) {
  return {{"name", env},
          {"obs", kind.obs},
          {"actions", kind.actions},
          {"action_size", kind.action_size},
          {"mask", kind.masks},
          {"action_low", kind.action_low},
          {"action_high", kind.action_high}};
}

std::vector<float> bounds_in(const JsonField& from, int size) {
  const std::vector<JsonField> items = from.items();
  if (std::ssize(items) != size) {
    from.fail(fmt::format("expected {} bounds, one per action value", size));
  }
  std::vector<float> bounds(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) items[i].read(bounds[i]);
  return bounds;
}

void read_kind(const JsonField& from, TransitionFile& file) {
  constexpr int kMaxSize = 1 << 24;  // as for models
  TransitionKind& kind = file.transitions.kind;
  from["name"].read(file.env);
  kind.obs = from["obs"].integer_in(1, kMaxSize);
  kind.actions = from["actions"].integer_in(0, kMaxSize);
  kind.action_size = from["action_size"].integer_in(0, kMaxActionSize);
  if ((kind.actions > 0) == (kind.action_size > 0)) {
    from["actions"].fail("expected either discrete or continuous actions");
  }
  from["mask"].read(kind.masks);
  if (kind.masks && kind.actions == 0) from["mask"].fail("only discrete actions have masks");
  kind.action_low = bounds_in(from["action_low"], kind.action_size);
  kind.action_high = bounds_in(from["action_high"], kind.action_size);
}

// Calls v(name, array, width of a row, whether there is a row per episode, limits) for each array
// that transitions of this kind have.
template <class Transitions, class Visitor>
void visit_arrays(Transitions& t, Visitor&& v) {
  const TransitionKind& kind = t.kind;
  v("obs", t.obs, kind.obs, false, Limits::finite());
  if (kind.action_size > 0) {
    v("actions", t.continuous_actions, kind.action_size, false, Limits::finite());
  } else {
    v("actions", t.actions, 0, false, Limits::index_below(kind.actions));
  }
  v("rewards", t.rewards, 0, false, Limits::finite());
  v("terminated", t.terminated, 0, false, Limits::flags());
  v("truncated", t.truncated, 0, false, Limits::flags());
  v("final_obs", t.final_obs, kind.obs, true, Limits::finite());
  if (!kind.masks) return;
  v("mask", t.mask, kind.actions, false, Limits::flags());
  v("final_mask", t.final_mask, kind.actions, true, Limits::flags());
}

Shape shape_of(std::int64_t rows, int width) {
  return width > 0 ? Shape{rows, width} : Shape{rows};
}

// The rows that a tensor claims to have.
std::int64_t rows_of(const Safetensors& file, const std::string& path, const char* name,
                     std::int64_t most) {
  const Shape& shape = file.shape(name);
  if (!shape.empty() && shape[0] >= 1 && shape[0] <= most) return shape[0];
  throw RunError(fmt::format("{}: tensor \"{}\": {} rows; allowed: 1 to {}", path, name,
                             shape.empty() ? 0 : shape[0], most));
}

}  // namespace

std::string recorded_name(const std::string& env) {
  if (is_world_file(env)) return std::filesystem::path(env).filename().string();
  return env.starts_with("python:") ? env.substr(0, env.find('@')) : env;
}

void save_transitions(const std::string& path, const TransitionFile& file) {
  const Demonstrations& t = file.transitions;
  std::vector<TensorView> views;
  visit_arrays(
      t, [&](const char* name, const auto& array, int width, bool is_final, const Limits& limits) {
        if (const auto at = limits.first_outside(std::span(array))) {
          throw RunError(fmt::format("{}: not written: number {} of {} is {}; allowed: {}", path,
                                     *at, name, array[*at], limits.text()));
        }
        views.push_back(
            tensor(name, std::span(array), shape_of(is_final ? t.episodes() : t.size(), width)));
      });
  write_safetensors(
      path, views, {{"format", kTransitionFormat}, {"env", kind_to_json(file.env, t.kind).dump()}});
}

TransitionFile load_transitions(const std::string& path) {
  return load_transitions(Safetensors(path), path);
}

TransitionFile load_transitions(const Safetensors& from, const std::string& path) {
  if (from.metadata("format") != kTransitionFormat) {
    throw RunError(fmt::format("{}: format '{}', expected transitions ('{}')", path,
                               printable(from.metadata("format")), kTransitionFormat));
  }
  TransitionFile file;
  Demonstrations& t = file.transitions;
  const Json kind = parse_json(from.metadata("env"), path + ": env");
  read_kind(JsonField(kind, path, "env"), file);
  const std::int64_t count = rows_of(from, path, "rewards", kMaxTransitions);
  const std::int64_t episodes = rows_of(from, path, "final_obs", count);
  std::size_t arrays = 0;
  visit_arrays(t, [&](const char* name, auto& array, int width, bool is_final, const Limits&) {
    using T = typename std::remove_reference_t<decltype(array)>::value_type;
    from.expect(name, dtype_of<T>(), shape_of(is_final ? episodes : count, width));
    ++arrays;
  });
  if (from.names().size() != arrays) {
    throw RunError(fmt::format("{}: {} tensors; expected {}", path, from.names().size(), arrays));
  }
  // The file really has these numbers, so memory is taken only now.
  visit_arrays(t,
               [&](const char* name, auto& array, int width, bool is_final, const Limits& limits) {
                 array.resize((is_final ? episodes : count) * std::max(1, width));
                 from.copy(name, std::span(array), limits);
               });
  check_transitions(t, path);
  return file;
}

void check_transitions(const Demonstrations& t, const std::string& place) {
  const auto fail = [&](std::int64_t at, const std::string& what) {
    throw RunError(fmt::format("{}: transition {}: {}", place, at, what));
  };
  const TransitionKind& kind = t.kind;
  const auto row_of = [&](const std::vector<std::uint8_t>& masks, std::int64_t row) {
    return std::span(masks).subspan(row * kind.actions, kind.actions);
  };
  const auto allows_none = [](std::span<const std::uint8_t> mask) {
    return std::find(mask.begin(), mask.end(), 1) == mask.end();
  };
  std::int64_t ended = 0;
  for (std::int64_t at = 0; at < t.size(); ++at) {
    if (t.terminated[at] != 0 && t.truncated[at] != 0) fail(at, "is both terminated and truncated");
    for (int i = 0; i < kind.action_size; ++i) {
      const float action = t.continuous_actions[at * kind.action_size + i];
      if (action >= kind.action_low[i] && action <= kind.action_high[i]) continue;
      fail(at, fmt::format("value {} of its action is {}; allowed: {} to {}", i, action,
                           kind.action_low[i], kind.action_high[i]));
    }
    if (kind.masks && row_of(t.mask, at)[t.actions[at]] == 0) {
      fail(at, fmt::format("its mask does not allow its action {}", t.actions[at]));
    }
    if (!t.ends_episode(at)) continue;
    if (++ended > t.episodes()) break;
    if (kind.masks && allows_none(row_of(t.final_mask, ended - 1))) {
      fail(at, "its final mask allows no action");
    }
  }
  if (ended != t.episodes()) {
    throw RunError(fmt::format("{}: {} episodes end, but there are {} final observations", place,
                               ended, t.episodes()));
  }
  if (!t.ends_episode(t.size() - 1)) fail(t.size() - 1, "is the last one, but ends no episode");
}

std::string transitions_hash(const TransitionFile& file) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              &XXH3_freeState);
  if (!state) throw std::bad_alloc();
  XXH3_64bits_reset(state.get());
  const auto add = [&](const auto& values) {
    XXH3_64bits_update(state.get(), values.data(), values.size() * sizeof(values[0]));
  };
  add(kind_to_json(file.env, file.transitions.kind).dump());
  visit_arrays(file.transitions,
               [&](const char*, const auto& array, int, bool, const Limits&) { add(array); });
  return fmt::format("{:016x}", XXH3_64bits_digest(state.get()));
}

}  // namespace hotloop
