// Python environments inside the engine.
//
// A driver (hotloop/_drivers.py) steps all rows in one Python call. It reads actions from and
// writes results into NumPy arrays that view the engine's own memory, so nothing is copied.
//
// The seed of row r's episode k is a function of (seed, purpose, r, k) alone. That seed and the
// actions since determine what an environment does. Checkpoints save both, and a resumed run
// replays each episode. If the replay does not give the same observations and rewards, the
// environment has other state. Then new episodes start with a warning, and the interrupted ones
// count as truncated. A driver whose environments are seeded only once (EnvPool) gets there from
// the seed of the first episode, by resetting k times.
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <hotloop/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <string>

#include "bindings.hpp"
#include "env/registry.hpp"
#include "env/vector_worlds.hpp"

namespace hotloop::python {
namespace {

// The facts about a Python environment; lives as long as the process.
struct PythonEnv {
  std::string name;               // in the registry
  std::deque<std::string> names;  // owns the strings that `spec` refers to
  std::string notes;              // for model files: how observations become rows
  EnvSpec spec;
  bool has_mask = false;
  nb::object make_driver;  // (count, is for training) -> driver
};

// A NumPy array that views the engine's memory; an empty span becomes None.
template <class T>
nb::object view_of(std::span<T> memory, int rows) {
  if (memory.empty()) return nb::none();
  const auto width = memory.size() / static_cast<std::size_t>(rows);
  const std::size_t shape[2] = {static_cast<std::size_t>(rows), width};
  return nb::cast(nb::ndarray<nb::numpy, T>(memory.data(), 2, shape, nb::handle()),
                  nb::rv_policy::reference);
}
template <class T>
nb::object column_of(std::span<T> memory) {
  const std::size_t shape[1] = {memory.size()};
  return nb::cast(nb::ndarray<nb::numpy, T>(memory.data(), 1, shape, nb::handle()),
                  nb::rv_policy::reference);
}

template <class T>
void append(std::vector<std::byte>& to, std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

class PythonWorlds final : public VectorWorlds {
 public:
  PythonWorlds(const PythonEnv& env, int count)
      : env_(env),
        count_(count),
        episodes_(count),
        seeds_(count),
        lengths_(count),
        returns_(count),
        discrete_(env.spec.actions > 0 ? count : 0),
        continuous_(static_cast<std::size_t>(count) * env.spec.action_size),
        taken_discrete_(discrete_.size()),
        taken_continuous_(continuous_.empty() ? 0 : count) {}

  ~PythonWorlds() override {
    if (!driver_.is_valid()) return;
    const nb::gil_scoped_acquire lock;
    try {
      driver_.attr("close")();
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("closing an environment");
    }
    step_.reset();
    driver_.reset();
  }

  const EnvSpec& spec() const override { return env_.spec; }
  bool has_mask() const override { return env_.has_mask; }
  std::string notes() const override { return env_.notes; }

  void begin(std::uint64_t seed, Purpose purpose, const VectorResults& to) override {
    const nb::gil_scoped_acquire lock;
    prepare(seed, purpose, to);
    std::fill(episodes_.begin(), episodes_.end(), 0);
    for (int row = 0; row < count_; ++row) begin_record(row);
    cut_ = false;
    driver_.attr("begin")();
    for (int row = 0; row < count_; ++row) plan_next(row);
  }

  void step_all(const ActionRows& actions, const VectorResults& to) override {
    if (cut_) return cut(to);
    std::copy(actions.discrete.begin(), actions.discrete.end(), discrete_.begin());
    std::copy(actions.continuous.begin(), actions.continuous.end(), continuous_.begin());
    for (int row = 0; row < count_; ++row) record(row);
    {
      const nb::gil_scoped_acquire lock;
      if (!is_bound(to)) bind(to);
      step_();
    }
    for (int row = 0; row < count_; ++row) {
      returns_[row] += to.rewards[row];
      if ((to.terminated[row] | to.truncated[row]) == 0) continue;
      ++episodes_[row];
      begin_record(row);
      plan_next(row);
    }
  }

  // Episode and length of each row, observations, masks, actions of the episodes so far, returns.
  std::vector<std::byte> save_all() const override {
    std::vector<std::byte> state;
    append(state, std::span<const std::int64_t>(episodes_));
    append(state, std::span<const std::int64_t>(lengths_));
    append(state, std::span<const float>(shown_.obs));
    append(state, std::span<const std::uint8_t>(shown_.mask));
    for (const auto& actions : taken_discrete_)
      append(state, std::span<const std::int32_t>(actions));
    for (const auto& actions : taken_continuous_) append(state, std::span<const float>(actions));
    append(state, std::span<const double>(returns_));
    return state;
  }

  void restore_all(std::uint64_t seed, Purpose purpose, std::span<const std::byte> from,
                   const VectorResults& to) override {
    const nb::gil_scoped_acquire lock;
    prepare(seed, purpose, to);
    read(from, std::span<std::int64_t>(episodes_));
    read(from, std::span<std::int64_t>(lengths_));
    std::vector<float> obs(to.obs.size());
    std::vector<std::uint8_t> mask(to.mask.size());
    read(from, std::span<float>(obs));
    read(from, std::span<std::uint8_t>(mask));
    for (int row = 0; row < count_; ++row) {
      seeds_[row] = seed_of(row, episodes_[row]);
      // An action has at least four bytes, so the file limits the memory that it can ask for.
      if (episodes_[row] < 0 || lengths_[row] < 0 ||
          static_cast<std::uint64_t>(lengths_[row]) > from.size() / sizeof(float)) {
        throw RunError("the saved state of " + env_.name + " has a wrong number of steps");
      }
      const auto length = static_cast<std::size_t>(lengths_[row]);
      if (!discrete_.empty()) {
        taken_discrete_[row].resize(length);
        read(from, std::span<std::int32_t>(taken_discrete_[row]));
        for (const std::int32_t action : taken_discrete_[row]) {
          if (action >= 0 && action < env_.spec.actions) continue;
          throw RunError("the saved state of " + env_.name + " has the action " +
                         std::to_string(action));
        }
      } else {
        taken_continuous_[row].resize(length * env_.spec.action_size);
        read(from, std::span<float>(taken_continuous_[row]));
        for (const float action : taken_continuous_[row]) {
          if (std::isfinite(action)) continue;
          throw RunError("the saved state of " + env_.name + " has the action " +
                         std::to_string(action));
        }
      }
    }
    const bool has_returns = !from.empty();  // checkpoints before 0.8 have none
    if (has_returns) read(from, std::span<double>(returns_));
    if (!repeat(has_returns) || !std::equal(obs.begin(), obs.end(), to.obs.begin())) {
      nb::module_::import_("warnings")
          .attr("warn")((env_.name +
                         " could not replay its episodes: new episodes start, so this run does not "
                         "continue bit for bit")
                            .c_str());
      std::copy(obs.begin(), obs.end(), to.obs.begin());
      std::copy(mask.begin(), mask.end(), to.mask.begin());
      cut_ = true;
    }
    for (int row = 0; row < count_; ++row) plan_next(row);
  }

 private:
  // Needs the interpreter lock.
  void prepare(std::uint64_t seed, Purpose purpose, const VectorResults& to) {
    seed_ = seed;
    purpose_ = purpose;
    for (int row = 0; row < count_; ++row) seeds_[row] = seed_of(row, 0);
    if (!driver_.is_valid()) driver_ = env_.make_driver(count_, purpose == Purpose::world);
    if (!is_bound(to)) bind(to);
  }

  bool is_bound(const VectorResults& to) const {
    return step_.is_valid() && shown_.obs.data() == to.obs.data() &&
           shown_.rewards.data() == to.rewards.data() &&
           shown_.terminated.data() == to.terminated.data() &&
           shown_.truncated.data() == to.truncated.data();
  }

  void bind(const VectorResults& to) {
    shown_ = to;
    driver_.attr("bind")(view_of(to.obs, count_), view_of(to.final_obs, count_),
                         column_of(to.rewards), column_of(to.terminated), column_of(to.truncated),
                         view_of(to.mask, count_), view_of(to.final_mask, count_),
                         column_of(std::span<std::int64_t>(seeds_)),
                         discrete_.empty() ? view_of(std::span<float>(continuous_), count_)
                                           : column_of(std::span<std::int32_t>(discrete_)));
    step_ = driver_.attr("step");
  }

  // Truncates the interrupted episodes, and starts a new one in every row.
  void cut(const VectorResults& to) {
    std::copy(to.obs.begin(), to.obs.end(), to.final_obs.begin());
    std::copy(to.mask.begin(), to.mask.end(), to.final_mask.begin());
    for (int row = 0; row < count_; ++row) {
      ++episodes_[row];
      begin_record(row);
      seeds_[row] = seed_of(row, episodes_[row]);
    }
    {
      const nb::gil_scoped_acquire lock;
      driver_.attr("begin")();
    }
    std::fill(to.rewards.begin(), to.rewards.end(), 0.0f);
    std::fill(to.terminated.begin(), to.terminated.end(), std::uint8_t{0});
    std::fill(to.truncated.begin(), to.truncated.end(), std::uint8_t{1});
    for (int row = 0; row < count_; ++row) plan_next(row);
    cut_ = false;
  }

  // Replays the actions of every row. Returns whether no episode ended and the rewards were the
  // same. Needs the interpreter lock.
  bool repeat(bool has_returns) {
    std::vector<std::int64_t> first_seeds(count_);
    for (int row = 0; row < count_; ++row) first_seeds[row] = seed_of(row, 0);
    if (!nb::cast<bool>(driver_.attr("rewind")(first_seeds, episodes_))) return false;
    for (int row = 0; row < count_; ++row) {
      const nb::object actions =
          discrete_.empty()
              ? (taken_continuous_[row].empty() ? nb::object(nb::list())
                                                : view_of(std::span<float>(taken_continuous_[row]),
                                                          static_cast<int>(lengths_[row])))
              : column_of(std::span<std::int32_t>(taken_discrete_[row]));
      const nb::object rewards = driver_.attr("repeat")(row, actions);
      if (rewards.is_none()) return false;
      if (!has_returns) {
        returns_[row] = nb::cast<double>(rewards);
      } else if (returns_[row] != nb::cast<double>(rewards)) {
        return false;
      }
    }
    return true;
  }

  std::int64_t seed_of(int row, std::int64_t episode) const {
    return Rng(seed_, purpose_, static_cast<std::uint32_t>(row),
               static_cast<std::uint64_t>(episode))
               .bits() >>
           1;  // some environments accept only 31 bits
  }
  void plan_next(int row) { seeds_[row] = seed_of(row, episodes_[row] + 1); }

  void begin_record(int row) {
    lengths_[row] = 0;
    returns_[row] = 0;
    if (!discrete_.empty()) taken_discrete_[row].clear();
    if (!continuous_.empty()) taken_continuous_[row].clear();
  }
  void record(int row) {
    ++lengths_[row];
    if (!discrete_.empty()) taken_discrete_[row].push_back(discrete_[row]);
    const auto size = static_cast<std::size_t>(env_.spec.action_size);
    if (size == 0) return;
    const float* action = continuous_.data() + row * size;
    taken_continuous_[row].insert(taken_continuous_[row].end(), action, action + size);
  }

  template <class T>
  void read(std::span<const std::byte>& from, std::span<T> to) const {
    if (from.size() < to.size_bytes()) {
      throw RunError("the saved state of " + env_.name + " ends too early");
    }
    if (!to.empty()) std::memcpy(to.data(), from.data(), to.size_bytes());
    from = from.subspan(to.size_bytes());
  }

  const PythonEnv& env_;
  int count_;
  std::uint64_t seed_ = 0;
  Purpose purpose_ = Purpose::world;
  bool cut_ = false;                            // the next step starts new episodes
  VectorResults shown_;                         // what the driver's arrays view
  std::vector<std::int64_t> episodes_, seeds_;  // [N] number of the episode; seed of the next
  std::vector<std::int64_t> lengths_;           // [N] steps of the episode so far
  std::vector<double> returns_;                 // [N] sum of their rewards
  std::vector<std::int32_t> discrete_;          // [N] actions of this step, or empty
  std::vector<float> continuous_;               // [N, K] actions of this step, or empty
  std::vector<std::vector<std::int32_t>> taken_discrete_;  // [N][length] of the episode so far
  std::vector<std::vector<float>> taken_continuous_;       // [N][length, K]
  nb::object driver_, step_;
};

PythonEnv* env_from(const std::string& name, const nb::dict& facts, nb::object make_driver) {
  auto* env = new PythonEnv{.name = name,
                            .names = {},
                            .notes = nb::cast<std::string>(facts["notes"]),
                            .spec = {},
                            .make_driver = make_driver};
  EnvSpec& spec = env->spec;
  spec.name = env->names.emplace_back(nb::cast<std::string>(facts["label"]));
  spec.obs = nb::cast<int>(facts["obs"]);
  spec.actions = nb::cast<int>(facts["actions"]);
  spec.solved_return = nb::cast<double>(facts["solved_return"]);
  env->has_mask = nb::cast<bool>(facts["mask"]);
  const auto low = nb::cast<std::vector<float>>(facts["action_low"]);
  const auto high = nb::cast<std::vector<float>>(facts["action_high"]);
  spec.action_size = static_cast<int>(low.size());
  std::copy(low.begin(), low.end(), spec.action_low.begin());
  std::copy(high.begin(), high.end(), spec.action_high.begin());
  std::size_t n = 0;
  using Part = std::pair<std::string, std::array<int, 3>>;
  for (const Part& part : nb::cast<std::vector<Part>>(facts["parts"])) {
    spec.parts.at(n++) = {env->names.emplace_back(part.first), part.second};
  }
  return env;
}

// Never freed: the registry refers to them until the process ends, after Python is gone. Their
// Python objects are released earlier.
std::vector<PythonEnv*>& envs() {
  static std::vector<PythonEnv*> all;
  return all;
}

}  // namespace

void bind_worlds(nb::module_& m) {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    for (PythonEnv* env : envs()) env->make_driver.reset();
  }));
  m.def(
      "register_env",
      [](const std::string& name, const nb::dict& facts, nb::object make_driver) {
        const PythonEnv* env = envs().emplace_back(env_from(name, facts, std::move(make_driver)));
        const auto make = [env](int count) { return std::make_unique<PythonWorlds>(*env, count); };
        env_registry().put(name, {.spec = &env->spec, .other_maker = make});
      },
      nb::arg("name"), nb::arg("facts"), nb::arg("make_driver"),
      "Registers a Python environment with the engine.");
  m.def(
      "forget_env",
      [](const std::string& name) {
        env_registry().forget(name);
        for (PythonEnv* env : envs()) {
          if (env->name == name) env->make_driver.reset();
        }
      },
      nb::arg("name"), "Releases a Python environment that is no longer played.");
}

}  // namespace hotloop::python
