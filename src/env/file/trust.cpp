#include "env/file/trust.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "core/note.hpp"
#include "core/text.hpp"
#include "env/file/cache.hpp"
#include "env/file/flat_source.hpp"
#include "env/file/sha256.hpp"
#include "env/file/world_file.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

thread_local bool trusts_all = false;

// Names come from strangers. Whole, because the end of a path matters most.
std::string safe_name(std::string_view name) { return printable(name, name.size()); }

// The hash and the kind: the bytes of a source are not trusted as a library.
std::string key_of(const Code& code) { return fmt::format("{} {}", sha256(code.bytes), code.kind); }

// The list in its file, and what was trusted in this process, in case that it cannot be written.
class Trusted {
 public:
  bool contains(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    return keys_.contains(key) || text().find("\n" + key + " ") != std::string::npos;
  }

  void add(const Code& code) {
    const std::string key = key_of(code);
    if (contains(key)) return;
    const std::lock_guard lock(mutex_);
    keys_.insert(key);
    append(fmt::format("{} {:%Y-%m-%d} {}\n", key, fmt::gmtime(std::time(nullptr)),
                       safe_name(code.name)));
  }

 private:
  // The path of the list, in a folder of the user's own; "" if there is none.
  static std::string path() {
    const fs::path list = trust_list();
    const auto is_list = [&](std::string_view name) { return name == list.filename(); };
    return !list.empty() && claim_folder(list.parent_path(), is_list).empty() ? list.string() : "";
  }

  // "" if the file is missing, or can be changed by others.
  static std::string text() {
    const std::optional<OwnFile> list = OwnFile::open(path());
    return list ? "\n" + list->text() : "";
  }

  // One write to the end of the file: lines of other processes stay whole.
  static void append(std::string line) {
    const std::string file = path();
    if (file.empty()) return;
    constexpr int kFlags = O_RDWR | O_APPEND | O_CREAT;
    std::optional<OwnFile> list = OwnFile::open(file, kFlags);
    if (!list) {  // a link, or a file that others can change
      unlink(file.c_str());
      std::optional<OwnFile> again = OwnFile::open(file, kFlags | O_EXCL);
      if (!again) return;
      list.emplace(std::move(*again));
    }
    const std::string before = list->text();
    if (!before.empty() && before.back() != '\n') line = '\n' + line;  // a killed writer's half
    list->append(line);
  }

  mutable std::mutex mutex_;
  std::set<std::string> keys_;
};

Trusted& trusted() {
  static Trusted all;
  return all;
}

std::string what_is(const Code& code) {
  if (code.kind == "module") return "a Python module, which is imported";
  if (code.kind == "library") return fmt::format("a library of {} bytes", code.bytes.size());
  constexpr std::size_t kMaxNames = 8;
  std::string text = fmt::format("a C++ source of {} bytes", code.bytes.size());
  for (std::size_t i = 0; i < std::min(code.included.size(), kMaxNames); ++i) {
    text += fmt::format("{} {}", i == 0 ? ", with" : ",", safe_name(code.included[i]));
  }
  if (code.included.size() > kMaxNames) {
    text += fmt::format(" and {} more", code.included.size() - kMaxNames);
  }
  return text;
}

std::string shown_name(const Code& code) {
  if (code.kind == "module") return safe_name(code.name);
  std::error_code unknown;
  const fs::path whole = fs::absolute(code.name, unknown);
  return safe_name(unknown ? code.name : whole.lexically_normal().string());
}

// False if there is no terminal, or for any answer but yes.
bool asked(const Code& code) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0) return false;
  print_note(
      "This code was not made or used here by you:\n"
      "  {}\n  {}\n  SHA-256 {}\n"
      "It was named by a file, not by your command. If it runs, it can do what you can do: "
      "read,\nchange, delete and send your files. The answer is remembered for this content.\n"
      "Run it? [y/N] ",
      shown_name(code), what_is(code), sha256(code.bytes));
  std::fflush(stderr);
  tcflush(STDIN_FILENO, TCIFLUSH);  // what was typed before the question is no answer
  std::string answer;
  for (char c = 0; read(STDIN_FILENO, &c, 1) == 1 && c != '\n';) answer += c;
  return answer == "y" || answer == "Y" || answer == "yes";
}

[[noreturn]] void refuse(const Code& code) {
  const std::string name = safe_name(code.name);
  throw UsageError(fmt::format(
      "{}: not run: this code was not made or used here by you, and your command does not name it\n"
      "  {}\n  SHA-256 {}\n"
      "if you trust it: {}, or repeat the command with --trust (in Python: trust=True); see "
      "docs/trust.md",
      name, what_is(code), sha256(code.bytes),
      code.kind == "module" ? "import it first" : fmt::format("hotloop check '{}'", name)));
}

}  // namespace

Code read_code(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    throw UsageError(
        fmt::format("{}: no such file (the current folder is {}); an environment's source ends in "
                    ".cpp, a plug-in in .so; hotloop new env NAME writes one to start from",
                    path, fs::current_path(error).string()));
  }
  if (path.ends_with(".so")) return {"library", path, std::string(read_file(path).text())};
  Code code{"source", path, ""};
  code.bytes = flat_source(path, &code.included);
  return code;
}

Code python_module(const std::string& name) { return {"module", name, "import " + name}; }

TrustedCode::TrustedCode(Code code) : code_(std::move(code)) {
  static std::mutex one_question;
  const std::lock_guard lock(one_question);
  if (trusted().contains(key_of(code_))) return;
  if (!trusts_all && !asked(code_)) refuse(code_);
  trust(code_);
}

void trust(const Code& code) { trusted().add(code); }

void trust_named(const std::string& word) {
  constexpr std::string_view kKey = "env.name=";
  const std::string path = word.starts_with(kKey) ? word.substr(kKey.size()) : word;
  std::error_code error;
  if (is_world_file(path) && fs::is_regular_file(path, error)) trust(read_code(path));
}

TrustAll::TrustAll(bool is_on) : before_(trusts_all) { trusts_all = trusts_all || is_on; }
TrustAll::~TrustAll() { trusts_all = before_; }

std::string trust_list() {
  const auto folder = [](const char* variable) -> fs::path {
    const char* value = std::getenv(variable);
    return value != nullptr && *value == '/' ? value : "";
  };
  fs::path state = folder("XDG_STATE_HOME");
  if (state.empty() && !folder("HOME").empty()) state = folder("HOME") / ".local/state";
  return state.empty() ? "" : (state / "hotloop/trusted").string();
}

}  // namespace hotloop
