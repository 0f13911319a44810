// Replays the corpus of every fuzz target.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/file.hpp"
#include "tests/fuzz/target.hpp"

namespace hotloop::fuzz {
namespace {

namespace fs = std::filesystem;

TEST(Fuzz, EveryInputOfTheCorpusIsHandled) {
  ASSERT_FALSE(targets().empty());
  for (const Target& target : targets()) {
    int inputs = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(HOTLOOP_FUZZ_CORPUS) / target.name)) {
      SCOPED_TRACE(entry.path().string());
      const FileContents contents = read_file(entry.path().string());
      const auto* data = reinterpret_cast<const std::uint8_t*>(contents.data.get());
      EXPECT_NO_THROW(target.run({data, contents.size}));
      ++inputs;
    }
    EXPECT_GT(inputs, 0) << target.name;
  }
}

}  // namespace
}  // namespace hotloop::fuzz
