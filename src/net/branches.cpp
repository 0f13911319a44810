#include "net/branches.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <map>
#include <sstream>

#include <hotloop/error.hpp>

#include "core/text.hpp"
#include "net/kernels/row_linear.hpp"

namespace hotloop {
namespace {

enum class Word { concat, stack, flatten, dense, norm, attention, row, forest };
constexpr std::array<std::string_view, 8> kWords = {"concat", "stack",     "flatten", "dense",
                                                    "norm",   "attention", "row",     "forest"};
constexpr int kMaxUnits = 16'384;
constexpr int kMaxForestRounds = 32;

struct Step {
  Word word = Word::concat;
  int units = 0;
  Activation activation = Activation::linear;
  ForestShape forest = {};
  // `at` counts from the start of the previous layer's output, or of the joined inputs.
  Slice in = {}, out = {};
};

[[noreturn]] void fail(const Branch& branch, const std::string& what) {
  throw UsageError(fmt::format("net.branches.{}: {}", branch.name, what));
}

template <std::size_t N>
std::size_t index_of(const Branch& branch, const std::string& name,
                     const std::array<std::string_view, N>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    fail(branch, fmt::format("\"{}\" is unknown; {}", name, suggestion(name, names)));
  return found - names.begin();
}

// An integer within [min, max], or an error that says what was expected.
int number_of(const Branch& branch, const std::string& text, const std::string& number, int min,
              int max, const std::string& expected) {
  int value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size() || value < min || value > max)
    fail(branch, fmt::format("\"{}\": expected {}", text, expected));
  return value;
}

// "forest 128 rounds 4 heads 4 groups 16"; words[0] is "forest".
ForestShape parse_forest(const Branch& branch, const std::string& text,
                         const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 3> kNames = {"rounds", "heads", "groups"};
  ForestShape shape;
  shape.width = number_of(
      branch, text, words.size() > 1 ? words[1] : "", 8, RowLinear::kMaxWidth,
      fmt::format("a width, a multiple of 8 up to {}, as in \"forest 128\"", RowLinear::kMaxWidth));
  for (std::size_t i = 2; i < words.size(); i += 2) {
    const std::size_t which = index_of(branch, words[i], kNames);
    int& value = which == 0 ? shape.rounds : which == 1 ? shape.heads : shape.groups;
    const int min = which == 2 ? 0 : 1, max = which == 0 ? kMaxForestRounds : shape.width;
    value = number_of(branch, text, i + 1 < words.size() ? words[i + 1] : "", min, max,
                      fmt::format("a number, {} to {}, after {}", min, max, words[i]));
  }
  if (shape.width % 8 != 0 || shape.width % shape.heads != 0) {
    fail(branch,
         fmt::format("\"{}\": the width must be a multiple of 8 and of the number of heads, {}",
                     text, shape.heads));
  }
  return shape;
}

Step parse(const Branch& branch, const std::string& text, Activation default_activation) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  if (words.empty()) fail(branch, "an empty layer; allowed: " + join(kWords));
  Step step{.word = static_cast<Word>(index_of(branch, words[0], kWords))};
  if (step.word == Word::forest) {
    step.forest = parse_forest(branch, text, words);
    return step;
  }
  const bool has_units = step.word == Word::dense || step.word == Word::attention;
  const bool has_activation = step.word == Word::dense || step.word == Word::norm;
  if (step.word == Word::dense) step.activation = default_activation;
  std::size_t next = 1;
  const std::string number = next < words.size() ? words[next] : "";
  if (has_units) {
    step.units = number_of(branch, text, number, 1, kMaxUnits,
                           fmt::format("a width, 1 to {}, as in \"{} 64\"", kMaxUnits, words[0]));
    ++next;
  } else if (step.word == Word::row) {
    step.units =
        number_of(branch, text, number, 0, kMaxUnits, "a row index, from 0, as in \"row 1\"");
    ++next;
  }
  if (has_activation && next < words.size())
    step.activation = static_cast<Activation>(index_of(branch, words[next++], kActivationNames));
  if (next < words.size())
    fail(branch, fmt::format("\"{}\": nothing is expected after \"{}\"", text, words[next - 1]));
  return step;
}

std::string shape_text(const Slice& s) {
  return s.rows == 1 ? fmt::format("[{}]", s.width) : fmt::format("[{}, {}]", s.rows, s.width);
}

// A parsed branch whose shapes are known.
struct Resolved {
  std::vector<Step> steps = {};  // only the layers: dense, norm, attention, forest
  Slice result = {};             // a slice of the last layer's output

  int written() const { return steps.empty() ? 0 : steps.back().out.size(); }
};
constexpr int kNotYetPlaced = -1;  // branch results, before all shapes are known

using Shapes = std::map<std::string, Slice, std::less<>>;

// Whether each slice starts where the previous one ends.
bool are_contiguous(const std::vector<Slice>& sources) {
  for (std::size_t i = 1; i < sources.size(); ++i) {
    if (sources[i].at != sources[i - 1].at + sources[i - 1].size()) return false;
  }
  return true;
}

// The shape of a forest follows from four parts of the observation.
void set_forest_shape(const Branch& branch, const std::vector<Slice>& sources,
                      ForestShape& forest) {
  const auto fits = [&] {
    if (sources.size() != 4) return false;
    const int nodes = sources[3].width;
    return sources[0].rows == 1 && sources[1].rows == nodes && sources[2].rows == nodes &&
           sources[3].rows == 1;
  };
  if (!fits()) {
    std::vector<std::string> shapes;
    for (const Slice& source : sources) shapes.push_back(shape_text(source));
    fail(branch, fmt::format("forest needs four parts of the observation, graph [g], nodes [M, n], "
                             "edges [M, e] and parents [M]; found {}",
                             fmt::join(shapes, ", ")));
  }
  const bool placed = std::none_of(sources.begin(), sources.end(),
                                   [](const Slice& source) { return source.at == kNotYetPlaced; });
  if (!placed || !are_contiguous(sources)) {
    fail(branch, fmt::format("forest needs parts that are adjacent in the observation; {} are not",
                             fmt::join(branch.from, ", ")));
  }
  forest.nodes = sources[3].width;
  forest.graph_features = sources[0].width;
  forest.node_features = sources[1].width;
  forest.edge_features = sources[2].width;
  constexpr int kMaxFeatures = RowLinear::kMaxWidth - 1;  // a node also has a constant 1
  for (int f : {forest.graph_features, forest.node_features, forest.edge_features}) {
    if (f > kMaxFeatures) {
      fail(branch, fmt::format("forest takes up to {} features per graph, node or edge; found {}",
                               kMaxFeatures, f));
    }
  }
}

Slice join_shapes(const Branch& branch, Word how, const std::vector<Slice>& sources) {
  Slice joined{.rows = 1, .width = 0};
  if (how == Word::concat) {
    for (const Slice& source : sources) joined.width += source.size();
    return joined;
  }
  for (const Slice& source : sources) {
    if (source.rows != 1 || source.width != sources[0].width) {
      fail(branch, fmt::format("stack needs vectors of equal width; found {} and {}",
                               shape_text(source), shape_text(sources[0])));
    }
  }
  return {.rows = static_cast<int>(sources.size()), .width = sources[0].width};
}

Resolved resolve(const Branch& branch, const Shapes& known, Activation default_activation) {
  if (branch.from.empty()) fail(branch, "from is missing");
  std::vector<Slice> sources;
  for (const std::string& name : branch.from) {
    const auto source = known.find(name);
    if (source == known.end()) {
      std::vector<std::string_view> names;
      for (const auto& [other, shape] : known) names.push_back(other);
      fail(branch, fmt::format("from: \"{}\" is neither a part of the observation nor an earlier "
                               "branch; {}",
                               name, suggestion(name, names)));
    }
    sources.push_back(source->second);
  }
  std::vector<Step> steps;
  for (const std::string& text : branch.layers)
    steps.push_back(parse(branch, text, default_activation));
  Word how = Word::concat;
  const bool joins =
      !steps.empty() && (steps[0].word == Word::concat || steps[0].word == Word::stack);
  if (joins) {
    how = steps[0].word;
    steps.erase(steps.begin());
  }
  const bool several = sources.size() > 1;
  if (joins && !several) fail(branch, "there is only one input to join; remove concat or stack");
  Resolved result;
  Slice now = several ? join_shapes(branch, how, sources) : sources[0];
  now.at = 0;
  for (Step& step : steps) {
    const auto needs = [&](bool met, std::string_view what) {
      if (met) return;
      fail(branch, fmt::format("{} needs {}; found {}", kWords[static_cast<int>(step.word)], what,
                               shape_text(now)));
    };
    step.in = now;
    switch (step.word) {
      case Word::concat:
      case Word::stack:
        fail(branch, "concat and stack can only come first");
      case Word::flatten:
        needs(now.rows > 1, "a matrix");
        now = {.at = now.at, .rows = 1, .width = now.size()};
        continue;
      case Word::row:
        needs(step.units < now.rows, fmt::format("a matrix of at least {} rows", step.units + 1));
        now = {.at = now.at + step.units * now.width, .rows = 1, .width = now.width};
        continue;
      case Word::forest:
        if (&step != &steps.front() || joins)
          fail(branch, "forest can only come first, and joins its inputs itself");
        set_forest_shape(branch, sources, step.forest);
        now = {.rows = 2, .width = step.forest.width};
        break;
      case Word::dense:
        now.width = step.units;
        break;
      case Word::norm:
        needs(now.rows == 1, "a vector");
        break;
      case Word::attention:
        needs(now.rows > 1, "a matrix");
        now.rows = 1;
        break;
    }
    now.at = 0;
    step.out = now;
    result.steps.push_back(step);
  }
  result.result = now;
  return result;
}

// Where the joined sources start: in place if they are contiguous, otherwise as copies.
int join_places(const std::vector<Slice>& sources, StructureBuilder& build) {
  if (are_contiguous(sources)) return sources[0].at;
  int at = -1;
  for (const Slice& source : sources) {
    const int copy = build.add(CopyLayer{source.size()}, source.at);
    if (at < 0) at = copy;
  }
  return at;
}

// "dc_sfc 6x64-64": its inputs, and the shape after each layer.
std::string description_of(const Branch& branch, const Resolved& resolved) {
  std::vector<std::string> words;
  for (const Step& step : resolved.steps) {
    const std::string shape = step.out.rows > 1
                                  ? fmt::format("{}x{}", step.out.rows, step.out.width)
                                  : fmt::format("{}", step.out.width);
    const std::string_view word = kWords[static_cast<int>(step.word)];
    if (step.word == Word::dense) {
      words.push_back(shape);
    } else if (step.word == Word::forest) {
      words.push_back(fmt::format("{} {}", word, shape));
    } else {
      words.push_back(std::string(word));
    }
  }
  return fmt::format("{} {}", fmt::join(branch.from, "+"), fmt::join(words, "-"));
}

Layer make_layer(const Step& step, const NetOptions& options) {
  const auto [at, rows, width] = step.in;
  if (step.word == Word::norm) return NormLayer{.width = width, .activation = step.activation};
  if (step.word == Word::forest) return forest_layer(step.forest);
  if (step.word == Word::attention) return attention_layer(rows, width, step.units);
  DenseLayer layer =
      dense_layer(options, width, step.units, step.activation, options.noisy == Noisy::all);
  layer.rows = rows;
  return layer;
}

void check_value_from(std::span<const Branch> branches, const std::string& name) {
  std::vector<std::string_view> names;
  for (const Branch& branch : branches) names.push_back(branch.name);
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return;
  throw UsageError(
      fmt::format("net.value_from: there is no branch \"{}\"; {}", name, suggestion(name, names)));
}

void check_that_all_are_read(std::span<const Branch> branches, const std::string& value_from) {
  for (const Branch& branch : branches.first(branches.size() - 1)) {
    const bool read = std::any_of(branches.begin(), branches.end(), [&](const Branch& other) {
      return std::find(other.from.begin(), other.from.end(), branch.name) != other.from.end();
    });
    if (!read && branch.name != value_from)
      fail(branch, "nothing reads it; only the last branch feeds the hidden layers");
  }
}

Front add_branches(const NetOptions& options, std::span<const InputPart> parts,
                   Structure& structure, StructureBuilder& build) {
  const std::span<const Branch> branches(options.branches);
  Shapes known;  // parts and branches by name
  int at = 0;
  for (const InputPart& part : parts) {
    known[part.name] = {.at = at, .rows = part.rows, .width = part.width};
    at += part.rows * part.width;
  }
  std::vector<Resolved> resolved;
  for (const Branch& branch : branches) {
    if (known.contains(branch.name)) fail(branch, "the name is taken");
    resolved.push_back(resolve(branch, known, options.activation));
    known[branch.name] = resolved.back().result;
    known[branch.name].at = kNotYetPlaced;
  }
  check_value_from(branches, options.value_from);
  check_that_all_are_read(branches, options.value_from);

  // First the branch results, side by side; then the features of the layers in between.
  std::vector<int> results;
  for (const Resolved& branch : resolved) results.push_back(build.take_features(branch.written()));
  std::vector<std::string> words;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    std::vector<Slice> sources;
    for (const std::string& name : branches[i].from) sources.push_back(known.at(name));
    at = join_places(sources, build);
    for (const Step& step : resolved[i].steps) {
      const bool last = &step == &resolved[i].steps.back();
      const int to = last ? results[i] : build.take_features(step.out.size());
      build.add(make_layer(step, options), at + step.in.at, to);
      at = to;
    }
    known.at(branches[i].name).at = at + resolved[i].result.at;
    if (!resolved[i].steps.empty()) words.push_back(description_of(branches[i], resolved[i]));
  }
  structure.front = fmt::format("{}", fmt::join(words, " | "));
  structure.front_layers = static_cast<int>(structure.layers.size());
  const Slice last = known.at(branches.back().name);
  if (options.value_from.empty()) return {last, last};
  return {last, known.at(options.value_from)};
}

}  // namespace

Front add_front(const NetOptions& options, const GridShape& grid, std::span<const InputPart> parts,
                Structure& structure, StructureBuilder& build) {
  if (!options.branches.empty()) return add_branches(options, parts, structure, build);
  Slice now{.at = 0, .rows = 1, .width = structure.inputs};
  for (GridShape in = grid; const int channels : options.channels) {
    assert(grid.size() == structure.inputs && structure.inputs > 0);
    const ConvLayer layer{.height = in.height,
                          .width = in.width,
                          .in = in.channels,
                          .out = channels,
                          .activation = options.activation};
    now = {.at = build.add(layer, now.at), .rows = 1, .width = layer.outputs()};
    in.channels = channels;
  }
  return {now, now};
}

}  // namespace hotloop
