#include "graph/graphml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <hotloop/error.hpp>
#include <pugixml.hpp>
#include <unordered_map>

#include "core/text.hpp"
#include "graph/graph_file.hpp"
#include "graph/graph_limits.hpp"

namespace hotloop {
namespace {

constexpr std::array<std::string_view, 3> kRoles = {"input", "hidden", "output"};

// Reads one file, and keeps what error messages need.
class Reader {
 public:
  Reader(std::string_view text, const std::string& path) : text_(text), path_(path) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') breaks_.push_back(static_cast<std::ptrdiff_t>(i));
    }
  }

  Graph read() {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text_.data(), text_.size());
    if (!parsed) fail(parsed.offset, fmt::format("this is not XML: {}", parsed.description()));
    const pugi::xml_node root = document.child("graphml");
    const pugi::xml_node graph = root.child("graph");
    if (!graph) fail(root.offset_debug(), "expected <graphml> with a <graph> inside");
    if (std::string_view(graph.attribute("edgedefault").value()) != "directed") {
      fail(graph.offset_debug(), "edges must be directed: edgedefault=\"directed\"");
    }
    find_role_key(root);
    read_nodes(graph);
    return read_edges(graph);
  }

 private:
  void find_role_key(pugi::xml_node root) {
    for (const pugi::xml_node key : root.children("key")) {
      const std::string_view domain = key.attribute("for").as_string("all");
      if (std::string_view(key.attribute("attr.name").value()) != "role") continue;
      if (domain != "node" && domain != "all") continue;
      role_key_ = key.attribute("id").value();
      default_role_ = key.child_value("default");
      return;
    }
    fail(root.offset_debug(),
         "no <key> for nodes with attr.name=\"role\": input, hidden or output");
  }

  // An index into kRoles.
  std::size_t role_of(pugi::xml_node node) const {
    std::string_view role = default_role_;
    for (const pugi::xml_node data : node.children("data")) {
      if (role_key_ == data.attribute("key").value()) role = data.child_value();
    }
    const auto found = std::find(kRoles.begin(), kRoles.end(), role);
    if (found == kRoles.end()) {
      fail(node.offset_debug(),
           fmt::format("node {}: role \"{}\"; {}", printable(node.attribute("id").value()),
                       printable(role), suggestion(role, kRoles)));
    }
    return found - kRoles.begin();
  }

  void read_nodes(pugi::xml_node graph) {
    std::array<std::vector<std::string>, 3> ids;  // by role
    for (const pugi::xml_node node : graph.children("node")) {
      if (number_.size() == kMaxNeurons) {
        fail(node.offset_debug(),
             fmt::format("more than {} nodes; a graph has at most that many", kMaxNeurons));
      }
      const std::string id = node.attribute("id").value();
      if (!number_.emplace(id, 0).second) {
        fail(node.offset_debug(), fmt::format("node {}: given twice", printable(id)));
      }
      ids[role_of(node)].push_back(id);
    }
    int next = 0;
    for (std::size_t role = 0; role < ids.size(); ++role) {
      sizes_[role] = static_cast<int>(ids[role].size());
      for (const std::string& id : ids[role]) number_[id] = next++;
    }
  }

  Graph read_edges(pugi::xml_node graph) const {
    std::vector<Edge> edges;
    std::vector<int> lines;
    for (const pugi::xml_node edge : graph.children("edge")) {
      if (std::string_view(edge.attribute("directed").as_string("true")) != "true") {
        fail(edge.offset_debug(), "edges must be directed: directed=\"true\"");
      }
      check_edge_count(std::ssize(edges) + 1, path_);
      edges.push_back({end_of(edge, "source"), end_of(edge, "target")});
      lines.push_back(line_of(edge.offset_debug()));
    }
    return make_graph(sizes_[0], sizes_[1], sizes_[2], edges, path_, lines);
  }

  int end_of(pugi::xml_node edge, const char* end) const {
    const auto found = number_.find(edge.attribute(end).value());
    if (found == number_.end()) {
      fail(edge.offset_debug(), fmt::format("edge: {} \"{}\" is not a node", end,
                                            printable(edge.attribute(end).value())));
    }
    return found->second;
  }

  int line_of(std::ptrdiff_t offset) const {
    return 1 + static_cast<int>(std::lower_bound(breaks_.begin(), breaks_.end(), offset) -
                                breaks_.begin());
  }
  [[noreturn]] void fail(std::ptrdiff_t offset, const std::string& why) const {
    throw UsageError(fmt::format("{}:{}: {}", path_, line_of(offset), why));
  }

  std::string_view text_;
  const std::string& path_;
  std::vector<std::ptrdiff_t> breaks_;  // where lines end in text_
  std::string role_key_, default_role_;
  std::unordered_map<std::string, int> number_;  // by node id
  std::array<int, 3> sizes_ = {};                // by role
};

}  // namespace

Graph from_graphml(std::string_view text, const std::string& path) {
  return Reader(text, path).read();
}

std::string to_graphml(const Graph& graph) {
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
      "  <key id=\"role\" for=\"node\" attr.name=\"role\" attr.type=\"string\"/>\n"
      "  <graph edgedefault=\"directed\">\n";
  for (int n = 0; n < graph.nodes; ++n) {
    fmt::format_to(std::back_inserter(text),
                   "    <node id=\"{}\"><data key=\"role\">{}</data></node>\n", n,
                   kRoles[graph.is_input(n)    ? 0
                          : graph.is_output(n) ? 2
                                               : 1]);
  }
  for (int n = 0; n < graph.nodes; ++n) {
    for (int e = graph.first[n]; e < graph.first[n + 1]; ++e) {
      fmt::format_to(std::back_inserter(text), "    <edge source=\"{}\" target=\"{}\"/>\n",
                     graph.sources[e], n);
    }
  }
  return text + "  </graph>\n</graphml>\n";
}

}  // namespace hotloop
