// A temporary folder of this user's own (mode 0700), deleted with its contents by the destructor.
#pragma once

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include <hotloop/error.hpp>

namespace hotloop {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    path_ = (std::filesystem::temp_directory_path(error) / "hotloop-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) {
      throw RunError(
          fmt::format("cannot create a temporary folder '{}': {}", path_, std::strerror(errno)));
    }
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace hotloop
