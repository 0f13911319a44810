#include "core/system.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

namespace hotloop {
namespace {

class ControlGroup : public testing::Test {
 protected:
  ControlGroup()
      : folder_(testing::TempDir() + "hotloop_cgroup_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(folder_);
  }
  ~ControlGroup() override { std::filesystem::remove_all(folder_); }
  void put(const char* name, const char* text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::string folder_;
};

// What other processes of a container use is not free any more; cached pages of files are.
TEST_F(ControlGroup, LeavesTheLimitMinusWhatIsUsed) {
  EXPECT_EQ(cgroup_memory_bytes(folder_), INT64_MAX);
  put("memory.max", "max\n");
  EXPECT_EQ(cgroup_memory_bytes(folder_), INT64_MAX);
  put("memory.max", "1000000\n");
  EXPECT_EQ(cgroup_memory_bytes(folder_), 1'000'000);
  put("memory.current", "700000\n");
  EXPECT_EQ(cgroup_memory_bytes(folder_), 300'000);
  put("memory.stat", "anon 1\nactive_file 7\ninactive_file 50000\n");
  EXPECT_EQ(cgroup_memory_bytes(folder_), 350'000);
  put("memory.current", "1200000\n");  // for a moment
  EXPECT_EQ(cgroup_memory_bytes(folder_), 0);
}

TEST_F(ControlGroup, FirstVersion) {
  put("memory.limit_in_bytes", "1000000\n");
  put("memory.usage_in_bytes", "400000\n");
  put("memory.stat", "inactive_file 1\ntotal_inactive_file 100000\n");
  EXPECT_EQ(cgroup_memory_bytes(folder_), 700'000);
}

TEST(System, MemoryIsWithinTheMachine) {
  EXPECT_GT(memory_bytes(), 0);
  EXPECT_LT(memory_bytes(), std::int64_t{1} << 50);
}

}  // namespace
}  // namespace hotloop
