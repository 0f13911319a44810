// Files that this user alone can change: compiled worlds, and the list of code that may run.
//
// A library in the cache is code. So its folder is the user's own, mode 0700; and every file is
// opened without following links and checked before it is believed: a regular file of this user or
// root that nobody else can write to. It is then used through the open descriptor, so it cannot be
// exchanged after the check. A file that fails the check counts as missing, and is made again.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace hotloop {

class OwnFile {
 public:
  // None if it cannot be opened, or is not this user's own. `flags` as for open(2).
  static std::optional<OwnFile> open(const std::string& path, int flags = 0);
  OwnFile(OwnFile&& other) noexcept;
  OwnFile& operator=(OwnFile&&) = delete;
  ~OwnFile();

  std::string text() const;
  bool append(std::string_view line) const;  // in one piece; false if that fails
  std::string path() const;                  // of the open file, whatever its name refers to by now
  const struct stat& about() const { return about_; }

 private:
  OwnFile(int descriptor, const struct stat& about) : descriptor_(descriptor), about_(about) {}
  int descriptor_;
  struct stat about_;
};

// Replaces a file, with mode 0600, or 0700 for a program. A reader sees the old content or the new,
// also after a power cut.
void put_own_file(const std::string& path, std::string_view content, bool is_program = false);

// Creates a folder with mode 0700, and missing parents too. Returns why it cannot be used: it is a
// link, belongs to another user, or cannot be created; "" if it can. A folder of this user's
// that others could write to is closed to them, and its files with names for which `is_ours` holds
// are removed, because they may not be this user's.
std::string claim_folder(const std::string& folder,
                         const std::function<bool(std::string_view name)>& is_ours);

// $XDG_CACHE_HOME/hotloop/worlds, ~/.cache/hotloop/worlds, or this user's own folder in the
// temporary folder: the first that can be used. Says so on standard error if one is not safe.
std::string world_cache_folder();

// The path of a file in the cache, without extension, for what the text determines.
std::string cache_name(const std::string& cache, std::string_view text);

// Removes files of the cache that were not used for 90 days.
void clean_cache(const std::string& cache);
void mark_as_used(const std::string& base);

}  // namespace hotloop
