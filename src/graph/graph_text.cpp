#include "graph/graph_text.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <hotloop/error.hpp>
#include <iterator>
#include <string_view>

namespace hotloop {
namespace {

// Consumes numbers and separators from the front of a text.
class Scanner {
 public:
  Scanner(std::string_view text, const std::string& origin) : rest_(text), origin_(origin) {}

  bool at_end() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front()))) {
      rest_.remove_prefix(1);
    }
    return rest_.empty();
  }

  int number() {
    at_end();
    int value = 0;
    const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) fail("a number");
    rest_.remove_prefix(stop - rest_.data());
    return value;
  }

  void expect(char separator) {
    if (at_end() || rest_.front() != separator) fail(fmt::format("'{}'", separator));
    rest_.remove_prefix(1);
  }

 private:
  [[noreturn]] void fail(const std::string& wanted) const {
    constexpr std::size_t kShown = 20;
    throw UsageError(
        fmt::format("{}: expected {} at \"{}\"; a graph looks like \"2 1 1: 0>2 1>2 2>3\"", origin_,
                    wanted, rest_.substr(0, kShown)));
  }

  std::string_view rest_;
  const std::string& origin_;
};

}  // namespace

std::string to_text(const Graph& graph) {
  std::string text = fmt::format("{} {} {}:", graph.inputs, graph.hidden(), graph.outputs);
  for (int n = 0; n < graph.nodes; ++n) {
    for (int e = graph.first[n]; e < graph.first[n + 1]; ++e) {
      fmt::format_to(std::back_inserter(text), " {}>{}", graph.sources[e], n);
    }
  }
  return text;
}

Graph graph_from_text(const std::string& text, const std::string& origin) {
  Scanner scan(text, origin);
  const int inputs = scan.number();
  const int hidden = scan.number();
  const int outputs = scan.number();
  scan.expect(':');
  std::vector<Edge> edges;
  while (!scan.at_end()) {
    check_edge_count(static_cast<std::int64_t>(edges.size()) + 1, origin);
    const int source = scan.number();
    scan.expect('>');
    edges.push_back({source, scan.number()});
  }
  return make_graph(inputs, hidden, outputs, edges, origin);
}

}  // namespace hotloop
