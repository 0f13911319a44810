#include "spec/yaml_text.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <cstddef>
#include <sstream>

#include "core/text.hpp"
#include "spec/spec.hpp"
#include "spec/value_reader.hpp"

namespace hotloop {
namespace {

// The parser takes up to a kilobyte per value, so the number of values is limited as well: each
// needs one of these characters. A spec has a few hundred of them; only net.graph.edges, a single
// value without them, can make it large.
constexpr std::ptrdiff_t kMaxMarks = 20'000;

void check_size(std::string_view text, const std::string& where) {
  if (text.size() > kMaxSpecBytes) {
    fail_at(where, "", fmt::format("{} bytes; a spec has at most {}", text.size(), kMaxSpecBytes));
  }
  const auto marks = std::count_if(text.begin(), text.end(), [](char c) {
    constexpr std::string_view kMarks = "\n\r:,[]{}-?&*";
    return kMarks.find(c) != kMarks.npos;
  });
  if (marks > kMaxMarks) {
    fail_at(where, "",
            fmt::format("too long for a spec: {} line breaks and punctuation marks; allowed: up "
                        "to {}",
                        marks, kMaxMarks));
  }
}

// YAML has no other control characters than these. The parser drops some of them silently.
void check_characters(std::string_view text, const std::string& where, bool lines) {
  const auto bad = std::find_if(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r';
  });
  if (bad == text.end()) return;
  const auto line = 1 + std::count(text.begin(), bad, '\n');
  fail_at(lines ? fmt::format("{}:{}", where, line) : where, "",
          fmt::format("not valid YAML: a control character ({})", printable({&*bad, 1})));
}

// Ignores what is in a document.
struct IgnoreEvents final : YAML::EventHandler {
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// Whether another document follows the first. Not YAML::LoadAll: after a comma or a bracket that
// closes nothing it finds empty documents forever.
bool has_several_documents(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  IgnoreEvents ignore;
  return parser.HandleNextDocument(ignore) && parser.HandleNextDocument(ignore);
}

YAML::Node parse(std::string_view text, const std::string& where, bool lines, bool only_one) {
  check_size(text, where);
  check_characters(text, where, lines);
  const std::string copy(text);
  try {
    if (only_one && has_several_documents(copy))
      fail_at(where, "", "expected one YAML document, found several");
    return YAML::Load(copy);
  } catch (const YAML::ParserException& error) {
    fail_at(lines ? fmt::format("{}:{}", where, error.mark.line + 1) : where, "",
            "not valid YAML: " + error.msg);
  } catch (const YAML::Exception& error) {
    fail_at(where, "", "not valid YAML: " + error.msg);
  }
}

}  // namespace

YAML::Node parse_yaml(std::string_view text, const std::string& where, bool lines) {
  return parse(text, where, lines, true);
}

YAML::Node parse_first_yaml(std::string_view text, const std::string& where) {
  return parse(text, where, true, false);
}

}  // namespace hotloop
