// A trained model that acts on arrays of observations, from any number of threads at once.
//
// The memory of a policy is sized for a number of rows. So there is a pool of policies, for powers
// of two up to kMaxRows rows: a call takes a free one or makes one, and puts it back. Larger
// batches are split. The interpreter lock is released meanwhile.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "algo/common/algorithm.hpp"
#include "arrays.hpp"
#include "core/file.hpp"
#include "record/saved_model.hpp"
#include "record/transitions/transition_file.hpp"

namespace hotloop::python {
namespace {

constexpr std::size_t kMaxRows = 256;

using Observations = nb::ndarray<const float, nb::device::cpu, nb::c_contig, nb::ndim<2>>;
using Masks = nb::ndarray<const std::uint8_t, nb::device::cpu, nb::c_contig, nb::ndim<2>>;

template <class T>
using Result = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

// Memory that becomes a NumPy array.
template <class T>
struct Table {
  Table(std::size_t row_count, std::size_t row_width)
      : rows(row_count), width(row_width), values(std::make_unique<T[]>(rows * width)) {}

  T* row(std::size_t i) { return values.get() + i * width; }
  Result<T> release() {
    nb::capsule owner(values.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Result<T>(values.release(), {rows, width}, owner);
  }

  std::size_t rows, width;
  std::unique_ptr<T[]> values;
};

class PolicyPool {
 public:
  explicit PolicyPool(const SavedModel& saved) : saved_(saved) {}

  // Calls body(policy) with a policy for n rows that no other thread uses.
  template <class Body>
  void use(std::size_t rows, Body&& body) {
    std::unique_ptr<GreedyPolicy> policy = take(rows);
    body(*policy);
    const std::lock_guard lock(mutex_);
    free_[rows].push_back(std::move(policy));
  }

 private:
  std::unique_ptr<GreedyPolicy> take(std::size_t rows) {
    {
      const std::lock_guard lock(mutex_);
      auto& list = free_[rows];
      if (!list.empty()) {
        std::unique_ptr<GreedyPolicy> policy = std::move(list.back());
        list.pop_back();
        return policy;
      }
    }
    return std::make_unique<GreedyPolicy>(saved_.model.structure, saved_.head,
                                          static_cast<int>(rows));
  }

  const SavedModel& saved_;
  std::mutex mutex_;
  std::map<std::size_t, std::vector<std::unique_ptr<GreedyPolicy>>> free_;
};

class Agent {
 public:
  Agent(const std::string& path, const std::string& which)
      : saved_(load_saved_model(path, which, {})),
        scale_(saved_.scale()),
        actions_(saved_.head->actions()),
        pool_(saved_) {}

  const SavedModel& saved() const { return saved_; }
  bool is_policy() const { return saved_.head->is_policy(); }
  bool has_values() const { return saved_.head->has_values(); }
  bool is_box() const { return saved_.head->is_continuous(); }
  int actions() const { return actions_; }
  int inputs() const { return saved_.model.structure.inputs; }

  // Discrete actions [N, 1] or continuous ones [N, size]; sampled from the policy if seeded.
  nb::object act(const Observations& obs, const std::optional<Masks>& mask,
                 std::optional<std::uint64_t> seed) {
    return is_box() ? nb::cast(chosen<float>(obs, mask, seed))
                    : nb::cast(chosen<std::int64_t>(obs, mask, seed));
  }

  // Q(s, a), in the unit of the environment's rewards; or log p(a | s); or means and log stds. Not for
  // a deterministic policy.
  Result<float> preferences(const Observations& obs, const std::optional<Masks>& mask) {
    const float unit = has_values() ? 1 / saved_.model.reward_factor : 1;
    const auto width = static_cast<std::size_t>(saved_.head->preferences());
    Table<float> table(obs.shape(0), width);
    each_piece(
        obs, mask, std::nullopt,
        [&](const GreedyPolicy& policy, const Actions&, std::size_t first, std::size_t rows) {
          for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t i = 0; i < width; ++i) {
              table.row(first + row)[i] =
                  unit * policy.preference(static_cast<int>(row), static_cast<int>(i));
            }
          }
        });
    return table.release();
  }

  // Returns, lengths and whether it finished, per episode; and the means of the measures, by name.
  // stand_in: played instead of the training environment, unless empty.
  std::tuple<std::vector<double>, std::vector<std::int64_t>, std::vector<bool>,
             std::vector<std::pair<std::string, double>>>
  evaluate(int episodes, std::optional<std::uint64_t> seed, bool sample,
           const std::string& stand_in, const std::string& record) const {
    check_folder_of(record);
    if (episodes < 1) throw UsageError(fmt::format("episodes is {}; allowed: 1 or more", episodes));
    const nb::gil_scoped_release unlocked;
    SavedModel player = saved_;  // a copy: other threads may play elsewhere with this agent
    player.model.spec.stand_in = stand_in;
    const TrainSpec& spec = player.model.spec;
    EvaluationOptions options = spec.evaluation;
    options.episodes = episodes;
    ThreadTeam team(spec.max_threads());
    TransitionFile file{.env = recorded_name(spec.env), .transitions = {}};
    const Evaluation result = evaluate_model(player, options, seed.value_or(spec.run.seed), team,
                                             sample, record.empty() ? nullptr : &file.transitions);
    if (!record.empty()) save_transitions(record, file);
    std::vector<std::int64_t> lengths;
    std::vector<bool> finished;
    for (const PlayedEpisode& episode : result.episodes) {
      lengths.push_back(episode.length);
      finished.push_back(episode.finished);
    }
    std::vector<std::pair<std::string, double>> measures;
    const EnvSpec env = env_spec(spec.world());
    for (int i = 0; i < env.measure_count(); ++i) {
      measures.emplace_back(env.measures[i], result.measures[i]);
    }
    return {returns_of(result), std::move(lengths), std::move(finished), std::move(measures)};
  }

 private:
  template <class T>
  Result<T> chosen(const Observations& obs, const std::optional<Masks>& mask,
                   std::optional<std::uint64_t> seed) {
    Table<T> table(obs.shape(0), std::is_same_v<T, float> ? static_cast<std::size_t>(actions_) : 1);
    each_piece(
        obs, mask, seed,
        [&](const GreedyPolicy&, const Actions& actions, std::size_t first, std::size_t rows) {
          if constexpr (std::is_same_v<T, float>) {
            std::copy_n(actions.continuous.begin(), rows * table.width, table.row(first));
          } else {
            std::copy_n(actions.discrete.begin(), rows, table.row(first));
          }
        });
    return table.release();
  }

  // body(policy, actions, first, rows) for rows [first, first + rows) of the observations.
  template <class Body>
  void each_piece(const Observations& obs, const std::optional<Masks>& mask,
                  std::optional<std::uint64_t> seed, Body&& body) {
    const std::size_t count = obs.shape(0);
    const auto width = static_cast<std::size_t>(inputs());
    const auto choices = static_cast<std::size_t>(actions_);
    if (obs.shape(1) != width) {
      throw UsageError(fmt::format("observations: rows of {} numbers; the model has {} inputs",
                                   obs.shape(1), width));
    }
    if (mask && (mask->shape(0) != count || mask->shape(1) != choices)) {
      throw UsageError(fmt::format("mask: {} x {} flags; allowed: {} x {}", mask->shape(0),
                                   mask->shape(1), count, choices));
    }
    const std::span<const float> numbers(obs.data(), count * width);
    const auto bad = std::ranges::find_if_not(numbers, [](float x) { return std::isfinite(x); });
    if (bad != numbers.end()) {
      throw UsageError(fmt::format("observations: row {} has {}, which is not a finite number",
                                   static_cast<std::size_t>(bad - numbers.begin()) / width, *bad));
    }
    const nb::gil_scoped_release unlocked;
    ThreadTeam team(1);
    for (std::size_t first = 0; first < count; first += kMaxRows) {
      const std::size_t rows = std::min(count - first, kMaxRows);
      const std::size_t capacity = std::bit_ceil(rows);
      // The rows from `rows` to `capacity` are padding.
      std::vector<float> input(capacity * width);
      std::copy_n(obs.data() + first * width, rows * width, input.begin());
      std::vector<std::uint8_t> allowed(mask ? capacity * choices : 0, 1);
      if (mask) std::copy_n(mask->data() + first * choices, rows * choices, allowed.begin());
      Actions actions(action_kind(), static_cast<int>(capacity));
      const Draws draws{seed.value_or(0), first / kMaxRows};
      pool_.use(capacity, [&](GreedyPolicy& policy) {
        policy.choose(saved_.model.parameters, saved_.is_scaled() ? &scale_ : nullptr, input,
                      allowed, team, actions, seed ? &draws : nullptr);
        body(policy, actions, first, rows);
      });
    }
  }

  EnvSpec action_kind() const {
    EnvSpec spec;
    (is_box() ? spec.action_size : spec.actions) = actions_;
    return spec;
  }

  SavedModel saved_;
  InputScale scale_;
  int actions_;
  PolicyPool pool_;
};

}  // namespace

void bind_agent(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Agent>(m, "Agent", "A trained model that acts.")
      .def(nb::init<const std::string&, const std::string&>(), "path"_a, "which"_a)
      .def_prop_ro("path", [](const Agent& a) { return a.saved().path; })
      .def_prop_ro("spec", [](const Agent& a) { return to_yaml(a.saved().model.spec); })
      .def_prop_ro("env", [](const Agent& a) { return a.saved().model.spec.env; })
      .def_prop_ro(
          "algorithm",
          [](const Agent& a) { return std::string(a.saved().model.spec.algorithm->name()); })
      .def_prop_ro("env_steps", [](const Agent& a) { return a.saved().model.env_steps; })
      .def_prop_ro("greedy_return", [](const Agent& a) { return a.saved().model.greedy_return; })
      .def_prop_ro("env_facts", [](const Agent& a) { return a.saved().model.env_facts; })
      .def_prop_ro("is_policy", &Agent::is_policy)
      .def_prop_ro("has_values", &Agent::has_values)
      .def_prop_ro("is_box", &Agent::is_box)
      .def_prop_ro("actions", &Agent::actions)
      .def_prop_ro("inputs", &Agent::inputs)
      .def("act", &Agent::act, "obs"_a, "mask"_a.none(), "seed"_a.none())
      .def("preferences", &Agent::preferences, "obs"_a, "mask"_a.none())
      .def("evaluate", &Agent::evaluate, "episodes"_a, "seed"_a.none(), "sample"_a, "stand_in"_a,
           "record"_a);
}

}  // namespace hotloop::python
