// The engine's environments for Python: a batch with auto-reset, and a single environment without
// auto-reset. Results are written directly into the caller's arrays.
//
// Small batches keep the interpreter lock: a step takes less time than releasing and taking it.
// Larger batches release it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "arrays.hpp"
#include "draw/picture_text.hpp"
#include "env/batch_env.hpp"
#include "env/file/world_file.hpp"
#include "env/options.hpp"
#include "env/registry.hpp"
#include "env/vector_worlds.hpp"

namespace hotloop::python {
namespace {

template <class T, class... Shape>
using Out = nb::ndarray<T, nb::device::cpu, nb::c_contig, Shape...>;
using Rows = Out<float, nb::ndim<2>>;
using Column = Out<float, nb::ndim<1>>;
using Flags = Out<bool, nb::ndim<1>>;

constexpr int kRowsWorthReleasing = 64;

std::unique_ptr<Worlds> worlds_for_python(const std::string& name, const EnvOptions& options,
                                          int count) {
  if (count < 1) throw UsageError(fmt::format("num_envs is {}; allowed: 1 or more", count));
  EnvOptions sorted = options;
  std::sort(sorted.begin(), sorted.end());
  const nb::gil_scoped_release unlocked;  // a file may have to be compiled
  if (is_world_file(name)) {
    trust_named(name);
    env_registry().forget(name);  // the file may have changed
  }
  return make_worlds({name, std::move(sorted)}, count);
}

// Copies into an array that Python owns.
template <class T>
nb::ndarray<nb::numpy, T> array_of(std::span<const T> values,
                                   std::initializer_list<std::size_t> shape) {
  auto copy = std::make_unique<T[]>(values.size());
  std::copy(values.begin(), values.end(), copy.get());
  nb::capsule owner(copy.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<nb::numpy, T>(copy.release(), shape, owner);
}

nb::object picture_array(const Picture& picture) {
  if (picture.width == 0) return nb::none();
  return nb::cast(array_of<std::uint8_t>(
      picture.rgb,
      {static_cast<std::size_t>(picture.height), static_cast<std::size_t>(picture.width), 3}));
}

// Narrow enough for most terminals.
std::string text_of(const Picture& picture) { return picture_text(fitted(picture, 80)); }

nb::dict spec_dict(const Worlds& worlds) {
  const EnvSpec& spec = worlds.spec();
  nb::dict d;
  nb::list low, high, measures, parts;
  for (int i = 0; i < spec.action_size; ++i) {
    low.append(spec.action_low[i]);
    high.append(spec.action_high[i]);
  }
  for (int i = 0; i < spec.measure_count(); ++i) measures.append(std::string(spec.measures[i]));
  for (const ObsPart& part : spec.parts) {
    if (part.name.empty()) break;
    nb::list shape;
    for (int extent : part.shape) {
      if (extent > 0) shape.append(extent);
    }
    parts.append(nb::make_tuple(std::string(part.name), nb::tuple(shape)));
  }
  d["name"] = std::string(spec.name);
  d["obs"] = spec.obs;
  d["actions"] = spec.actions;
  d["action_low"] = low;
  d["action_high"] = high;
  d["max_steps"] = spec.max_steps;
  d["solved_return"] = spec.solved_return;
  d["parts"] = parts;
  d["measures"] = measures;
  d["has_mask"] = worlds.has_mask();
  return d;
}

// N environments. Result arrays are only accessed during the call that passes them.
class Batch {
 public:
  Batch(const std::string& name, const EnvOptions& options, int count, int threads)
      : env_(worlds_for_python(name, options, count), count, 0, Purpose::world),
        team_(threads),
        actions_(env_.spec(), count) {}

  const BatchEnv& env() const { return env_; }
  nb::dict spec() const { return spec_dict(env_.worlds()); }

  void reset(std::uint64_t seed, Rows obs, Column rewards, Flags terminated, Flags truncated) {
    show_in(obs, rewards, terminated, truncated);
    env_.set_seed(seed);
    env_.reset();
  }

  // Returns how many episodes ended.
  std::size_t step(const AnyArray& actions, Rows obs, Column rewards, Flags terminated,
                   Flags truncated) {
    if (env_.spec().actions > 0) {
      read_discrete(actions, env_.spec().actions, env_.mask(), actions_.discrete);
    } else {
      read_continuous(actions, env_.spec().action_size, actions_.continuous);
    }
    show_in(obs, rewards, terminated, truncated);
    if (env_.count() >= kRowsWorthReleasing) {
      const nb::gil_scoped_release unlocked;
      env_.step(actions_, team_);
    } else {
      env_.step(actions_, team_);
    }
    return env_.finished().size();
  }

  nb::object mask() const {
    if (!env_.has_mask()) return nb::none();
    return nb::cast(array_of<std::int8_t>(as_signed(env_.mask()), {rows(), actions()}));
  }
  // The K episodes that ended in the latest step, in row order: rows [K], final observations [K,
  // D], returns [K], lengths [K], measures [K, M], final masks [K, A] or None.
  nb::tuple ended() const {
    const std::size_t count = env_.finished().size();
    const auto width = static_cast<std::size_t>(env_.spec().obs);
    const auto measured = static_cast<std::size_t>(env_.spec().measure_count());
    std::vector<std::int64_t> at, lengths;
    std::vector<float> final_obs, measures;
    std::vector<double> returns;
    std::vector<std::int8_t> masks;
    for (std::size_t row = 0; row < rows(); ++row) {
      if ((env_.terminated()[row] | env_.truncated()[row]) == 0) continue;
      const Episode& episode = env_.finished()[at.size()];
      at.push_back(static_cast<std::int64_t>(row));
      returns.push_back(episode.total_return);
      lengths.push_back(episode.length);
      measures.insert(measures.end(), episode.measures.begin(),
                      episode.measures.begin() + static_cast<std::ptrdiff_t>(measured));
      const auto obs = env_.final_obs().subspan(row * width, width);
      final_obs.insert(final_obs.end(), obs.begin(), obs.end());
      if (!env_.has_mask()) continue;
      const auto mask = env_.final_mask().subspan(row * actions(), actions());
      masks.insert(masks.end(), mask.begin(), mask.end());
    }
    nb::object final_masks = nb::none();
    if (env_.has_mask()) final_masks = nb::cast(array_of<std::int8_t>(masks, {count, actions()}));
    return nb::make_tuple(
        array_of<std::int64_t>(at, {count}), array_of<float>(final_obs, {count, width}),
        array_of<double>(returns, {count}), array_of<std::int64_t>(lengths, {count}),
        array_of<float>(measures, {count, measured}), final_masks);
  }

  nb::object picture(int row) const { return picture_array(env_.worlds().picture(row)); }
  std::string text(int row) const { return text_of(env_.worlds().picture(row)); }

 private:
  std::size_t rows() const { return static_cast<std::size_t>(env_.count()); }
  std::size_t actions() const { return static_cast<std::size_t>(env_.spec().actions); }

  static std::span<const std::int8_t> as_signed(std::span<const std::uint8_t> flags) {
    return {reinterpret_cast<const std::int8_t*>(flags.data()), flags.size()};
  }

  void show_in(Rows& obs, Column& rewards, Flags& terminated, Flags& truncated) {
    const std::size_t n = rows();
    const auto width = static_cast<std::size_t>(env_.spec().obs);
    if (obs.shape(0) != n || obs.shape(1) != width || rewards.shape(0) != n ||
        terminated.shape(0) != n || truncated.shape(0) != n) {
      throw UsageError("the arrays for the results have the wrong shape");
    }
    static_assert(sizeof(bool) == 1);
    const auto flags = [n](Flags& f) {
      return std::span<std::uint8_t>(reinterpret_cast<std::uint8_t*>(f.data()), n);
    };
    env_.show_in({.obs = {obs.data(), n * width},
                  .rewards = {rewards.data(), n},
                  .terminated = flags(terminated),
                  .truncated = flags(truncated)});
  }

  BatchEnv env_;
  ThreadTeam team_;
  Actions actions_;
};

// One environment without auto-reset. It uses the random streams of row 0 of a batch, so the first
// episode of a seed is the same in both.
class Single {
 public:
  Single(const std::string& name, const EnvOptions& options)
      : owner_(worlds_for_python(name, options, 1)),
        worlds_(one_row(*owner_, name)),
        actions_(worlds_->spec(), 1),
        mask_(worlds_->has_mask() ? worlds_->spec().actions : 0) {
    worlds_->clear();
  }

  nb::dict spec() const { return spec_dict(*worlds_); }

  void reset(std::uint64_t seed, Column obs) {
    seed_ = seed;
    steps_ = 0;
    worlds_->clear();
    Rng rng(seed_, Purpose::world, 0, 0);
    worlds_->reset(0, rng);
    observe(obs);
  }

  // Reward, terminated, truncated.
  nb::tuple step(const AnyArray& action, Column obs) {
    const EnvSpec& s = worlds_->spec();
    float reward = 0;
    std::uint8_t terminated = 0;
    const std::span<float> rewards(&reward, 1);
    const std::span<std::uint8_t> flags(&terminated, 1);
    if (s.actions > 0) {
      read_discrete(action, s.actions, mask_, actions_.discrete);
    } else {
      read_continuous(action, s.action_size, actions_.continuous);
    }
    worlds_->step(0, 1, actions_, seed_, Purpose::world, ++steps_, rewards, flags);
    observe(obs);
    const bool out_of_time = s.max_steps > 0 && steps_ >= static_cast<std::uint64_t>(s.max_steps);
    return nb::make_tuple(static_cast<double>(reward), terminated != 0,
                          terminated == 0 && out_of_time);
  }

  nb::object mask() const {
    if (mask_.empty()) return nb::none();
    const auto* flags = reinterpret_cast<const std::int8_t*>(mask_.data());
    return nb::cast(array_of<std::int8_t>({flags, mask_.size()}, {mask_.size()}));
  }
  std::vector<float> measures() const {
    std::vector<float> values(static_cast<std::size_t>(worlds_->spec().measure_count()));
    worlds_->measure(0, values);
    return values;
  }

  // The world's own bytes, then its step and seed, which determine its random numbers.
  nb::bytes state() const {
    std::vector<std::byte> bytes(worlds_->row_bytes() + sizeof(steps_) + sizeof(seed_));
    worlds_->save_row(0, bytes.data());
    std::byte* at = bytes.data() + worlds_->row_bytes();
    std::memcpy(at, &steps_, sizeof(steps_));
    std::memcpy(at + sizeof(steps_), &seed_, sizeof(seed_));
    return nb::bytes(bytes.data(), bytes.size());
  }
  // Takes all of that, or only the world's own bytes, which leaves step and seed unchanged.
  void set_state(const nb::bytes& from, Column obs) {
    const std::size_t own = worlds_->row_bytes();
    const std::size_t all = own + sizeof(steps_) + sizeof(seed_);
    if (from.size() != own && from.size() != all) {
      throw UsageError(
          fmt::format("the state has {} bytes; allowed: {}, as returned by get_state(), or {}, "
                      "the environment without step and seed",
                      from.size(), all, own));
    }
    const auto* bytes = static_cast<const std::byte*>(from.data());
    if (!worlds_->restore_row(0, bytes)) {
      throw UsageError(fmt::format("these bytes are not a state that {} can continue from",
                                   worlds_->spec().name));
    }
    if (from.size() == all) {
      std::memcpy(&steps_, bytes + own, sizeof(steps_));
      std::memcpy(&seed_, bytes + own + sizeof(steps_), sizeof(seed_));
    }
    observe(obs);
  }

  nb::object picture() const { return picture_array(worlds_->picture(0)); }
  std::string text() const { return text_of(worlds_->picture(0)); }

 private:
  void observe(Column& obs) {
    const auto width = static_cast<std::size_t>(worlds_->spec().obs);
    if (obs.shape(0) != width)
      throw UsageError("the array for the observation has the wrong shape");
    worlds_->observe(0, 1, {obs.data(), width});
    if (!mask_.empty()) worlds_->mask(0, 1, mask_);
  }

  static WorldArray* one_row(Worlds& worlds, const std::string& name) {
    const Stepping stepping = worlds.stepping();
    if (const auto* rows = std::get_if<WorldArray*>(&stepping)) return *rows;
    throw UsageError(fmt::format("{} is a Python environment: use it directly", name));
  }

  std::unique_ptr<Worlds> owner_;
  WorldArray* worlds_;
  Actions actions_;
  std::vector<std::uint8_t> mask_;
  std::uint64_t seed_ = 0, steps_ = 0;
};

}  // namespace

void bind_envs(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Batch>(m, "Batch", "N environments of the engine, with auto-reset.")
      .def(nb::init<const std::string&, const EnvOptions&, int, int>(), "name"_a, "options"_a,
           "count"_a, "threads"_a)
      .def_prop_ro("spec", &Batch::spec)
      .def("reset", &Batch::reset, "seed"_a, "obs"_a, "rewards"_a, "terminated"_a, "truncated"_a)
      .def("step", &Batch::step, "actions"_a, "obs"_a, "rewards"_a, "terminated"_a, "truncated"_a)
      .def("mask", &Batch::mask)
      .def("ended", &Batch::ended)
      .def("picture", &Batch::picture, "row"_a)
      .def("text", &Batch::text, "row"_a);
  nb::class_<Single>(m, "Single", "One environment of the engine, without auto-reset.")
      .def(nb::init<const std::string&, const EnvOptions&>(), "name"_a, "options"_a)
      .def_prop_ro("spec", &Single::spec)
      .def("reset", &Single::reset, "seed"_a, "obs"_a)
      .def("step", &Single::step, "action"_a, "obs"_a)
      .def("mask", &Single::mask)
      .def("measures", &Single::measures)
      .def("state", &Single::state)
      .def("set_state", &Single::set_state, "state"_a, "obs"_a)
      .def("picture", &Single::picture)
      .def("text", &Single::text);
}

}  // namespace hotloop::python
