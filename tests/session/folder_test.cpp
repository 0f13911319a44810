// Run folders that were tampered with, or lost a file: a run never writes outside of its folder, and
// what is only informative never keeps it from continuing.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "record/checkpoint.hpp"
#include "session/session.hpp"
#include "tests/record/forgery.hpp"
#include "tests/train/small_spec.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

TrainSpec tiny_spec() {
  TrainSpec spec = small_spec();
  spec.evaluation.episodes = 2;
  spec.evaluation.max_steps = 50;
  spec.evaluation.every = 400;
  spec.run.steps = 800;
  spec.run.log_every = 100;
  spec.run.episode_log = true;
  return spec;
}

class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    folder_ =
        fs::temp_directory_path() / ("hotloop-folder-" + std::to_string(getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_file_atomically(victim(), "precious\n");
  }
  ~FolderTest() override { fs::remove_all(folder_); }

  std::string victim() const { return (folder_ / "victim").string(); }

  // A run that has made half of its steps.
  std::string half_run() {
    TrainSpec spec = tiny_spec();
    spec.run.steps = 400;
    const std::string dir = make_run_folder(folder_.string(), "run");
    start_run(spec, dir, {});
    return dir;
  }
  std::string straight_hash() {
    return start_run(tiny_spec(), make_run_folder(folder_.string(), "run"), {}).params_hash;
  }
  // Resumes; returns the error, or "".
  std::string resume(const std::string& dir) {
    warnings_.clear();
    try {
      const auto warn = [&](const std::string& text) { warnings_.push_back(text); };
      hash_ = resume_run(tiny_spec(), dir, std::nullopt, {.warning = warn}).params_hash;
      return "";
    } catch (const RunError& error) {
      return error.what();
    }
  }
  void expect_victim_is_whole() {
    EXPECT_EQ(read_file(victim()).text(), "precious\n");
    EXPECT_FALSE(fs::is_symlink(victim()));
  }

  fs::path folder_;
  std::string hash_;
  std::vector<std::string> warnings_;
};

std::string text_of(const std::string& path) { return std::string(read_file(path).text()); }

// Written again: a file replaces the link.
TEST_F(FolderTest, LinksInPlaceOfWholeFilesAreReplaced) {
  const std::string hash = straight_hash(), dir = half_run();
  for (const char* name : {"model-latest.safetensors", "model-best.safetensors", "result.json"}) {
    fs::remove(dir + "/" + name);
    fs::create_symlink("../victim", dir + "/" + name);
  }
  for (const char* name : {"spec.yaml.tmp", "run.json.tmp", "result.json.tmp"}) {
    fs::create_symlink("../victim", dir + "/" + name);
  }
  EXPECT_EQ(resume(dir), "");
  EXPECT_EQ(hash_, hash);
  expect_victim_is_whole();
  EXPECT_FALSE(fs::is_symlink(dir + "/result.json"));
}

// Changed in place: refused, and once the link is removed the run continues.
TEST_F(FolderTest, LinksInPlaceOfLogsAndTheLockAreRefused) {
  const std::string hash = straight_hash(), dir = half_run();
  for (const char* name : {"metrics.jsonl", "episodes.jsonl", ".lock"}) {
    const std::string path = dir + "/" + name;
    fs::rename(path, path + ".kept");
    fs::create_symlink("../victim", path);
    EXPECT_NE(resume(dir).find(path + ": it is a symbolic link"), std::string::npos) << name;
    fs::remove(path);
    fs::create_hard_link(victim(), path);
    EXPECT_NE(resume(dir).find(path + ": the file has other names"), std::string::npos) << name;
    fs::remove(path);
    fs::rename(path + ".kept", path);
    expect_victim_is_whole();
  }
  EXPECT_EQ(resume(dir), "");
  EXPECT_EQ(hash_, hash);
  EXPECT_TRUE(warnings_.empty());
}

// Otherwise old checkpoints would be removed there.
TEST_F(FolderTest, LinkedSubfoldersAreRefused) {
  const std::string dir = half_run();
  const std::string elsewhere = (folder_ / "elsewhere").string();
  fs::rename(dir + "/checkpoints", elsewhere);
  fs::create_directory_symlink("../elsewhere", dir + "/checkpoints");
  const std::vector<std::string> before = list_checkpoints(dir);
  EXPECT_NE(resume(dir).find("/checkpoints: it is a symbolic link"), std::string::npos);
  EXPECT_EQ(list_checkpoints(dir), before);

  TrainSpec spec = tiny_spec();
  spec.run.snapshot_every = 1;
  const std::string fresh = make_run_folder(folder_.string(), "run");
  fs::create_directory_symlink("../elsewhere", fresh + "/snapshots");
  EXPECT_THROW(start_run(spec, fresh, {}), RunError);
}

TEST_F(FolderTest, StaleTemporariesOfAKilledRunAreRemoved) {
  const std::string dir = half_run(), name = "/.hotloop-0123456789abcdef.tmp";
  for (const char* folder : {"", "/checkpoints"}) {
    write_file_atomically(dir + folder + name, "half a checkpoint");
  }
  EXPECT_EQ(resume(dir), "");
  EXPECT_FALSE(fs::exists(dir + name));
  EXPECT_FALSE(fs::exists(dir + "/checkpoints" + name));
}

TEST_F(FolderTest, ALostLogDoesNotBlockResume) {
  const std::string hash = straight_hash();
  for (const char* name : {"metrics.jsonl", "episodes.jsonl"}) {
    const std::string dir = half_run(), path = dir + "/" + name;
    const std::size_t size = fs::file_size(path);
    fs::remove(path);
    EXPECT_EQ(resume(dir), "");
    EXPECT_EQ(hash_, hash);
    ASSERT_EQ(warnings_.size(), 1u) << name;
    EXPECT_NE(warnings_[0].find(std::string(name) + " lacks " + std::to_string(size) + " bytes"),
              std::string::npos)
        << warnings_[0];
    EXPECT_GT(fs::file_size(path), 0u);
    EXPECT_EQ(resume(dir), "");  // reported once
    EXPECT_TRUE(warnings_.empty());
  }
}

TEST_F(FolderTest, AShortenedLogContinuesAfterItsLastWholeLine) {
  const std::string hash = straight_hash();
  for (const char* name : {"metrics.jsonl", "episodes.jsonl"}) {
    const std::string dir = half_run(), path = dir + "/" + name;
    const std::string before = text_of(path), first = before.substr(0, before.find('\n') + 1);
    fs::resize_file(path, first.size() + 7);
    EXPECT_EQ(resume(dir), "");
    EXPECT_EQ(hash_, hash);
    ASSERT_EQ(warnings_.size(), 1u) << name;
    EXPECT_NE(warnings_[0].find("lacks " + std::to_string(before.size() - first.size()) + " bytes"),
              std::string::npos);
    EXPECT_TRUE(text_of(path).starts_with(first + "{\"env_steps\":")) << text_of(path);
  }
}

TEST_F(FolderTest, AMissingOrBrokenRunJsonMeansAnUnknownOrigin) {
  const std::string dir = half_run();
  EXPECT_FALSE(run_origin(dir).version.empty());
  for (const char* text : {"", "{", "[]", "{\"version\":1,\"cpu\":[]}", "{\"version\":\"1\"}"}) {
    write_file_atomically(dir + "/run.json", text);
    EXPECT_EQ(run_origin(dir).version, "") << text;
  }
  fs::remove(dir + "/run.json");
  EXPECT_EQ(run_origin(dir).version, "");
  EXPECT_EQ(resume(dir), "");
}

// The same rows, and the same training, however small the file must stay.
TEST_F(FolderTest, ThinningChangesOnlyTheLog) {
  TrainSpec spec = tiny_spec();
  spec.run.log_every = 10;
  spec.run.log_rows = 8;
  spec.run.checkpoint_seconds = 0;
  const auto steps_in = [](const std::string& dir) {
    std::vector<std::string> steps;
    std::ifstream file(dir + "/metrics.jsonl");
    for (std::string line; std::getline(file, line);)
      steps.push_back(line.substr(0, line.find(',')));
    return steps;
  };
  const std::string straight = make_run_folder(folder_.string(), "run");
  EXPECT_EQ(start_run(spec, straight, {}).params_hash, straight_hash());
  EXPECT_LE(steps_in(straight).size(), 2u * 8 + 1);
  EXPECT_EQ(steps_in(straight).back(), "{\"env_steps\":800");

  const std::string split = make_run_folder(folder_.string(), "run");
  const std::atomic<bool> stop{true};
  TrainResult result = start_run(spec, split, {.stop = &stop});
  while (result.interrupted) result = resume_run(spec, split, std::nullopt, {.stop = &stop});
  EXPECT_EQ(steps_in(split), steps_in(straight));
}

// The best model so far, which is written as a model file at the end.
TEST_F(FolderTest, ABestModelThatCannotBeIsRefused) {
  const std::string dir = half_run(), path = list_checkpoints(dir).back();
  const Forgery good = Forgery::of(path);
  Forgery forgery = good;
  forgery.values<float>("best")[0] = -1;
  forgery.write(path);
  EXPECT_TRUE(resume(dir).starts_with(path + ": best: a factor is negative")) << resume(dir);
  good.write(path);
  EXPECT_EQ(resume(dir), "");
}

TEST_F(FolderTest, ARunJsonOfManyKeysIsNotParsed) {
  const std::string dir = half_run();
  std::string text = "{\"version\":\"1\",\"cpu\":\"x\"";
  for (int i = 0; i < 10'000; ++i) text += ",\"" + std::to_string(i) + "\":0";
  write_file_atomically(dir + "/run.json", text + "}");
  EXPECT_EQ(run_origin(dir).version, "");
}

// Opening a pipe waits for its writer, and there is none.
TEST_F(FolderTest, PipesInPlaceOfFilesAreRefused) {
  const std::string dir = half_run();
  const std::string newest = dir + "/checkpoints/9999999999999999.safetensors";
  ASSERT_EQ(mkfifo(newest.c_str(), 0600), 0);
  EXPECT_TRUE(resume(dir).starts_with("cannot read " + newest + ": it is not a regular file"))
      << resume(dir);
  fs::remove(newest);
  fs::remove(dir + "/run.json");
  ASSERT_EQ(mkfifo((dir + "/run.json").c_str(), 0600), 0);
  EXPECT_EQ(run_origin(dir).version, "");
  fs::remove(dir + "/spec.yaml");
  ASSERT_EQ(mkfifo((dir + "/spec.yaml").c_str(), 0600), 0);
  EXPECT_THROW(load_run_spec(dir, {}), UsageError);
}

}  // namespace
}  // namespace hotloop
