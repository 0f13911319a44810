// The disk is really full: RLIMIT_FSIZE makes the kernel refuse to grow a file any further, and
// /dev/full refuses every byte.
#include "core/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <hotloop/error.hpp>
#include <vector>

namespace hotloop {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "hotloop_file_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_;
};

// No file of this process can grow beyond `bytes` during the lifetime of this object.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

template <class Call>
std::string run_error(Call call) {
  try {
    call();
  } catch (const RunError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(FileTest, WritesPartsInOrderAndReplacesTheOldFile) {
  const std::string_view a = "one ";
  const std::string_view b;
  const std::string_view c("t\0wo", 4);
  const std::array parts = {std::as_bytes(std::span(a)), std::as_bytes(std::span(b)),
                            std::as_bytes(std::span(c))};
  write_file_atomically(path("x"), "something longer than what follows");
  write_file_atomically(path("x"), parts);
  EXPECT_EQ(read_file(path("x")).text(), std::string_view("one t\0wo", 8));
  EXPECT_EQ(files(), 1u);
  write_file_atomically(path("x"), "");
  EXPECT_EQ(read_file(path("x")).size, 0u);
}

TEST_F(FileTest, FullDiskLeavesTheOldFileAndNoTemporary) {
  write_file_atomically(path("x"), "precious");
  const std::string large(100'000, 'z');
  std::string message;
  {
    const FileSizeLimit limit(50'000);
    message = run_error([&] { write_file_atomically(path("x"), large); });
  }
  EXPECT_EQ(message, "cannot write " + path("x") + ": File too large");
  EXPECT_EQ(read_file(path("x")).text(), "precious");
  EXPECT_EQ(files(), 1u);
  write_file_atomically(path("x"), large);  // there is room again
  EXPECT_EQ(read_file(path("x")).text(), large);
}

TEST_F(FileTest, UnwritablePlacesAreNamedWithTheReason) {
  write_file_atomically(path("x"), "a file");
  EXPECT_EQ(run_error([&] { write_file_atomically(path("x/y"), "text"); }),
            "cannot write " + path("x/y") + ": Not a directory");
  EXPECT_EQ(run_error([&] { write_file_atomically(path("none/y"), "text"); }),
            "cannot write " + path("none/y") + ": No such file or directory");
  fs::create_directory(path("folder"));
  EXPECT_EQ(run_error([&] { write_file_atomically(path("folder"), "text"); }),
            "cannot write " + path("folder") + ": Is a directory");
  EXPECT_EQ(files(), 2u);
}

TEST_F(FileTest, TemporaryOfAKilledProcessIsTakenOverButNotThatOfARunningOne) {
  const std::string temporary = path("x.tmp");
  write_file_atomically(temporary, std::string(1000, 'a'));
  write_file_atomically(path("x"), "short");
  EXPECT_EQ(read_file(path("x")).text(), "short");
  EXPECT_FALSE(fs::exists(temporary));

  const int other = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_EQ(run_error([&] { write_file_atomically(path("x"), "mine"); }),
            "cannot write " + path("x") + ": another process is writing it");
  EXPECT_TRUE(fs::exists(temporary));
  EXPECT_EQ(read_file(path("x")).text(), "short");
  ::close(other);
}

TEST_F(FileTest, ReadNamesTheMissingFile) {
  EXPECT_EQ(run_error([&] { read_file(path("x")); }),
            "cannot read " + path("x") + ": No such file or directory");
  EXPECT_EQ(run_error([&] { read_file(folder_); }), "cannot read " + folder_ + ": it is a folder");
}

TEST_F(FileTest, ReadsFilesThatReportNoSize) {
  // Files under /proc report a size of zero.
  EXPECT_NE(read_file("/proc/self/status").text().find("VmRSS"), std::string_view::npos);
}

TEST_F(FileTest, LinesAreAppendedAcrossBuffersAndReopenings) {
  std::string expected;
  {
    LineWriter lines(path("m"));
    for (int i = 0; i < 20'000; ++i) {
      const std::string line = "{\"step\":" + std::to_string(i) + "}";
      lines.append(line);
      expected += line + "\n";
      ASSERT_EQ(lines.offset(), expected.size());
    }
  }
  {
    LineWriter lines(path("m"));
    EXPECT_EQ(lines.offset(), expected.size());
    const std::string longer_than_the_buffer(200'000, 'q');
    lines.append(longer_than_the_buffer);
    expected += longer_than_the_buffer + "\n";
    lines.sync();
    EXPECT_EQ(read_file(path("m")).text(), expected);
    lines.append("");
  }
  EXPECT_EQ(read_file(path("m")).text(), expected + "\n");
}

TEST_F(FileTest, ResumingTruncatesTheFileAtTheOffset) {
  std::uint64_t offset = 0;
  {
    LineWriter lines(path("m"));
    lines.append("kept");
    offset = lines.offset();
    lines.append("written after the checkpoint");
  }
  {
    LineWriter lines(path("m"), offset);
    lines.append("again");
  }
  EXPECT_EQ(read_file(path("m")).text(), "kept\nagain\n");
  EXPECT_EQ(run_error([&] { LineWriter(path("m"), 12); }),
            "cannot resume " + path("m") + ": expected at least 12 bytes, found 11");
  EXPECT_EQ(run_error([&] { LineWriter(path("none"), 1); }),
            "cannot open " + path("none") + ": No such file or directory");
  LineWriter(path("new"), 0).append("first");
  EXPECT_EQ(read_file(path("new")).text(), "first\n");
}

TEST_F(FileTest, LinesOnAFullDiskAreAnErrorAndCanBeWrittenLater) {
  LineWriter full("/dev/full");
  full.append("line");
  EXPECT_EQ(run_error([&] { full.flush(); }), "cannot write /dev/full: No space left on device");

  LineWriter lines(path("m"));
  lines.append("0123456789");
  std::string message;
  {
    const FileSizeLimit limit(4);
    message = run_error([&] { lines.flush(); });
  }
  EXPECT_EQ(message, "cannot write " + path("m") + ": File too large");
  EXPECT_EQ(read_file(path("m")).text(), "0123");
  lines.flush();
  EXPECT_EQ(read_file(path("m")).text(), "0123456789\n");
}

}  // namespace
}  // namespace hotloop
