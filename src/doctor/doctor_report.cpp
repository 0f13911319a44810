// A diagnosis as text and as JSON.
#include <fmt/format.h>

#include "algo/common/algorithm.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "doctor/doctor.hpp"
#include "train/progress.hpp"

namespace hotloop {
namespace {

std::string speed_text(const Speed& s) {
  return fmt::format("{:.2f} x [{:.2f}, {:.2f}]", s.ratio, s.low, s.high);
}

std::string bound_text(double bound) {
  return bound < 100 ? fmt::format("{:.2f}", bound) : std::string("> 100");
}

// What the remedy does to learning, in short.
std::string effect_text(const Trial& t) {
  const std::string less =
      t.learns_less() ? fmt::format("; {:.3g} x LESS LEARNING", t.less_learning) : std::string();
  if (!t.failure.empty()) return "failed" + less;
  if (!t.speed) return "not tried: no time left" + less;
  if (t.remedy.same_result) {
    return t.is_free() ? "the same, to the bit" : "NOT the same parameters";
  }
  std::string text;
  if (t.learning) {
    text = std::string(kEffectNames[static_cast<std::size_t>(t.learning->per_second)]);
  } else {
    text = t.is_faster()    ? "not shown"
           : t.was_judged() ? "not tried: not faster"
                            : "not tried: too few turns to tell";
  }
  return text + less;
}

std::string learning_text(const LearningEffect& e) {
  return fmt::format(
      "greedy return after {:.3g} s: {:.4g} -> {:.4g} (untrained {:.4g}); mean over that time "
      "{:+.3g} [{:+.3g}, {:+.3g}];\n     updates {:.0f} -> {:.0f}; over equal updates {} "
      "({:+.3g}); {} seeds",
      e.seconds, e.return_before, e.return_after, e.return_start, e.difference, e.low, e.high,
      e.updates_before, e.updates_after, kEffectNames[static_cast<std::size_t>(e.per_update)],
      e.difference_per_update, e.seeds);
}

// The conclusion about a remedy; empty if the table is enough.
std::string verdict(const Trial& t) {
  if (!t.is_faster() || t.is_free()) return "";
  std::string text;
  if (t.learns_less()) {
    const double before = t.speed->updates_per_second_a / t.speed->steps_per_second_a;
    const double after = t.speed->updates_per_second_b / t.speed->steps_per_second_b;
    text = fmt::format(
        "Not a free speed-up: gradients see {:.3g} times fewer transitions per env step "
        "(updates per step: {:.3g} -> {:.3g}).",
        t.less_learning, before, after);
  }
  if (!t.learning) return text;
  const char* sentences[] = {
      "It learnt more in the same time here.", "It learnt as much in the same time here.",
      "It learnt less in the same time here.", "These runs do not show whether it learns as well."};
  return text + (text.empty() ? "" : " ") +
         sentences[static_cast<std::size_t>(t.learning->per_second)];
}

std::string indented(const std::string& text) {
  std::string result = "  ";
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  while (result.ends_with(' ')) result.pop_back();
  return result;
}

Json speed_json(const Speed& s) {
  return {{"ratio", number_or_null(s.ratio)},
          {"low", number_or_null(s.low)},
          {"high", number_or_null(s.high)},
          {"steps_per_second_before", number_or_null(s.steps_per_second_a)},
          {"steps_per_second_after", number_or_null(s.steps_per_second_b)},
          {"updates_per_second_before", number_or_null(s.updates_per_second_a)},
          {"updates_per_second_after", number_or_null(s.updates_per_second_b)},
          {"turns", s.turns},
          {"same_parameters", s.same_parameters}};
}

Json learning_json(const LearningEffect& e) {
  return {{"per_second", kEffectNames[static_cast<std::size_t>(e.per_second)]},
          {"per_update", kEffectNames[static_cast<std::size_t>(e.per_update)]},
          {"seeds", e.seeds},
          {"seconds", number_or_null(e.seconds)},
          {"difference", number_or_null(e.difference)},
          {"low", number_or_null(e.low)},
          {"high", number_or_null(e.high)},
          {"difference_per_update", number_or_null(e.difference_per_update)},
          {"return_untrained", number_or_null(e.return_start)},
          {"return_before", number_or_null(e.return_before)},
          {"return_after", number_or_null(e.return_after)},
          {"updates_before", number_or_null(e.updates_before)},
          {"updates_after", number_or_null(e.updates_after)}};
}

}  // namespace

std::string diagnosis_text(const Diagnosis& d) {
  const Profile& p = d.profile;
  std::string text = fmt::format(
      "{}: {} on {}, {} environment{}, {} thread{}, {}\n{} env steps/s, {} "
      "updates/s; throughput {}; {:.1f} minutes{}\n",
      p.spec.name, p.spec.algorithm->describe(p.spec), p.spec.env, p.spec.envs,
      p.spec.envs == 1 ? "" : "s", p.spec.threads, p.spec.threads == 1 ? "" : "s", p.cpu,
      short_number(p.steps_per_second()), short_number(p.updates_per_second()), p.trend.text,
      d.minutes, d.interrupted ? " (interrupted: partial results)" : "");
  text += "\nWhat the profile shows\n";
  for (std::size_t i = 0; i < d.findings.size(); ++i) {
    const Finding& f = d.findings[i];
    text += fmt::format("  {}. {}{}\n     {}\n     {}\n", i + 1, f.name(),
                        f.share > 0 ? fmt::format(", {:.0f} % of the time: if it cost nothing, at "
                                                  "most {:.3g} x as fast",
                                                  100 * f.share, f.bound())
                                    : std::string(),
                        f.text, f.evidence);
  }
  if (d.findings.empty()) text += "  nothing unusual\n";
  if (d.trials.empty()) return text;

  text += "\nRemedies, tried side by side (speed-up in env steps/s with 95 % interval)\n";
  text += fmt::format("     {:<52} {:>8}  {:<20} {}\n", "remedy", "at most", "speed-up",
                      "learning per second");
  for (std::size_t i = 0; i < d.trials.size(); ++i) {
    const Trial& t = d.trials[i];
    text += fmt::format("{:>3}. {:<52} {:>6} x  {:<20} {}\n", i + 1, t.remedy.title,
                        bound_text(amdahl(t.share())), t.speed ? speed_text(*t.speed) : "-",
                        effect_text(t));
    if (!t.failure.empty()) text += fmt::format("     {}\n", t.failure);
    if (const std::string line = verdict(t); !line.empty()) text += fmt::format("     {}\n", line);
    if (t.learning) text += fmt::format("     {}\n", learning_text(*t.learning));
  }
  const auto judged = std::ranges::count_if(d.trials, &Trial::was_judged);
  const auto all = std::ssize(d.trials);
  if (d.overrides.empty()) {
    text += judged == 0 ? "\nNothing can be recommended: "
                        : "\nNothing to recommend: no remedy that was judged is faster and learns "
                          "as well or better";
    if (judged == all) return text + ".\n";
    return text + fmt::format("{}there was too little time for {} of {}; give it more --minutes.\n",
                              judged == 0 ? "" : ". ", all - judged, all);
  }
  text += "\nRecommended";
  if (d.together) text += fmt::format(", together {}", speed_text(*d.together));
  return text + "\n" + indented(yaml_patch(d.overrides));
}

Json diagnosis_json(const Diagnosis& d) {
  const Profile& p = d.profile;
  Json json = {{"spec", p.spec.name},
               {"cpu", p.cpu},
               {"threads", p.spec.threads},
               {"env_steps_per_second", number_or_null(p.steps_per_second())},
               {"updates_per_second", number_or_null(p.updates_per_second())},
               {"minutes", d.minutes},
               {"interrupted", d.interrupted},
               {"findings", Json::array()},
               {"remedies", Json::array()},
               {"recommended", d.overrides},
               {"patch", yaml_patch(d.overrides)},
               {"together", d.together ? speed_json(*d.together) : Json(nullptr)}};
  for (const Finding& f : d.findings) {
    json["findings"].push_back(
        {{"name", f.name()}, {"share", f.share}, {"text", f.text}, {"evidence", f.evidence}});
  }
  for (const Trial& t : d.trials) {
    json["remedies"].push_back(
        {{"title", t.remedy.title},
         {"overrides", t.remedy.overrides},
         {"phases", t.remedy.phases},
         {"share", t.share()},
         {"bound", amdahl(t.share())},
         {"same_result", t.remedy.same_result},
         {"speed", t.speed ? speed_json(*t.speed) : Json(nullptr)},
         {"learning", t.learning ? learning_json(*t.learning) : Json(nullptr)},
         {"less_learning", t.less_learning},
         {"verdict", effect_text(t)},
         {"recommended", t.recommended},
         {"failure", t.failure.empty() ? Json(nullptr) : Json(t.failure)},
         {"patch", yaml_patch(t.remedy.overrides)}});
  }
  return json;
}

}  // namespace hotloop
