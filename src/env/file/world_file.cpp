#include "env/file/world_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "env/check/battery.hpp"
#include "env/check/trial.hpp"
#include "env/file/plugin.hpp"
#include "env/isolate/isolated_worlds.hpp"
#include "env/registry.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

// The contents of loaded files by name, to be saved in run folders.
struct Loaded {
  std::mutex mutex;
  std::map<std::string, std::string> contents;
};
Loaded& loaded() {
  static Loaded all;
  return all;
}

void remember(const std::string& path, std::string content) {
  const std::lock_guard lock(loaded().mutex);
  loaded().contents[path] = std::move(content);
}

// The content that was loaded under that name, if any.
std::optional<std::string> remembered(const std::string& path) {
  const std::lock_guard lock(loaded().mutex);
  const auto known = loaded().contents.find(path);
  if (known == loaded().contents.end()) return std::nullopt;
  return known->second;
}

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

constexpr int kMaxDepth = 32;  // of nested includes

void flatten(const fs::path& path, const std::string& shown, int depth, std::set<fs::path>& once,
             std::string& to) {
  if (depth > kMaxDepth) {
    throw UsageError(fmt::format(
        "{}: includes itself, or its includes are nested more than {} deep", shown, kMaxDepth));
  }
  const std::string text(read_file(path.string()).text());
  std::stringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string name = included_name(line);
    std::error_code error;
    const fs::path included = path.parent_path() / name;
    if (name.empty() || !fs::is_regular_file(included, error)) {
      to += line;
      if (!lines.eof()) to += '\n';
      continue;
    }
    const fs::path same = fs::canonical(included, error);
    const bool is_once =
        read_file(included.string()).text().find("#pragma once") != std::string_view::npos;
    if (!is_once || once.insert(same).second) {
      to += fmt::format("#line 1 \"{}\"\n", name);
      flatten(included, name, depth + 1, once, to);
    }
    to += fmt::format("\n#line {} \"{}\"\n", number + 1, shown);
  }
}

// `#pragma once` has no meaning in the middle of a flattened file, and compilers warn about it.
std::string without_pragma_once(std::string text, bool has_includes) {
  constexpr std::string_view kPragma = "#pragma once";
  for (std::size_t at = 0; has_includes && (at = text.find(kPragma, at)) != std::string::npos;) {
    text.replace(at, kPragma.size(), std::string(kPragma.size(), ' '));
  }
  return text;
}

bool make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  return access(folder.c_str(), W_OK | X_OK) == 0;
}

[[noreturn]] void no_such_file(const std::string& path) {
  const fs::path here = fs::current_path();
  throw UsageError(
      fmt::format("{}: no such file (the current folder is {}); an environment's source ends in "
                  ".cpp, a plug-in in .so; hotloop new env NAME writes one to start from",
                  path, here.string()));
}

// Environments whose names are files are loaded on first use.
[[maybe_unused]] const bool kRegistered =
    env_registry().add_loader({&is_world_file, &load_world_file, &isolate_world_file});

constexpr double kTrialSeconds = 10;

// A name that no other process uses.
std::string temporary_name(const std::string& base) {
  static std::atomic<int> number{0};
  return fmt::format("{}.{}.{}.tmp", base, getpid(), ++number);
}

// Writes a file to the cache. If another process writes the same one, the last one wins.
void put_text(const std::string& path, const std::string& text) {
  const std::string temporary = temporary_name(path);
  write_file_atomically(temporary, text);
  fs::rename(temporary, path);
}

std::string hashed_name(const std::string& cache, const std::string& content) {
  const XXH128_hash_t hash = XXH3_128bits(content.data(), content.size());
  return fmt::format("{}/{:016x}{:016x}", cache, hash.high64, hash.low64);
}

// Called when a file is added to the cache: removes files that have not been used for a long time.
void clean(const std::string& cache) {
  constexpr auto kMaxAge = std::chrono::days(90);
  const auto now = fs::file_time_type::clock::now();
  std::error_code error;
  for (const auto& file : fs::directory_iterator(cache, error)) {
    const auto used = file.last_write_time(error);
    if (!error && now - used > kMaxAge) fs::remove(file, error);
  }
}

void mark_as_used(const std::string& base) {
  std::error_code error;  // ignored: a read-only cache still works
  for (const char* extension : {".so", ".play", ".ok", ".txt"}) {
    fs::last_write_time(base + extension, fs::file_time_type::clock::now(), error);
  }
}

// A plug-in is loaded from a copy in the cache: the system never loads the same path twice, and
// overwriting a loaded library crashes the processes that use it.
std::string cached_copy(const std::string& content) {
  const std::string cache = world_cache_folder();
  const std::string base = hashed_name(cache, content);
  if (fs::exists(base + ".so")) {
    mark_as_used(base);
  } else {
    clean(cache);
    put_text(base + ".so", content);
  }
  return base + ".so";
}

void check_by_trial(const std::string& library, const std::string& shown) {
  std::string failure = try_library(library, shown, kTrialSeconds);
  if (failure.empty()) return;
  if (!failure.starts_with(shown)) failure = fmt::format("{}: {}", shown, failure);
  throw UsageError(fmt::format("{}\nfor details, run: hotloop check {}", failure, shown));
}

}  // namespace

bool is_world_file(std::string_view name) {
  return (name.ends_with(".cpp") && name.size() > 4) || (name.ends_with(".so") && name.size() > 3);
}

std::string find_world_file(const std::string& name, const std::string& folder) {
  if (fs::path(name).is_absolute() || folder.empty()) return name;
  const fs::path in_folder = fs::path(folder) / name;
  std::error_code error;
  return fs::is_regular_file(in_folder, error) ? in_folder.string() : name;
}

std::string world_cache_folder() {
  std::vector<fs::path> candidates;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    candidates.emplace_back(fs::path(cache) / "hotloop/worlds");
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    candidates.emplace_back(fs::path(home) / ".cache/hotloop/worlds");
  }
  for (const fs::path& folder : candidates) {
    if (make_folder(folder)) return folder.string();
  }
  // Other users can write to the temporary folder too, so use only a folder that is ours.
  const fs::path own = fs::temp_directory_path() / fmt::format("hotloop-worlds-{}", getuid());
  mkdir(own.c_str(), 0700);
  struct stat about {};
  const bool is_ours = lstat(own.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
                       about.st_uid == getuid() && (about.st_mode & 0077) == 0;
  if (is_ours && make_folder(own)) return own.string();
  throw RunError(
      fmt::format("no folder for compiled environments: neither the home folder nor '{}' is "
                  "writable; set XDG_CACHE_HOME to a folder that is",
                  own.string()));
}

std::string flat_source(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) no_such_file(path);
  std::set<fs::path> once;
  std::string text;
  flatten(path, fs::path(path).filename().string(), 0, once, text);
  return without_pragma_once(std::move(text), !once.empty());
}

CompiledWorld compile_world_file(const std::string& path, const WorldCompiler& compiler,
                                 const std::string& cache) {
  const std::string source = flat_source(path);
  const std::string place = compiler.depends_on_path ? path + fs::absolute(path).string() : "";
  const std::string base = hashed_name(cache, compiler_identity(compiler) + place + source);
  CompiledWorld world{.source = source,
                      .library = base + compiler.extension,
                      .warnings = "",
                      .is_tried = fs::exists(base + ".ok")};
  if (fs::exists(world.library)) {
    if (fs::exists(base + ".txt")) world.warnings = read_file(base + ".txt").text();
    mark_as_used(base);
    return world;
  }
  clean(cache);
  const std::string temporary = temporary_name(base);
  bool is_same = false;
  try {
    world.warnings = compile_world(compiler, path, temporary);
    is_same = flat_source(path) == source;
  } catch (...) {
    std::error_code error;
    fs::remove(temporary, error);
    throw;
  }
  if (!is_same) {  // edited during compilation: which version was compiled is unknown
    fs::remove(temporary);
    return compile_world_file(path, compiler, cache);
  }
  if (!world.warnings.empty()) put_text(base + ".txt", world.warnings);
  fs::rename(temporary, world.library);
  return world;
}

EnvEntry only_world(const std::string& library, const std::string& shown) {
  const std::vector<EnvEntry> entries = load_plugin(library, shown);
  if (entries.empty()) {
    throw UsageError(
        fmt::format("{}: has no environment: end it with HOTLOOP_ENV(Name), where Name is "
                    "the environment's struct",
                    shown));
  }
  if (entries.size() > 1) {
    throw UsageError(
        fmt::format("{}: has {} environments ({} and {}); a file can hold only one: move the "
                    "others to their own files",
                    shown, entries.size(), entries[0].spec->name, entries[1].spec->name));
  }
  return entries[0];
}

std::string try_library(const std::string& library, const std::string& shown, double seconds) {
  const TrialResult result = run_trial(
      [&] {
        const EnvEntry entry = noted_entry(only_world(library, shown));
        return check_random_play(entry, {.rows = 3, .steps = 12}).value_or("");
      },
      seconds);
  return result.is_done ? result.text : result.failure;
}

namespace {

// The plug-in of a source or plug-in, compiled and tried.
std::string tried_library(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) no_such_file(path);
  if (path.ends_with(".so")) {
    const std::string content(read_file(path).text());
    const std::string library = cached_copy(content);
    check_by_trial(library, path);
    remember(path, content);
    return library;
  }
  const CompiledWorld world = compile_world_file(path, default_compiler(), world_cache_folder());
  if (!world.is_tried) {
    check_by_trial(world.library, path);
    put_text(fs::path(world.library).replace_extension(".ok").string(), "");
  }
  remember(path, world.source);
  return world.library;
}

}  // namespace

EnvEntry load_world_file(const std::string& path) { return only_world(tried_library(path), path); }

EnvEntry isolate_world_file(const std::string& path, const Isolation& isolation) {
  const std::string library = tried_library(path);
  return isolated_entry([=] { return only_world(library, path); }, path, isolation);
}

void keep_world_file(const std::string& path, const std::string& folder) {
  const std::optional<std::string> content = remembered(path);
  if (!content) return;  // it is not from a file
  write_file_atomically((fs::path(folder) / fs::path(path).filename()).string(), *content);
}

}  // namespace hotloop
