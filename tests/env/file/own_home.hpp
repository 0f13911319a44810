// A test's own folders for compiled environments and for trusted code.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

namespace hotloop {

class OwnHome : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("hotloop-home-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_ / "lib");
    set("XDG_CACHE_HOME", folder_ / "cache");
    set("XDG_STATE_HOME", folder_ / "state");
  }
  void TearDown() override {
    for (const auto& [name, value] : before_) {
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
    }
    std::filesystem::remove_all(folder_);
  }

  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  std::filesystem::path folder_;

 private:
  void set(const std::string& name, const std::string& value) {
    const char* old = std::getenv(name.c_str());
    before_[name] = old != nullptr ? std::optional<std::string>(old) : std::nullopt;
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace hotloop
