#include "graph/graph_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <hotloop/error.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/file.hpp"
#include "core/text.hpp"
#include "graph/graph_limits.hpp"
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
      fail(path, line,
           fmt::format("\"{}\" is not an edge; expected \"source target\"", printable(content)));
    }
    check_edge_count(std::ssize(edges) + 1, path);
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

// Reads a graph while its file is parsed: edges go into a list as they come, and anything else that
// could be large or deep is refused when it opens.
class JsonReader {
 public:
  JsonReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  Graph read() {
    json file;
    try {
      file = json::parse(text_, [this](int depth, json::parse_event_t event, json& parsed) {
        return keeps(depth, event, parsed);
      });
    } catch (const json::parse_error& error) {
      const std::size_t byte = std::min(error.byte, text_.size());
      const auto before = text_.substr(0, byte > 0 ? byte - 1 : 0);
      fail(path_, 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
           "this is not JSON");
    } catch (const json::out_of_range&) {
      complain("a number is too large");
    }
    if (!file.is_object()) complain(kNoObject);
    if (!file.contains("edges") || !file["edges"].is_array())
      complain("edges: expected a list of [source, target]");
    const auto number = [&](const char* key) {
      const std::optional<int> value = json_number(file.value(key, json()));
      if (!value) complain(fmt::format("{}: expected a number", key));
      return *value;
    };
    const int inputs = number("inputs");
    const int outputs = number("outputs");
    const int hidden =
        file.contains("hidden") ? number("hidden") : infer_hidden(edges_, inputs, outputs);
    return make_graph(inputs, hidden, outputs, edges_, path_);
  }

 private:
  using Event = json::parse_event_t;
  static constexpr const char* kNoObject = "a graph is a JSON object";

  // Called by the parser for every value, and when one opens. False = it is not kept. The root is
  // at depth 0, its values are at 1, edges at 2.
  bool keeps(int depth, Event event, json& parsed) {
    const bool is_array = event == Event::array_start,
               opens = is_array || event == Event::object_start;
    if (event == Event::key && depth == 1) begin(parsed.get<std::string>());
    if (opens && depth == 0 && is_array) complain(kNoObject);
    if (opens && depth == 1 && key_ != "edges") complain(key_ + ": expected a number");
    if (opens && depth == 1 && !is_array) complain("edges: expected a list of [source, target]");
    if (opens && depth > 2) complain("nested too deeply; an edge is [source, target]");
    const bool is_value =
        event == Event::value || event == Event::array_end || event == Event::object_end;
    if (depth != 2 || !is_value) return true;
    add_edge(parsed);
    return false;
  }

  void begin(const std::string& key) {
    constexpr std::array<std::string_view, 4> kKeys = {"inputs", "hidden", "outputs", "edges"};
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
      complain(fmt::format("unknown key {}; {}", printable(key), suggestion(key, kKeys)));
    if (key == "edges" && !edges_.empty()) complain("edges: given twice");
    key_ = key;
  }

  void add_edge(const json& pair) {
    const bool two = pair.is_array() && pair.size() == 2;
    const std::optional<int> source = two ? json_number(pair[0]) : std::nullopt;
    const std::optional<int> target = two ? json_number(pair[1]) : std::nullopt;
    if (!source || !target) {
      complain(fmt::format("edges[{}]: {} is not [source, target]", edges_.size(),
                           printable(pair.dump())));
    }
    check_edge_count(std::ssize(edges_) + 1, path_);
    edges_.push_back({*source, *target});
  }

  [[noreturn]] void complain(const std::string& why) const {
    throw UsageError(fmt::format("{}: {}", path_, why));
  }

  std::string_view text_;
  const std::string& path_;
  std::string key_;  // of the root's value that is being parsed
  std::vector<Edge> edges_;
};

Graph from_json(std::string_view text, const std::string& path) {
  return JsonReader(text, path).read();
}

using ParseGraph = Graph (*)(std::string_view text, const std::string& path);

// The reader of the format that the extension of the path gives.
ParseGraph reader_for(const std::string& path) {
  const std::string ending = path.substr(std::min(path.rfind('.'), path.size()));
  if (ending == ".txt" || ending == ".edges") return from_edge_list;
  if (ending == ".json") return from_json;
  if (ending == ".graphml") return from_graphml;
  throw UsageError(fmt::format(
      "{}: the file extension gives the format; allowed: .txt, .edges, .json, .graphml", path));
}

void check_bytes(std::uintmax_t bytes, const std::string& path) {
  if (bytes <= kMaxGraphFileBytes) return;
  throw UsageError(fmt::format("{}: {} bytes; a file with a graph has at most {}", path, bytes,
                               kMaxGraphFileBytes));
}

}  // namespace

std::string graph_file_text(std::string_view contents, const std::string& path) {
  check_bytes(contents.size(), path);
  return to_text(reader_for(path)(contents, path));
}

std::string read_graph_file(const std::string& path) {
  reader_for(path);  // refuses other files before they are read
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status)) {
    if (!std::filesystem::is_regular_file(status))  // it may have no end
      throw UsageError(fmt::format("{}: not a regular file", path));
    check_bytes(std::filesystem::file_size(path, error), path);
  }
  return graph_file_text(read_file(path).text(), path);
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
