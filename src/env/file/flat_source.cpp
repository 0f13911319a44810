#include "env/file/flat_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include <hotloop/error.hpp>

#include "core/file.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 32;  // of nested includes
constexpr std::size_t kMaxBytes = 16 << 20;
constexpr std::string_view kOnce = "#pragma once";

// The name in `#include "name"`; empty for any other line.
std::string included_name(std::string_view line) {
  const auto skip = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip();
  if (!line.starts_with('#')) return "";
  line.remove_prefix(1);
  skip();
  constexpr std::string_view kWord = "include";
  if (!line.starts_with(kWord)) return "";
  line.remove_prefix(kWord.size());
  skip();
  if (!line.starts_with('"')) return "";
  line.remove_prefix(1);
  return std::string(line.substr(0, line.find('"')));
}

class Flattener {
 public:
  explicit Flattener(std::string shown) : source_(std::move(shown)) {}

  void add(const fs::path& path, const std::string& shown, int depth) {
    if (depth > kMaxDepth) {
      throw UsageError(fmt::format(
          "{}: includes itself, or its includes are nested more than {} deep", shown, kMaxDepth));
    }
    add_text(read(path), path, shown, depth);
  }

  std::string text() && {
    // `#pragma once` has no meaning in the middle of a file, and compilers warn about it.
    for (std::size_t at = 0; !once_.empty() && (at = text_.find(kOnce, at)) != std::string::npos;) {
      text_.replace(at, kOnce.size(), std::string(kOnce.size(), ' '));
    }
    return std::move(text_);
  }
  const std::vector<std::string>& included() const { return included_; }

 private:
  std::string read(const fs::path& path) const {
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (!error && text_.size() + size > kMaxBytes) too_large();
    return std::string(read_file(path.string()).text());
  }

  [[noreturn]] void too_large() const {
    throw UsageError(fmt::format("{}: with the files that it includes it has more than {} MB",
                                 source_, kMaxBytes >> 20));
  }

  void add_text(const std::string& text, const fs::path& path, const std::string& shown,
                int depth) {
    std::stringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (text_.size() > kMaxBytes) too_large();
      const std::string name = included_name(line);
      std::error_code error;
      const fs::path included = path.parent_path() / name;
      if (name.empty() || !fs::is_regular_file(included, error)) {
        text_ += line;
        if (!lines.eof()) text_ += '\n';
        continue;
      }
      if (std::ranges::find(included_, name) == included_.end()) included_.push_back(name);
      const bool is_once = read(included).find(kOnce) != std::string::npos;
      if (!is_once || once_.insert(fs::canonical(included, error)).second) {
        text_ += fmt::format("#line 1 \"{}\"\n", name);
        add(included, name, depth + 1);
      }
      text_ += fmt::format("\n#line {} \"{}\"\n", number + 1, shown);
    }
  }

  std::string source_;
  std::string text_;
  std::set<fs::path> once_;  // included files with #pragma once
  std::vector<std::string> included_;
};

std::string in_quotes(const std::string& path) {
  std::string quoted = "\"";
  for (const char c : path) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string flat_source(const std::string& path, std::vector<std::string>* included) {
  const fs::path file(path);
  Flattener source(file.filename().string());
  source.add(file, file.filename().string(), 0);
  if (included != nullptr) *included = source.included();
  return std::move(source).text();
}

std::string with_places(std::string_view flat, const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::string text = fmt::format("#line 1 {}\n", in_quotes(path));
  for (std::size_t at = 0; at < flat.size();) {
    const std::size_t end = std::min(flat.find('\n', at), flat.size() - 1) + 1;
    const std::string_view line = flat.substr(at, end - at);
    const std::size_t open = line.find('"'), close = line.rfind('"');
    if (line.starts_with("#line ") && open < close && close != std::string_view::npos) {
      const fs::path name(line.substr(open + 1, close - open - 1));
      text += fmt::format("{}{}\n", line.substr(0, open), in_quotes((folder / name).string()));
    } else {
      text += line;
    }
    at = end;
  }
  return text;
}

}  // namespace hotloop
