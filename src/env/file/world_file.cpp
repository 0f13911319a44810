#include "env/file/world_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "core/scratch_folder.hpp"
#include "env/check/battery.hpp"
#include "env/check/trial.hpp"
#include "env/file/cache.hpp"
#include "env/file/plugin.hpp"
#include "env/file/sha256.hpp"
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

// Environments whose names are files are loaded on first use.
[[maybe_unused]] const bool kRegistered =
    env_registry().add_loader({&is_world_file, &load_world_file, &isolate_world_file});

constexpr double kTrialSeconds = 10;

void check_by_trial(const std::string& library, const std::string& shown) {
  std::string failure = try_library(library, shown, kTrialSeconds);
  if (failure.empty()) return;
  if (!failure.starts_with(shown)) failure = fmt::format("{}: {}", shown, failure);
  throw UsageError(fmt::format("{}\nfor details, run: hotloop check {}", failure, shown));
}

// A library in the cache may be cut short: by a full disk, or a power cut before its bytes were
// written. So its hash lies beside it, and one that differs counts as missing.
bool is_whole(const std::string& library, const std::string& sum) {
  const std::optional<OwnFile> file = OwnFile::open(library), expected = OwnFile::open(sum);
  return file && expected && expected->text() == sha256(file->text());
}

void put_library(const std::string& library, const std::string& sum, std::string_view content,
                 bool is_program) {
  put_own_file(library, content, is_program);
  put_own_file(sum, sha256(content));
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

CompiledWorld compile_world_file(const TrustedCode& code, const WorldCompiler& compiler,
                                 const std::string& cache) {
  const bool is_source = code.path().ends_with(".cpp");
  std::string determines = is_source ? compiler_identity(compiler) : "library";
  if (compiler.depends_on_path) determines += code.path() + fs::absolute(code.path()).string();
  const std::string base = cache_name(cache, determines + '\n' + code.bytes());
  CompiledWorld world{.library = base + (is_source ? compiler.extension : ".so"),
                      .warnings = "",
                      .is_tried = is_source && OwnFile::open(base + ".ok").has_value()};
  if (is_whole(world.library, base + ".sum")) {
    if (const auto warnings = OwnFile::open(base + ".txt")) world.warnings = warnings->text();
    mark_as_used(base);
    return world;
  }
  clean_cache(cache);
  if (!is_source) {
    // A copy: overwriting a loaded library crashes the processes that use it.
    put_library(world.library, base + ".sum", code.bytes(), false);
    return world;
  }
  const ScratchFolder folder;  // mode 0700
  const std::string output = folder.path() + "/world";
  world.warnings = compile_world(compiler, code.bytes(), code.path(), output);
  if (!world.warnings.empty()) put_own_file(base + ".txt", world.warnings);
  put_library(world.library, base + ".sum", read_file(output).text(),
              compiler.extension == ".play");
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

// The plug-in of a source or plug-in that may run, compiled and tried.
std::string tried_library(const std::string& path) {
  const TrustedCode code(read_code(path));
  const CompiledWorld world = compile_world_file(code, default_compiler(), world_cache_folder());
  if (!world.is_tried) {
    check_by_trial(world.library, path);
    if (path.ends_with(".cpp")) {
      put_own_file(fs::path(world.library).replace_extension(".ok").string(), "");
    }
  }
  remember(path, code.bytes());
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
  if (!content) return;     // it is not from a file
  std::error_code ignored;  // not every file system has modes
  fs::permissions(folder, fs::perms::owner_all, ignored);
  write_file_atomically((fs::path(folder) / fs::path(path).filename()).string(), *content);
}

}  // namespace hotloop
