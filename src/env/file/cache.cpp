#include "env/file/cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <hotloop/error.hpp>

#include "core/note.hpp"
#include "env/file/sha256.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kWritableByOthers = 022;
constexpr std::array kExtensions = {".so", ".play", ".ok", ".txt", ".sum"};

// "<hash>.so" and the like, also of earlier versions, and their temporary files.
bool is_cache_name(std::string_view name) {
  const std::size_t digits = name.find_first_not_of("0123456789abcdef");
  return (digits == 64 || digits == 32) && name[digits] == '.';
}

void remove_files(int folder, const std::function<bool(std::string_view)>& is_ours) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(dup(folder)), closedir);
  if (!entries) return;
  std::vector<std::string> names;
  while (const dirent* entry = readdir(entries.get())) {
    if (is_ours(entry->d_name)) names.emplace_back(entry->d_name);
  }
  for (const std::string& name : names) unlinkat(folder, name.c_str(), 0);
}

// Unlike fs::create_directories, leaves no folder open to others, whatever the umask.
bool make_folders(const fs::path& folder) {
  if (mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return true;
  return errno == ENOENT && folder.has_parent_path() && folder != folder.parent_path() &&
         make_folders(folder.parent_path()) &&
         (mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST);
}

}  // namespace

std::optional<OwnFile> OwnFile::open(const std::string& path, int flags) {
  // O_NONBLOCK: opening a pipe would wait for a writer.
  const int descriptor =
      ::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  if (descriptor < 0) return std::nullopt;
  struct stat about {};
  const bool is_own = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) &&
                      (about.st_uid == geteuid() || about.st_uid == 0) &&
                      (about.st_mode & kWritableByOthers) == 0;
  if (is_own) return OwnFile(descriptor, about);
  ::close(descriptor);
  return std::nullopt;
}

OwnFile::OwnFile(OwnFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), about_(other.about_) {}

OwnFile::~OwnFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool OwnFile::append(std::string_view line) const {
  return write(descriptor_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

std::string OwnFile::path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

std::string OwnFile::text() const {
  std::string text(static_cast<std::size_t>(about_.st_size), '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size(); size += static_cast<std::size_t>(got)) {
    got = pread(descriptor_, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got < 0) throw RunError(fmt::format("cannot read a file: {}", std::strerror(errno)));
  }
  text.resize(size);
  return text;
}

void put_own_file(const std::string& path, std::string_view content, bool is_program) {
  std::string temporary = path + ".XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);  // mode 0600, always a new file
  int error = descriptor < 0 ? errno : 0;
  while (error == 0 && !content.empty()) {
    const ssize_t written = write(descriptor, content.data(), content.size());
    if (written < 0 && errno != EINTR) error = errno;
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (error == 0 && is_program && fchmod(descriptor, 0700) != 0) error = errno;
  // Otherwise a power cut could leave the name without the content. EINVAL: nothing to flush.
  if (error == 0 && fsync(descriptor) != 0 && errno != EINVAL) error = errno;
  if (descriptor >= 0 && ::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  if (descriptor >= 0) unlink(temporary.c_str());
  throw RunError(fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

std::string claim_folder(const std::string& folder,
                         const std::function<bool(std::string_view)>& is_ours) {
  make_folders(folder);
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) {
    const int error = errno;
    std::error_code unknown;
    return fs::is_symlink(fs::symlink_status(folder, unknown)) ? "it is a link, not a folder"
                                                               : std::strerror(error);
  }
  struct stat about {};
  std::string why;
  if (fstat(descriptor, &about) != 0) {
    why = std::strerror(errno);
  } else if (about.st_uid != geteuid()) {
    why = "it belongs to another user";
  } else if ((about.st_mode & kWritableByOthers) != 0) {
    if (fchmod(descriptor, 0700) == 0) {
      remove_files(descriptor, is_ours);
    } else {
      why = "other users can write to it";
    }
  }
  ::close(descriptor);
  return why;
}

std::string world_cache_folder() {
  std::vector<std::string> candidates;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    candidates.push_back(fs::path(cache) / "hotloop/worlds");
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    candidates.push_back(fs::path(home) / ".cache/hotloop/worlds");
  }
  std::error_code error;
  if (const fs::path temporary = fs::temp_directory_path(error); temporary.is_absolute()) {
    candidates.push_back(temporary / fmt::format("hotloop-worlds-{}", geteuid()));
  }
  std::string reasons;
  for (const std::string& folder : candidates) {
    std::string why = claim_folder(folder, is_cache_name);
    if (why.empty() && access(folder.c_str(), W_OK | X_OK) != 0) why = std::strerror(errno);
    if (why.empty()) {
      static bool is_reported = false;
      if (!reasons.empty() && !std::exchange(is_reported, true)) {
        print_note("compiled environments are kept in {}, not in\n{}", folder, reasons);
      }
      return folder;
    }
    reasons += fmt::format("  {}: {}\n", folder, why);
  }
  throw RunError(fmt::format(
      "no folder for compiled environments; set XDG_CACHE_HOME to a folder of your own\n{}",
      reasons));
}

std::string cache_name(const std::string& cache, std::string_view text) {
  return fmt::format("{}/{}", cache, sha256(text));
}

void clean_cache(const std::string& cache) {
  constexpr auto kMaxAge = std::chrono::days(90);
  const auto now = fs::file_time_type::clock::now();
  std::error_code error;
  for (const auto& file : fs::directory_iterator(cache, error)) {
    if (!is_cache_name(file.path().filename().string()) || !file.is_regular_file(error)) continue;
    const auto used = file.last_write_time(error);
    if (!error && now - used > kMaxAge) fs::remove(file, error);
  }
}

void mark_as_used(const std::string& base) {
  for (const char* extension : kExtensions) {  // failures are ignored: a read-only cache works
    utimensat(AT_FDCWD, (base + extension).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  }
}

}  // namespace hotloop
