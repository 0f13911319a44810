#include "env/file/cache.hpp"

#include <sys/stat.h>

#include <chrono>

#include "tests/env/file/own_home.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

class Cache : public OwnHome {
 protected:
  static mode_t mode_of(const fs::path& path) {
    struct stat about {};
    return lstat(path.c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
  }
};

TEST_F(Cache, IsInXdgCacheHomeAndClosedToOthers) {
  const mode_t before = umask(0);
  EXPECT_EQ(world_cache_folder(), (folder_ / "cache/hotloop/worlds").string());
  umask(before);
  for (const char* path : {"cache", "cache/hotloop", "cache/hotloop/worlds"}) {
    EXPECT_EQ(mode_of(folder_ / path), 0700u) << path;
  }
}

TEST_F(Cache, OnlyTheUsersOwnFilesAreOpened) {
  const std::string path = (folder_ / "file").string();
  EXPECT_FALSE(OwnFile::open(path));
  const mode_t before = umask(0);
  put_own_file(path, "text");
  umask(before);
  EXPECT_EQ(mode_of(path), 0600u);
  ASSERT_TRUE(OwnFile::open(path));
  EXPECT_EQ(OwnFile::open(path)->text(), "text");
  for (const mode_t mode : {0620u, 0602u, 0666u}) {
    chmod(path.c_str(), mode);
    EXPECT_FALSE(OwnFile::open(path)) << mode;
  }
  chmod(path.c_str(), 0644);
  EXPECT_TRUE(OwnFile::open(path));
  fs::create_symlink(path, folder_ / "link");
  EXPECT_FALSE(OwnFile::open((folder_ / "link").string()));
  mkfifo((folder_ / "pipe").c_str(), 0600);
  EXPECT_FALSE(OwnFile::open((folder_ / "pipe").string()));  // and does not wait for a writer
  EXPECT_FALSE(OwnFile::open(folder_.string()));
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(OwnFile::open(path));
}

// After the check a name may be given to another file; the descriptor stays with the first.
TEST_F(Cache, AnOpenFileCannotBeExchanged) {
  const std::string path = (folder_ / "file").string();
  put_own_file(path, "checked");
  const std::optional<OwnFile> file = OwnFile::open(path);
  ASSERT_TRUE(file);
  put_own_file(path, "exchanged");
  EXPECT_EQ(file->text(), "checked");
  std::ifstream loaded(file->path());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(loaded), {}), "checked");
}

TEST_F(Cache, AFolderThatOthersCouldWriteToIsEmptied) {
  const fs::path folder = world_cache_folder();
  const std::string name(64, 'a');
  for (const std::string& file : {name + ".so", name + ".ok", std::string(32, 'b') + ".1.2.tmp",
                                  std::string("notes.txt"), std::string("lib.so")}) {
    std::ofstream(folder / file) << "planted";
  }
  chmod(folder.c_str(), 0777);
  EXPECT_EQ(world_cache_folder(), folder.string());
  EXPECT_EQ(mode_of(folder), 0700u);
  EXPECT_FALSE(fs::exists(folder / (name + ".so")));
  EXPECT_FALSE(fs::exists(folder / (name + ".ok")));
  EXPECT_FALSE(fs::exists(folder / (std::string(32, 'b') + ".1.2.tmp")));
  EXPECT_TRUE(fs::exists(folder / "notes.txt"));  // not hotloop's
  EXPECT_TRUE(fs::exists(folder / "lib.so"));
}

TEST_F(Cache, ALinkIsNotAFolder) {
  fs::create_directory_symlink(folder_ / "lib", folder_ / "link");
  EXPECT_NE(claim_folder((folder_ / "link").string(), {}), "");
  EXPECT_EQ(claim_folder((folder_ / "lib").string(), {}), "");
  EXPECT_NE(claim_folder(put("file", ""), {}), "");
  if (geteuid() != 0) return;
  ASSERT_EQ(chown((folder_ / "lib").c_str(), 65534, 65534), 0);
  EXPECT_EQ(claim_folder((folder_ / "lib").string(), {}), "it belongs to another user");
}

TEST_F(Cache, OnlyItsOwnOldFilesAreRemoved) {
  const fs::path folder = world_cache_folder();
  const auto old = fs::file_time_type::clock::now() - std::chrono::days(100);
  const std::string ours = std::string(64, 'c') + ".so";
  fs::create_directory(folder / (std::string(64, 'd') + ".so"));
  for (const std::string& name : {ours, std::string("theirs.so"), std::string(64, 'e')}) {
    std::ofstream(folder / name) << "";
    fs::last_write_time(folder / name, old);
  }
  clean_cache(folder.string());
  EXPECT_FALSE(fs::exists(folder / ours));
  EXPECT_TRUE(fs::exists(folder / "theirs.so"));
  EXPECT_TRUE(fs::exists(folder / std::string(64, 'e')));
  EXPECT_TRUE(fs::exists(folder / (std::string(64, 'd') + ".so")));
}

}  // namespace
}  // namespace hotloop
