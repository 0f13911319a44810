// A model is data: loading it runs no code, even if its environment's file lies beside it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <hotloop/error.hpp>

#include "record/model_file.hpp"
#include "record/safetensors.hpp"

namespace hotloop {
namespace {

TEST(NoCode, AModelWithoutFactsAboutItsEnvironmentIsRefused) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("hotloop-no-code-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "evil.cpp") << "#error compiled\n";
  const std::string path = (folder / "model.safetensors").string();
  write_safetensors(path, {}, {{"format", "hotloop-model-2"}, {"spec", "env: {name: evil.cpp}\n"}});
  try {
    load_model(path);
    FAIL() << "loaded";
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("no facts about its environment"), std::string::npos)
        << error.what();
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hotloop
