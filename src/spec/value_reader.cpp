#include "spec/value_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <hotloop/error.hpp>
#include <optional>

#include "algo/common/algorithm.hpp"
#include "core/text.hpp"

namespace hotloop {
void fail_at(std::string_view where, std::string_view path, std::string_view what) {
  throw UsageError(path.empty() ? fmt::format("{}: {}", where, what)
                                : fmt::format("{}: {}: {}", where, path, what));
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return printable(text, 60);
}

namespace {

bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }

}  // namespace

std::string found(const YAML::Node& node) {
  if (node.IsSequence()) return "a list";
  if (node.IsMap()) return "a mapping";
  if (!node.IsScalar()) return "nothing";
  return is_quoted(node) ? fmt::format("the text \"{}\"", one_line(node.Scalar()))
                         : one_line(node.Scalar());
}

namespace {

template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// An integer, possibly written like 1e5 if a double represents it exactly.
template <class T>
std::optional<T> integer_in(std::string_view text) {
  if (const auto value = number_in<T>(text)) return value;
  const std::optional<double> value = number_in<double>(text);
  const bool exact = value && *value == std::trunc(*value) && std::abs(*value) <= 0x1p53;
  return exact && (std::is_signed_v<T> || *value >= 0) ? std::optional(static_cast<T>(*value))
                                                       : std::nullopt;
}

// Only letters, digits and the characters of `also`.
bool is_made_of(std::string_view text, std::string_view also) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           also.find(c) != also.npos;
  });
}

// Sets the field of one key from its node. One overload per field type.
struct Setter {
  const Key& key;
  const Entry& entry;

  [[noreturn]] void fail_expected(std::string_view expected, std::string_view allowed) const {
    fail_at(entry.where, key.path,
            fmt::format("expected {}, found {}{}{}", expected, found(entry.node),
                        allowed.empty() ? "" : "; allowed: ", allowed));
  }
  std::string allowed() const { return key.range.text(key.leaf()); }

  // The scalar as text, if it is not quoted.
  std::optional<std::string_view> plain(const YAML::Node& node) const {
    if (!node.IsScalar() || is_quoted(node)) return std::nullopt;
    return node.Scalar();
  }

  void check_range(const YAML::Node& node, double value, std::string_view name) const {
    if (!std::isfinite(value) || !key.range.contains(value)) {
      fail_at(entry.where, key.path,
              fmt::format("{} is out of range; allowed: {}", found(node), key.range.text(name)));
    }
  }

  std::int64_t integer(const YAML::Node& node, std::string_view expected,
                       std::string_view name) const {
    const std::optional<std::string_view> text = plain(node);
    const std::optional<std::int64_t> value = text ? integer_in<std::int64_t>(*text) : std::nullopt;
    if (!value) {
      // 1e30 and 99999999999999999999 are valid numbers, but too large.
      if (const auto large = text ? number_in<double>(*text) : std::nullopt;
          large && std::abs(*large) > 0x1p53) {
        check_range(node, *large, name);
      }
      fail_expected(expected, key.range.text(name));
    }
    check_range(node, static_cast<double>(*value), name);
    return *value;
  }

  bool is_unset() const {
    return !key.unset.empty() && entry.node.IsScalar() && entry.node.Scalar() == key.unset;
  }
  std::string expected_integer() const {
    return key.unset.empty() ? "an integer" : fmt::format("an integer or {}", key.unset);
  }

  template <class T>
  T real() const {
    const std::optional<std::string_view> text = plain(entry.node);
    const std::optional<T> value = text ? number_in<T>(*text) : std::nullopt;
    if (!value)
      fail_expected(key.unset.empty() ? "a number" : fmt::format("a number or {}", key.unset),
                    allowed());
    check_range(entry.node, *value, key.leaf());
    return *value;
  }

  void operator()(bool* to) const {
    const std::optional<std::string_view> text = plain(entry.node);
    if (text != "true" && text != "false") fail_expected("true or false", "");
    *to = text == "true";
  }
  void operator()(int* to) const {
    *to = is_unset() ? 0 : static_cast<int>(integer(entry.node, expected_integer(), key.leaf()));
  }
  void operator()(std::int64_t* to) const {
    *to = is_unset() ? 0 : integer(entry.node, expected_integer(), key.leaf());
  }
  void operator()(std::uint64_t* to) const {
    const std::optional<std::string_view> text = plain(entry.node);
    const std::optional<std::uint64_t> value =
        text ? integer_in<std::uint64_t>(*text) : std::nullopt;
    if (!value) fail_expected("an integer", fmt::format("0 <= {} <= {}", key.leaf(), UINT64_MAX));
    *to = *value;
  }
  void operator()(float* to) const { *to = real<float>(); }
  void operator()(double* to) const {
    if (is_unset()) {
      *to = std::numeric_limits<double>::quiet_NaN();
    } else {
      *to = real<double>();
    }
  }
  void operator()(std::string* to) const {
    if (!entry.node.IsScalar()) fail_expected("text", "");
    *to = entry.node.Scalar();
  }
  void operator()(std::vector<int>* to) const {
    const std::string_view expected = "a list of integers such as [64, 64]";
    if (!entry.node.IsSequence()) fail_expected(expected, "");
    if (entry.node.size() > kMaxHiddenLayers) {
      fail_at(entry.where, key.path,
              fmt::format("{} items; allowed: up to {}", entry.node.size(), kMaxHiddenLayers));
    }
    to->clear();
    for (const YAML::Node& item : entry.node) {
      to->push_back(static_cast<int>(integer(item, "integers", "each")));
    }
  }
  void operator()(std::vector<double>* to) const {
    if (!entry.node.IsSequence()) fail_expected("a list of numbers such as [0.4, 0.3]", "");
    if (entry.node.size() > kMaxRewardParts) {
      fail_at(entry.where, key.path,
              fmt::format("{} items; allowed: up to {}", entry.node.size(), kMaxRewardParts));
    }
    to->clear();
    for (const YAML::Node& item : entry.node) {
      const std::optional<std::string_view> text = plain(item);
      const std::optional<double> value = text ? number_in<double>(*text) : std::nullopt;
      if (!value) fail_expected("numbers", key.range.text("each"));
      check_range(item, *value, "each");
      to->push_back(*value);
    }
  }
  void operator()(std::vector<Branch>* to) const {
    constexpr std::string_view kExpected = "branches such as {h: {from: part, layers: [dense 64]}}";
    if (!entry.node.IsMap()) fail_expected(kExpected, "");
    to->clear();
    for (const auto& item : entry.node) {
      const std::string name = item.first.IsScalar() ? item.first.Scalar() : "";
      const YAML::Node& parts = item.second;
      const std::string path = fmt::format("{}.{}", key.path, one_line(name));
      if (!is_made_of(name, "_"))
        fail_at(entry.where, path, "a name has letters, digits and _ only");
      if (std::any_of(to->begin(), to->end(), [&](const Branch& b) { return b.name == name; }))
        fail_at(entry.where, path, "given twice");
      if (!parts.IsMap()) fail_at(entry.where, path, fmt::format("expected {}", kExpected));
      Branch branch{.name = name, .from = {}, .layers = {}};
      for (const auto& part : parts) {
        constexpr std::array<std::string_view, 2> kParts = {"from", "layers"};
        const std::string which = part.first.IsScalar() ? part.first.Scalar() : "";
        if (std::find(kParts.begin(), kParts.end(), which) == kParts.end()) {
          fail_at(entry.where, fmt::format("{}.{}", path, one_line(which)),
                  fmt::format("unknown key; {}", suggestion(which, kParts)));
        }
        (which == "from" ? branch.from : branch.layers) =
            texts(part.second, fmt::format("{}.{}", path, which));
      }
      to->push_back(branch);
    }
    if (to->size() > kMaxHiddenLayers) {
      fail_at(entry.where, key.path,
              fmt::format("{} items; allowed: up to {}", to->size(), kMaxHiddenLayers));
    }
  }
  // One text or a list of texts, each of words, numbers and spaces.
  std::vector<std::string> texts(const YAML::Node& node, std::string_view path) const {
    std::vector<std::string> list;
    const auto add = [&](const YAML::Node& item) {
      std::string words = item.IsScalar() ? item.Scalar() : "";
      if (!is_made_of(words, "_ ") || words.front() == ' ' || words.back() == ' ') {
        fail_at(entry.where, path,
                fmt::format("expected words such as \"dense 64\", found {}", found(item)));
      }
      list.push_back(std::move(words));
    };
    if (!node.IsSequence()) {
      add(node);
    } else {
      for (const YAML::Node& item : node) add(item);
    }
    if (list.size() > kMaxHiddenLayers)
      fail_at(entry.where, path,
              fmt::format("{} items; allowed: up to {}", list.size(), kMaxHiddenLayers));
    return list;
  }
  void operator()(Schedule* to) const {
    const std::optional<std::string_view> text = plain(entry.node);
    const std::optional<double> value = text ? number_in<double>(*text) : std::nullopt;
    if (!value) fail_expected("a number or {kind, from, to, over}", "");
    check_range(entry.node, *value, key.leaf());
    *to = constant(*value);
  }
  // Adds an option as text; the environment parses it.
  void operator()(EnvOptions* to) const {
    const std::string text = entry.node.IsScalar() ? entry.node.Scalar() : "";
    if (!is_made_of(text, "_.+-")) fail_expected("a number or a word", "");
    to->emplace_back(key.path.substr(kEnvOptions.size() + 1), text);
  }
  void operator()(const Algorithm** to) const {
    const std::string name = entry.node.IsScalar() ? entry.node.Scalar() : "";
    *to = look_up_algorithm(name);
    if (*to != nullptr) return;
    if (!entry.node.IsScalar())
      fail_expected(fmt::format("one of {}", join(algorithm_names())), "");
    fail_at(
        entry.where, key.path,
        fmt::format("\"{}\" is unknown; {}", one_line(name), suggestion(name, algorithm_names())));
  }
  void operator()(const Choice& to) const {
    if (!entry.node.IsScalar()) fail_expected(fmt::format("one of {}", join(to.names)), "");
    const auto name = std::find(to.names.begin(), to.names.end(), entry.node.Scalar());
    if (name == to.names.end()) {
      fail_at(entry.where, key.path,
              fmt::format("\"{}\" is unknown; {}", one_line(entry.node.Scalar()),
                          suggestion(entry.node.Scalar(), to.names)));
    }
    to.set(to.field, static_cast<int>(name - to.names.begin()));
  }
};

}  // namespace

void set_field(const Key& key, const Entry& entry) { std::visit(Setter{key, entry}, key.field); }

}  // namespace hotloop
