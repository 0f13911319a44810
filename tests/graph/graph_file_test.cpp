#include "graph/graph_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "graph/graph_text.hpp"
#include "tests/graph/graph_checks.hpp"

namespace hotloop {
namespace {

class GraphFile : public testing::Test {
 protected:
  GraphFile()
      : folder_(testing::TempDir() + "hotloop_graph_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(folder_);
  }
  ~GraphFile() override { std::filesystem::remove_all(folder_); }

  std::string read(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_ + "/" + name, text);
    return read_graph_file(folder_ + "/" + name);
  }

  // The error message without the folder.
  std::string complaint(const std::string& name, const std::string& text) const {
    try {
      read(name, text);
    } catch (const UsageError& error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.starts_with(folder_ + "/")) << what;
      return what.substr(folder_.size() + 1);
    }
    return "none";
  }

  std::string graphml(const std::string& inside, const std::string& fallback = "") const {
    return "<graphml>\n<key id=\"d0\" for=\"node\" attr.name=\"role\">" + fallback +
           "</key>\n<graph edgedefault=\"directed\">\n" + inside + "</graph>\n</graphml>\n";
  }

  std::string folder_;
};

TEST_F(GraphFile, EveryFormatGivesBackTheSameGraph) {
  std::vector<Graph> graphs = {
      generate_graph(small_world(32, 9, .2), 4, 2),
      generate_graph({.kind = GraphKind::dense, .hidden = {}}, 2, 3),
      // Edges to smaller numbers, predecessors in any order, a neuron without predecessors.
      make_graph(2, 4, 1, {{5, 3}, {0, 3}, {1, 2}, {0, 5}, {2, 5}, {3, 6}, {4, 6}}, "here")};
  for (const GraphKind kind : {GraphKind::random, GraphKind::scale_free, GraphKind::modular}) {
    GraphOptions options = small_world(30, 4, .3);
    options.kind = kind;
    graphs.push_back(generate_graph(options, 3, 2));
  }
  for (const Graph& graph : graphs) {
    const std::string text = to_text(graph);
    EXPECT_EQ(graph_from_text(text, "here"), graph);
    EXPECT_EQ(read("a.txt", to_edge_list(graph)), text);
    EXPECT_EQ(read("a.edges", to_edge_list(graph)), text);
    EXPECT_EQ(read("a.json", to_json(graph)), text);
    EXPECT_EQ(read("a.graphml", to_graphml(graph)), text);
  }
}

TEST_F(GraphFile, EdgeListByHand) {
  const std::string expected = "2 1 1: 0>2 1>2 2>3";
  EXPECT_EQ(read("a.txt", "# inputs 2 outputs 1\n0 2\n1 2\n2 3\n"), expected);
  EXPECT_EQ(read("a.txt", "\n  #inputs 2 hidden 1 outputs 1\r\n\n0\t2 # first\r\n 1 2\n# x\n2 3"),
            expected);
  EXPECT_EQ(read("a.txt", "outputs 1 inputs 2\n0 2\n1 2\n2 3"), expected);
}

TEST_F(GraphFile, EdgeListSaysWhichLineIsWrong) {
  const std::string begins = "an edge list begins with a line like \"# inputs 4 outputs 2\"";
  EXPECT_EQ(complaint("a.txt", ""), "a.txt:1: " + begins);
  EXPECT_EQ(complaint("a.txt", "\n0 2\n"), "a.txt:2: " + begins);
  EXPECT_EQ(complaint("a.txt", "# inputs 2\n0 2\n"), "a.txt:1: " + begins);
  EXPECT_EQ(complaint("a.txt", "# inputs 2 inputs 2 outputs 1\n"), "a.txt:1: " + begins);
  EXPECT_EQ(complaint("a.txt", "# inputs 1 outputs 1\n0 1\n0 1 2\n"),
            "a.txt:3: \"0 1 2\" is not an edge; expected \"source target\"");
  EXPECT_EQ(complaint("a.txt", "# inputs 1 outputs 1\n0 x\n"),
            "a.txt:2: \"0 x\" is not an edge; expected \"source target\"");
  EXPECT_EQ(complaint("a.txt", "# inputs 1 outputs 1\n0 1\n\n0 1\n"),
            "a.txt:4: edge 0>1: given twice");
  EXPECT_EQ(complaint("a.txt", "# inputs 1 hidden 1 outputs 1\n0 1\n1 5\n"),
            "a.txt:3: edge 1>5: there is no neuron 5; the 3 neurons are 0 to 2");
  EXPECT_EQ(complaint("a.txt", "# inputs 1 outputs 1\n0 1\n1 2\n2 1\n1 3\n"),
            "a.txt: a cycle: 1 > 2 > 1");
}

TEST_F(GraphFile, JsonByHand) {
  EXPECT_EQ(read("a.json", R"({"edges": [[0, 2], [1, 2], [2, 3]], "inputs": 2, "outputs": 1})"),
            "2 1 1: 0>2 1>2 2>3");
}

TEST_F(GraphFile, JsonSaysWhatIsWrong) {
  EXPECT_EQ(complaint("a.json", "{\n\"inputs\": 2,\n]"), "a.json:3: this is not JSON");
  EXPECT_EQ(complaint("a.json", ""), "a.json:1: this is not JSON");
  EXPECT_EQ(complaint("a.json", "[]"), "a.json: a graph is a JSON object");
  EXPECT_EQ(
      complaint("a.json", R"({"input": 2})"),
      "a.json: unknown key input; did you mean inputs? (allowed: inputs, hidden, outputs, edges)");
  EXPECT_EQ(complaint("a.json", R"({"inputs": 1, "outputs": 1})"),
            "a.json: edges: expected a list of [source, target]");
  EXPECT_EQ(complaint("a.json", R"({"inputs": 1, "outputs": 1, "edges": [[0, 1], [1]]})"),
            "a.json: edges[1]: [1] is not [source, target]");
  EXPECT_EQ(complaint("a.json", R"({"inputs": 1, "outputs": 1, "edges": [[0, 1e9]]})"),
            "a.json: edges[0]: [0,1000000000.0] is not [source, target]");
  EXPECT_EQ(complaint("a.json", R"({"inputs": "1", "outputs": 1, "edges": [[0, 1]]})"),
            "a.json: inputs: expected a number");
  EXPECT_EQ(complaint("a.json", R"({"inputs": 1, "outputs": 1, "edges": [0]})"),
            "a.json: edges[0]: 0 is not [source, target]");
  EXPECT_EQ(complaint("a.json", R"({"inputs": 1, "outputs": 1, "edges": {"a": 0}})"),
            "a.json: edges: expected a list of [source, target]");
  EXPECT_EQ(complaint("a.json", R"({"inputs": 1E3333})"), "a.json: a number is too large");
  EXPECT_EQ(complaint("a.json", R"({"edges": [[0, 1]], "edges": [[0, 1]]})"),
            "a.json: edges: given twice");
  EXPECT_EQ(complaint("a.json", R"({"inputs": 1, "outputs": 1, "edges": [[0, 99999999999]]})"),
            "a.json: edges[0]: [0,99999999999] is not [source, target]");
}

TEST_F(GraphFile, GraphmlByHand) {
  // Ids in any order, a default role, foreign attributes and comments.
  const std::string inside = R"(<node id="out"><data key="d0">output</data></node>
<node id="a"><data key="d9">7</data><data key="d0">input</data></node>
<!-- by default hidden --><node id="middle"/>
<node id="b"><data key="d0">input</data></node>
<edge source="b" target="middle"><data key="weight">0.5</data></edge>
<edge source="a" target="middle" directed="true"/>
<edge source="middle" target="out"/>
)";
  EXPECT_EQ(read("a.graphml", graphml(inside, "<default>hidden</default>")), "2 1 1: 1>2 0>2 2>3");
}

TEST_F(GraphFile, GraphmlSaysWhichLineIsWrong) {
  const std::string ends =
      "<node id=\"a\"><data key=\"d0\">input</data></node>\n"
      "<node id=\"b\"><data key=\"d0\">output</data></node>\n";
  EXPECT_EQ(complaint("a.graphml", graphml(ends + "<edge source=\"a\" target=\"b\"/>\n")), "none");
  EXPECT_EQ(complaint("a.graphml", graphml(ends + "<edge source=\"a\" target=\"c\"/>\n")),
            "a.graphml:6: edge: target \"c\" is not a node");
  EXPECT_EQ(complaint("a.graphml", graphml(ends + "<edge source=\"b\" target=\"a\"/>\n")),
            "a.graphml:6: edge 1>0: neuron 0 is an input, which cannot have incoming edges");
  EXPECT_EQ(complaint("a.graphml",
                      graphml(ends + "<edge source=\"a\" target=\"b\" directed=\"false\"/>\n")),
            "a.graphml:6: edges must be directed: directed=\"true\"");
  EXPECT_EQ(complaint("a.graphml", graphml(ends + ends)), "a.graphml:6: node a: given twice");
  EXPECT_EQ(
      complaint("a.graphml", graphml("<node id=\"a\"><data key=\"d0\">inputs</data></node>\n")),
      "a.graphml:4: node a: role \"inputs\"; did you mean input? (allowed: input, hidden, output)");
  EXPECT_EQ(complaint("a.graphml", "<graphml>\n<graph>\n</graphml>\n"),
            "a.graphml:3: this is not XML: Start-end tags mismatch");
  EXPECT_EQ(complaint("a.graphml", "<svg/>"),
            "a.graphml:1: expected <graphml> with a <graph> inside");
  EXPECT_EQ(complaint("a.graphml", "<graphml>\n<graph edgedefault=\"undirected\"/></graphml>"),
            "a.graphml:2: edges must be directed: edgedefault=\"directed\"");
  EXPECT_EQ(complaint("a.graphml", "<graphml><graph edgedefault=\"directed\"/></graphml>"),
            "a.graphml:1: no <key> for nodes with attr.name=\"role\": input, hidden or output");
}

// 111 bytes that used to take gigabytes.
TEST_F(GraphFile, SizesAreCheckedFirst) {
  const std::string wanted =
      "1000000000 hidden neurons and 2 outputs; a graph has at least one "
      "input and one output, and at most 100000 neurons";
  EXPECT_EQ(complaint("a.txt", "# inputs 4 hidden 1000000000 outputs 2\n0 4\n"),
            "a.txt: 4 inputs, " + wanted);
  EXPECT_EQ(
      complaint("a.json", R"({"inputs": 4, "hidden": 1000000000, "outputs": 2, "edges": []})"),
      "a.json: 4 inputs, " + wanted);
  EXPECT_NE(complaint("a.txt", "inputs 1 outputs 1\n0 2147483647\n").find("at most 100000"),
            std::string::npos);
  EXPECT_NE(complaint("a.txt", "inputs 2147483647 outputs 2147483647\n").find("at most 100000"),
            std::string::npos);
  std::string nodes;
  for (int i = 0; i <= 100'000; ++i) nodes += "<node id=\"" + std::to_string(i) + "\"/>\n";
  EXPECT_EQ(complaint("a.graphml", graphml(nodes, "<default>hidden</default>")),
            "a.graphml:100004: more than 100000 nodes; a graph has at most that many");
}

TEST_F(GraphFile, EdgesAreCountedWhileTheyAreRead) {
  std::string lines = "inputs 1 outputs 1\n";
  for (int i = 0; i < 4'000'001; ++i) lines += "0 1\n";
  EXPECT_EQ(complaint("a.txt", lines), "a.txt: 4000001 edges; a graph has at most 4000000");
}

TEST_F(GraphFile, LargeFilesAreNotRead) {
  write_file_atomically(folder_ + "/a.json", "{}");
  std::filesystem::resize_file(folder_ + "/a.json", (64 << 20) + 1);  // a hole takes no space
  try {
    read_graph_file(folder_ + "/a.json");
    FAIL() << "it was read";
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()).substr(folder_.size() + 1),
              "a.json: 67108865 bytes; a file with a graph has at most 67108864");
  }
  const std::string text(static_cast<std::size_t>(64 << 20) + 1, ' ');
  EXPECT_THROW(graph_file_text(text, "a.json"), UsageError);
}

TEST_F(GraphFile, DeepNestingIsRefusedOrIgnored) {
  constexpr int kDepth = 200'000;
  const std::string open(kDepth, '['), close(kDepth, ']');
  const std::string deep = "a.json: nested too deeply; an edge is [source, target]";
  EXPECT_EQ(complaint("a.json", open + close), "a.json: a graph is a JSON object");
  EXPECT_EQ(complaint("a.json", R"({"hidden": )" + open), "a.json: hidden: expected a number");
  EXPECT_EQ(complaint("a.json", R"({"inputs": 1, "outputs": 1, "edges": )" + open + close + "}"),
            deep);
  EXPECT_EQ(complaint("a.json", R"({"edges": [[0, {"a": 1}]]})"), deep);
  std::string inside =
      "<node id=\"a\"><data key=\"d0\">input</data></node>\n"
      "<node id=\"b\"><data key=\"d0\">output</data></node>\n"
      "<edge source=\"a\" target=\"b\"/>\n";
  for (int i = 0; i < kDepth; ++i) inside += "<a>";
  for (int i = 0; i < kDepth; ++i) inside += "</a>";
  EXPECT_EQ(complaint("a.graphml", graphml(inside)), "none");
}

// Entities of a file are not expanded, so none can grow.
TEST_F(GraphFile, EntitiesAreNotExpanded) {
  std::string text = "<!DOCTYPE graphml [<!ENTITY a \"input\">";
  for (int i = 0; i < 20; ++i) text += "<!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">";
  EXPECT_EQ(complaint("a.graphml",
                      text + "]>" + graphml("<node id=\"a\"><data key=\"d0\">&b;</data></node>\n")),
            "a.graphml:4: node a: role \"&b;\"; allowed: input, hidden, output");
}

TEST_F(GraphFile, QuotesAreShortAndPrintable) {
  const std::string found =
      complaint("a.txt", "inputs 1 outputs 1\n\x1b[31m" + std::string(1'000'000, 'x') + "\n");
  EXPECT_TRUE(found.starts_with("a.txt:2: \"\\x1b[31mxxx")) << found.substr(0, 100);
  EXPECT_LT(found.size(), 400u);
  EXPECT_EQ(complaint("a.json", R"({"\u001b[2J": 1})"),
            "a.json: unknown key \\x1b[2J; allowed: inputs, hidden, outputs, edges");
  EXPECT_LT(complaint("a.json", "{\"" + std::string(1'000'000, 'x') + "\": 1}").size(), 400u);
}

TEST_F(GraphFile, OtherEndingsAndMissingFiles) {
  EXPECT_EQ(complaint("a.gml", ""),
            "a.gml: the file extension gives the format; allowed: .txt, .edges, .json, .graphml");
  EXPECT_THROW(read_graph_file(folder_ + "/none.json"), RunError);
  std::filesystem::create_symlink("/dev/zero", folder_ + "/endless.json");
  EXPECT_THROW(read_graph_file(folder_ + "/endless.json"), UsageError);
}

}  // namespace
}  // namespace hotloop
