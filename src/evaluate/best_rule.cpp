#include "evaluate/best_rule.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <sstream>

#include <hotloop/error.hpp>

#include "core/text.hpp"

namespace hotloop {

BestRule::BestRule(const EvaluationOptions& options, const EnvSpec& env) : gain_(options.gain) {
  std::vector<std::string_view> names = {"return"};
  names.insert(names.end(), env.measures.begin(), env.measures.begin() + env.measure_count());
  const auto fail = [&](const std::string& what) {
    throw UsageError(fmt::format(
        "evaluation.best: \"{}\": {}; expected a formula such as \"return\"{}", options.best, what,
        names.size() > 1 ? fmt::format(" or \"100 {} + return\"", names.back()) : ""));
  };
  double weight = 1;
  bool wants_plus = false, has_weight = false;
  std::istringstream words(options.best);
  for (std::string word; words >> word;) {
    if (wants_plus) {
      if (word != "+") fail(fmt::format("a + is missing before \"{}\"", word));
      wants_plus = false;
      continue;
    }
    double number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc() && end == word.data() + word.size()) {
      if (!std::isfinite(number)) fail(fmt::format("{} is not a valid weight", word));
      if (has_weight) fail(fmt::format("two weights before one name, the second is {}", word));
      weight = number;
      has_weight = true;
      continue;
    }
    const auto name = std::find(names.begin(), names.end(), word);
    if (name == names.end()) {
      fail(fmt::format("{} has no measure \"{}\"; {}", env.name, word, suggestion(word, names)));
    }
    terms_.push_back({weight, static_cast<int>(name - names.begin()) - 1});
    weight = 1;
    has_weight = false;
    wants_plus = true;
  }
  if (!wants_plus) fail("it ends without a name");
}

double BestRule::score(const Evaluation& evaluation) const {
  double sum = 0;
  for (const Term& term : terms_) {
    const double value = term.measure < 0 ? evaluation.mean : evaluation.measures[term.measure];
    if (!std::isnan(value)) sum += term.weight * value;
  }
  return sum;
}

bool BestRule::is_better(double score, double best) const {
  if (std::isnan(best)) return true;
  return score > best && score - best >= gain_ * std::abs(best);
}

}  // namespace hotloop
