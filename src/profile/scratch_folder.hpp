// A temporary folder for runs, deleted with its contents by the destructor.
#pragma once

#include <filesystem>
#include <string>

namespace hotloop {

class ScratchFolder {
 public:
  ScratchFolder();  // throws RunError if it cannot be created
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace hotloop
