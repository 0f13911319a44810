#include "profile/scratch_folder.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include <hotloop/error.hpp>

namespace hotloop {

ScratchFolder::ScratchFolder() {
  std::error_code error;
  path_ = (std::filesystem::temp_directory_path(error) / "hotloop-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) {
    throw RunError(
        fmt::format("cannot create a temporary folder '{}': {}", path_, std::strerror(errno)));
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace hotloop
