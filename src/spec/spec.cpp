// Finds specs: ready-made ones by name, others by path.
#include "spec/spec.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <hotloop/error.hpp>

#include "algo/common/algorithm.hpp"
#include "core/file.hpp"
#include "core/text.hpp"
#include "env/file/world_file.hpp"
#include "env/registry.hpp"
#include "spec/yaml_text.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> ready_made_names(const std::string& folder) {
  std::vector<std::string> names;
  for (const fs::path file : names_in(folder)) {
    if (file.extension() == ".yaml") names.push_back(file.stem().string());
  }
  return names;
}

// Does not throw, because a list must not fail if one spec is broken.
std::string about_of(const std::string& path) {
  try {
    const YAML::Node about = parse_first_yaml(read_file(path).text(), path)["about"];
    return about && about.IsScalar() ? about.Scalar() : "";
  } catch (const std::exception&) {
    return "(cannot be read)";
  }
}

[[noreturn]] void no_such_spec(const std::string& name, std::span<const std::string> names,
                               const std::string& folder) {
  if (look_up_algorithm(name) != nullptr) {
    throw UsageError(fmt::format(
        "{0}: is an algorithm, not a spec; to use it: hotloop train ENV --algo {0}, where ENV is a "
        ".cpp file or a name from hotloop list envs",
        name));
  }
  if (names.empty()) {
    throw UsageError(
        fmt::format("{}: no such spec or file, and no ready-made specs in {}", name, folder));
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near = nearest(fs::path(name).stem().string(), views);
  throw UsageError(fmt::format("{}: no such spec or file{}\nready-made specs: {}", name,
                               near.empty() ? "" : fmt::format("; did you mean {}?", near),
                               join(views)));
}

}  // namespace

TrainSpec::TrainSpec() { use_algorithm(*this, default_algorithm()); }

const std::string& default_spec_folder() {
  // An installed program or library has its specs in share/ of its prefix.
  static const std::string folder = [] {
    Dl_info self{};
    std::error_code error;
    if (dladdr(reinterpret_cast<const void*>(&default_spec_folder), &self) != 0) {
      const fs::path file = fs::canonical(self.dli_fname, error);
      for (fs::path at = file.parent_path(); at.has_relative_path(); at = at.parent_path()) {
        const fs::path installed = at / "share/hotloop/specs";
        if (fs::is_directory(installed, error)) return installed.string();
      }
    }
    return std::string(HOTLOOP_SPEC_DIR);
  }();
  return folder;
}

std::vector<SpecInfo> ready_made_specs(const std::string& folder) {
  std::vector<SpecInfo> result;
  for (const std::string& name : ready_made_names(folder)) {
    result.push_back({name, about_of((fs::path(folder) / (name + ".yaml")).string())});
  }
  return result;
}

TrainSpec load_spec(const std::string& name_or_path, std::span<const std::string> overrides,
                    const std::string& folder) {
  if (is_world_file(name_or_path)) return load_world_spec(name_or_path, nullptr, overrides);
  const std::vector<std::string> names = ready_made_names(folder);
  std::string path = name_or_path;
  if (std::find(names.begin(), names.end(), name_or_path) != names.end()) {
    path = (fs::path(folder) / (name_or_path + ".yaml")).string();
  } else if (std::error_code error; !fs::exists(path, error)) {
    if (env_registry().look_up(name_or_path) != nullptr)
      return load_world_spec(name_or_path, nullptr, overrides);
    no_such_spec(name_or_path, names, folder);
  }
  return load_spec_file(path, overrides, FileKind::any);
}

TrainSpec load_spec_file(const std::string& path, std::span<const std::string> overrides,
                         FileKind kind) {
  FileContents contents;
  try {
    contents = read_file(path, kMaxSpecBytes, kind);
  } catch (const RunError& error) {
    throw UsageError(error.what());
  }
  return load_spec_text(contents.text(), path, overrides);
}

}  // namespace hotloop
