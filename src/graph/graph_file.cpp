#include "graph/graph_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <hotloop/error.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/file.hpp"
#include "core/text.hpp"
#include "graph/graph_text.hpp"
#include "graph/graphml.hpp"

namespace hotloop {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const std::string& path, int line, const std::string& why) {
  throw UsageError(fmt::format("{}:{}: {}", path, line, why));
}

template <typename Visit>  // visit(source, target)
void for_each_edge(const Graph& graph, const Visit& visit) {
  for (int n = 0; n < graph.nodes; ++n) {
    for (int e = graph.first[n]; e < graph.first[n + 1]; ++e) visit(graph.sources[e], n);
  }
}

// The number of hidden neurons if the file does not give it.
int infer_hidden(const std::vector<Edge>& edges, int inputs, int outputs) {
  std::int64_t highest = 0;
  for (const Edge edge : edges) {
    highest = std::max<std::int64_t>({highest, edge.source, edge.target});
  }
  return static_cast<int>(std::max<std::int64_t>(0, highest + 1 - inputs - outputs));
}

std::optional<int> parse_integer(std::string_view word) {
  int value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\f\v";
  std::vector<std::string_view> words;
  for (std::size_t begin = line.find_first_not_of(kBlank); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlank, end);
  }
  return words;
}

struct Sizes {
  std::optional<int> inputs, hidden, outputs;
};

Sizes read_sizes(const std::vector<std::string_view>& words, const std::string& path, int line) {
  Sizes sizes;
  bool good = words.size() % 2 == 0;
  for (std::size_t i = 0; good && i < words.size(); i += 2) {
    std::optional<int>* size = words[i] == "inputs"    ? &sizes.inputs
                               : words[i] == "hidden"  ? &sizes.hidden
                               : words[i] == "outputs" ? &sizes.outputs
                                                       : nullptr;
    good = size && !*size && (*size = parse_integer(words[i + 1]));
  }
  if (!good || !sizes.inputs || !sizes.outputs) {
    fail(path, line, "an edge list begins with a line like \"# inputs 4 outputs 2\"");
  }
  return sizes;
}

Graph from_edge_list(std::string_view text, const std::string& path) {
  std::optional<Sizes> sizes;
  std::vector<Edge> edges;
  std::vector<int> lines;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!sizes) {
      std::vector<std::string_view> words = words_of(content);
      if (words.empty()) continue;
      if (words[0] == "#") words.erase(words.begin());
      if (!words.empty() && words[0].starts_with('#')) words[0].remove_prefix(1);
      sizes = read_sizes(words, path, line);
      continue;
    }
    const auto words = words_of(content.substr(0, content.find('#')));
    if (words.empty()) continue;
    const std::optional<int> source = parse_integer(words.front());
    const std::optional<int> target = parse_integer(words.back());
    if (words.size() != 2 || !source || !target) {
      fail(path, line, fmt::format("\"{}\" is not an edge; expected \"source target\"", content));
    }
    edges.push_back({*source, *target});
    lines.push_back(line);
  }
  if (!sizes) fail(path, 1, "an edge list begins with a line like \"# inputs 4 outputs 2\"");
  const int hidden = sizes->hidden.value_or(infer_hidden(edges, *sizes->inputs, *sizes->outputs));
  return make_graph(*sizes->inputs, hidden, *sizes->outputs, edges, path, lines);
}

std::optional<int> json_number(const json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  if (number < 0 || number > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(number);
}

Graph from_json(std::string_view text, const std::string& path) {
  json file;
  try {
    file = json::parse(text);
  } catch (const json::parse_error& error) {
    const std::size_t byte = std::min(error.byte, text.size());
    const auto before = text.substr(0, byte > 0 ? byte - 1 : 0);
    fail(path, 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
         "this is not JSON");
  }
  const auto complain = [&](const std::string& why) {
    throw UsageError(fmt::format("{}: {}", path, why));
  };
  if (!file.is_object()) complain("a graph is a JSON object");
  constexpr std::array<std::string_view, 4> kKeys = {"inputs", "hidden", "outputs", "edges"};
  for (const auto& [key, value] : file.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      complain(fmt::format("unknown key {}; {}", key, suggestion(key, kKeys)));
    }
  }
  const auto number = [&](const char* key) {
    const std::optional<int> value = json_number(file.value(key, json()));
    if (!value) complain(fmt::format("{}: expected a number", key));
    return *value;
  };
  const json& list = file.value("edges", json());
  if (!list.is_array()) complain("edges: expected a list of [source, target]");
  std::vector<Edge> edges;
  for (const json& pair : list) {
    const bool two = pair.is_array() && pair.size() == 2;
    const std::optional<int> source = two ? json_number(pair[0]) : std::nullopt;
    const std::optional<int> target = two ? json_number(pair[1]) : std::nullopt;
    if (!source || !target) {
      complain(fmt::format("edges[{}]: {} is not [source, target]", edges.size(), pair.dump()));
    }
    edges.push_back({*source, *target});
  }
  const int inputs = number("inputs");
  const int outputs = number("outputs");
  const int hidden =
      file.contains("hidden") ? number("hidden") : infer_hidden(edges, inputs, outputs);
  return make_graph(inputs, hidden, outputs, edges, path);
}

}  // namespace

std::string read_graph_file(const std::string& path) {
  const std::string ending = path.substr(std::min(path.rfind('.'), path.size()));
  const auto read = ending == ".txt" || ending == ".edges" ? from_edge_list
                    : ending == ".json"                    ? from_json
                    : ending == ".graphml"                 ? from_graphml
                                                           : nullptr;
  if (read == nullptr) {
    throw UsageError(fmt::format(
        "{}: the file extension gives the format; allowed: .txt, .edges, .json, .graphml", path));
  }
  return to_text(read(read_file(path).text(), path));
}

std::string to_edge_list(const Graph& graph) {
  std::string text = fmt::format("# inputs {} hidden {} outputs {}\n", graph.inputs, graph.hidden(),
                                 graph.outputs);
  for_each_edge(graph, [&](int source, int target) {
    fmt::format_to(std::back_inserter(text), "{} {}\n", source, target);
  });
  return text;
}

std::string to_json(const Graph& graph) {
  std::string text = fmt::format("{{\"inputs\": {}, \"hidden\": {}, \"outputs\": {}, \"edges\": [",
                                 graph.inputs, graph.hidden(), graph.outputs);
  const char* separator = "";
  for_each_edge(graph, [&](int source, int target) {
    fmt::format_to(std::back_inserter(text), "{}[{}, {}]", separator, source, target);
    separator = ", ";
  });
  return text + "]}\n";
}

}  // namespace hotloop
