#include "env/options.hpp"

#include <fmt/format.h>

#include <hotloop/error.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/text.hpp"
#include "env/registry.hpp"

namespace hotloop {
namespace {

std::span<const std::string_view> words_of(const EnvOption& option) {
  const auto end = std::find(option.choices.begin(), option.choices.end(), std::string_view());
  return {option.choices.begin(), end};
}

// The value of `text`; NaN if it is not allowed.
double value_of(const EnvOption& option, std::string_view text) {
  constexpr double kInvalid = std::numeric_limits<double>::quiet_NaN();
  if (const auto words = words_of(option); !words.empty()) {
    const auto word = std::find(words.begin(), words.end(), text);
    return word == words.end() ? kInvalid : static_cast<double>(word - words.begin());
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool valid = error == std::errc() && end == text.data() + text.size() &&
                     value >= option.low && value <= option.high &&
                     (!option.integer || value == std::trunc(value));
  return valid ? value : kInvalid;
}

}  // namespace

std::string allowed_values(const EnvOption& option) {
  if (const auto words = words_of(option); !words.empty()) return "one of " + join(words);
  return fmt::format("{}, {} to {}", option.integer ? "integer" : "number", option.low,
                     option.high);
}

std::string initial_text(const EnvOption& option) {
  if (std::isnan(option.initial)) return "default: see the description";
  const auto words = words_of(option);
  if (words.empty()) return fmt::format("default {}", option.initial);
  return fmt::format("default {}", words[static_cast<std::size_t>(option.initial)]);
}

std::vector<double> initial_values(std::span<const EnvOption> options) {
  std::vector<double> values;
  for (const EnvOption& option : options) values.push_back(option.initial);
  return values;
}

std::vector<double> option_values(const EnvEntry& entry, const EnvOptions& options) {
  std::vector<double> values = initial_values(entry.options);
  for (const auto& [name, text] : options) {
    const auto option =
        std::find_if(entry.options.begin(), entry.options.end(),
                     [&name = name](const EnvOption& known) { return known.name == name; });
    if (option == entry.options.end()) {
      std::vector<std::string_view> names;
      for (const EnvOption& known : entry.options) names.push_back(known.name);
      throw UsageError(fmt::format("env.options.{}: {} has no such option; {}", name,
                                   entry.spec->name,
                                   names.empty() ? "it has none" : suggestion(name, names)));
    }
    const double value = value_of(*option, text);
    if (std::isnan(value)) {
      const std::string near = nearest(text, words_of(*option));
      throw UsageError(fmt::format("env.options.{}: found {}; {}allowed: {}", name, text,
                                   near.empty() ? "" : fmt::format("did you mean {}? ", near),
                                   allowed_values(*option)));
    }
    values[static_cast<std::size_t>(option - entry.options.begin())] = value;
  }
  return values;
}

std::unique_ptr<Worlds> make_worlds(const EnvChoice& env, int count) {
  const EnvEntry& entry = find_env(env);
  return entry.make_any(count, option_values(entry, env.options));
}

EnvSpec env_spec(const EnvChoice& env) { return make_worlds(env, 1)->spec(); }

}  // namespace hotloop
