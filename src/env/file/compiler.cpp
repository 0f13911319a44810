#include "env/file/compiler.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <hotloop/error.hpp>
#include <sstream>

#include "core/file.hpp"
#include "core/system.hpp"
#include "env/file/flat_source.hpp"
#include "env/file/program.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProbe = "hotloop/plugin.hpp";

bool is_program(const std::string& path) {
  return fs::is_regular_file(path) && access(path.c_str(), X_OK) == 0;
}

// An installed program finds its headers in include/ of its prefix, a build in its source tree.
std::string header_folder() {
  Dl_info self{};
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(&default_compiler), &self) != 0) {
    const fs::path file = fs::canonical(self.dli_fname, error);
    for (fs::path at = file.parent_path(); at.has_relative_path(); at = at.parent_path()) {
      if (fs::exists(at / "include" / kProbe, error)) return (at / "include").string();
    }
  }
  return fs::exists(fs::path(HOTLOOP_INCLUDE_DIR) / kProbe, error) ? HOTLOOP_INCLUDE_DIR : "";
}

// The parts of "file:12:5: error: text"; `kind` is empty for any other line.
struct Message {
  std::string file, kind, text;
  int line = 0;
};

Message read_message(const std::string& line) {
  Message message;
  std::size_t colon = 0;
  while ((colon = line.find(':', colon + 1)) != std::string::npos) {
    char* end = nullptr;
    const long number = std::strtol(line.c_str() + colon + 1, &end, 10);
    if (end == line.c_str() + colon + 1 || *end != ':') continue;
    std::string rest = end + 1;
    std::strtol(rest.c_str(), &end, 10);  // the column
    if (end != rest.c_str() && *end == ':') rest = end + 1;
    message.file = line.substr(0, colon);
    message.line = static_cast<int>(number);
    rest.erase(0, rest.find_first_not_of(' '));
    for (const std::string_view kind : {"fatal error", "error", "warning", "note"}) {
      if (!rest.starts_with(std::string(kind) + ": ")) continue;
      message.kind = kind;
      message.text = rest.substr(kind.size() + 2);
    }
    if (message.kind.empty()) message.text = rest;
    return message;
  }
  return message;
}

// Replaces backquotes by plain quotes.
std::string plain_quotes(std::string text) {
  for (char& c : text) {
    if (c == '`') c = '\'';
  }
  return text;
}

}  // namespace

std::string find_compiler(const std::string& preferred, const std::string& path) {
  if (is_program(preferred)) return preferred;
  for (const char* name : {"c++", "g++", "clang++"}) {
    std::stringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (folder.empty()) continue;
      if (std::string program = folder + "/" + name; is_program(program)) return program;
    }
  }
  return "";
}

WorldCompiler default_compiler() {
  const char* path = std::getenv("PATH");
  WorldCompiler compiler{
      .program = find_compiler(HOTLOOP_WORLD_COMPILER, path ? path : ""),
      .flags = {"-std=c++20", "-O3", "-DNDEBUG", "-Wall", "-Wextra", "-ffp-contract=off",
                "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared", "-fvisibility=hidden",
                "-fdiagnostics-color=never", "-fno-diagnostics-show-option"},
      .headers = header_folder()};
  if (HOTLOOP_WORLD_NATIVE) compiler.flags.emplace_back("-march=native");
  return compiler;
}

WorldCompiler sanitising_compiler() {
  WorldCompiler compiler = default_compiler();
  std::erase_if(compiler.flags, [](const std::string& flag) {
    return flag == "-O3" || flag == "-fPIC" || flag == "-shared" || flag.starts_with("-W") ||
           flag.starts_with("-fvisibility");
  });
  // No check of every pointer: that compiles slowly, and the address sanitizer covers it.
  compiler.flags.insert(
      compiler.flags.end(),
      {"-O1", "-g1", "-w", "-D_GLIBCXX_ASSERTIONS",
       "-fsanitize=address,bounds,signed-integer-overflow,shift,integer-divide-by-zero,"
       "float-cast-overflow,bool,enum,return,unreachable",
       std::string(kStrictBounds)});
  compiler.prelude = "hotloop/play_alone.hpp";
  compiler.extension = ".play";
  compiler.depends_on_path = true;
  return compiler;
}

std::string compiler_identity(const WorldCompiler& compiler) {
  std::string text = compiler.program + ' ' + compiler.prelude;
  std::error_code error;
  const fs::path program = fs::canonical(compiler.program, error);
  text += fmt::format(" {} {}", fs::file_size(program, error),
                      fs::last_write_time(program, error).time_since_epoch().count());
  for (const std::string& flag : compiler.flags) text += ' ' + flag;
  if (std::find(compiler.flags.begin(), compiler.flags.end(), "-march=native") !=
      compiler.flags.end()) {
    text += cpu_name();
  }
  std::vector<std::string> headers;
  for (const auto& file : fs::directory_iterator(compiler.headers + "/hotloop", error)) {
    headers.push_back(file.path().string());
  }
  std::sort(headers.begin(), headers.end());
  for (const std::string& header : headers) text += read_file(header).text();
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::string readable_errors(std::string_view messages, const std::string& source) {
  std::vector<std::string> own, contract, other;
  int required_at = 0;  // the author's line that instantiated code in a header
  bool keep_excerpt = false;
  std::stringstream lines{std::string(messages)};
  for (std::string line; std::getline(lines, line);) {
    const bool is_excerpt = line.starts_with(" ") && line.find('|') != std::string::npos;
    if (is_excerpt) {  // the source line, and a caret below it
      if (keep_excerpt) own.back() += "\n" + line;
      continue;
    }
    const Message m = read_message(line);
    if (m.file.empty()) continue;
    if (m.file == source && m.text.find("required from") != std::string::npos) required_at = m.line;
    const bool is_error = m.kind.ends_with("error");
    if (!m.kind.empty()) keep_excerpt = is_error && m.file == source;
    if (!is_error) continue;
    constexpr std::string_view kAssertion = "static assertion failed: ";
    if (m.file == source) {
      own.push_back(fmt::format("{}:{}: {}", source, m.line, m.text));
    } else if (const auto at = m.text.find(kAssertion); at != std::string::npos) {
      contract.push_back(fmt::format("{}:{}: {}", source, required_at,
                                     plain_quotes(m.text.substr(at + kAssertion.size()))));
    } else if (required_at > 0) {
      other.push_back(fmt::format("{}:{}: {}", source, required_at, m.text));
    } else {
      other.push_back(line);
    }
  }
  // Other errors in headers are mostly consequences of these.
  std::vector<std::string> all = std::move(own);
  all.insert(all.end(), contract.begin(), contract.end());
  if (all.empty()) all = std::move(other);
  constexpr std::size_t kMax = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), kMax); ++i) {
    text += (i == 0 ? "" : "\n") + all[i];
  }
  if (all.size() > kMax) text += fmt::format("\nand {} more", all.size() - kMax);
  return text.empty() ? std::string(messages.substr(0, 4000)) : text;
}

std::string compile_world(const WorldCompiler& compiler, const std::string& flat,
                          const std::string& source, const std::string& output) {
  if (compiler.program.empty()) {
    throw UsageError(fmt::format(
        "{}: no C++ compiler found: {} no longer exists, and c++, g++ and clang++ are not in PATH; "
        "install one, e.g. apt install g++",
        source, HOTLOOP_WORLD_COMPILER));
  }
  if (compiler.headers.empty()) {
    throw UsageError(
        fmt::format("{}: hotloop's headers are neither in include/ above this program nor in {}",
                    source, HOTLOOP_INCLUDE_DIR));
  }
  const std::string input = output + ".cpp";
  write_file_atomically(input, with_places(flat, source));
  std::vector<std::string> command = {compiler.program};
  command.insert(command.end(), compiler.flags.begin(), compiler.flags.end());
  command.insert(command.end(),
                 {"-I", compiler.headers, "-include", compiler.prelude, "-o", output, input});
  const ProgramResult result =
      run_program(command, {.settings = {"TMPDIR=" + fs::path(output).parent_path().string()}});
  if (result.code == 0) return result.text;
  throw UsageError(
      fmt::format("{} does not compile:\n{}", source, readable_errors(result.text, source)));
}

}  // namespace hotloop
