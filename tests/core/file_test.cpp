// The disk is really full: RLIMIT_FSIZE makes the kernel refuse to grow a file any further.
#include "core/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <hotloop/error.hpp>
#include <thread>
#include <tuple>
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

// What somebody could put into a folder: links to a file of the user's.
TEST_F(FileTest, NewFilesReplaceLinksInsteadOfFollowingThem) {
  write_file_atomically(path("victim"), "precious");
  fs::create_symlink("victim", path("link"));
  fs::create_symlink("victim", path("link.tmp"));
  fs::create_symlink("nowhere", path("dangling"));
  fs::create_hard_link(path("victim"), path("second_name"));
  for (const char* name : {"link", "dangling", "second_name"}) {
    write_file_atomically(path(name), "new");
    EXPECT_EQ(read_file(path(name)).text(), "new");
    EXPECT_FALSE(fs::is_symlink(path(name))) << name;
  }
  EXPECT_EQ(read_file(path("victim")).text(), "precious");
  EXPECT_FALSE(fs::exists(path("nowhere")));
  EXPECT_EQ(files(), 5u);
}

TEST_F(FileTest, PipesAreNotReplacedByFiles) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", path("link"));
  for (const char* name : {"pipe", "link"}) {
    EXPECT_EQ(run_error([&] { write_file_atomically(path(name), "text"); }),
              "cannot write " + path(name) + ": it is not a regular file");
  }
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_EQ(files(), 2u);
}

TEST_F(FileTest, FilesChangedInPlaceMustNotBeLinks) {
  write_file_atomically(path("victim"), "precious\n");
  fs::create_symlink("victim", path("link"));
  fs::create_symlink("nowhere", path("dangling"));
  write_file_atomically(path("original"), "precious\n");
  fs::create_hard_link(path("original"), path("second_name"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const auto& [name, reason] :
       {std::pair{"link", "it is a symbolic link; remove it, or put a copy in its place"},
        std::pair{"dangling", "it is a symbolic link; remove it, or put a copy in its place"},
        std::pair{"second_name",
                  "the file has other names (hard links); remove it, or put a copy in its place"},
        std::pair{"pipe", "it is not a regular file"}}) {
    const std::string message = "cannot write " + path(name) + ": " + reason;
    EXPECT_EQ(run_error([&] { LineWriter(path(name), 0); }), message);
    EXPECT_EQ(run_error([&] { LineWriter lines(path(name)); }), message);
    EXPECT_EQ(run_error([&] { FileLock(path(name), "it"); }), message);
  }
  EXPECT_EQ(read_file(path("victim")).text(), "precious\n");
  EXPECT_EQ(read_file(path("original")).text(), "precious\n");
  EXPECT_FALSE(fs::exists(path("nowhere")));
}

TEST_F(FileTest, OnlyOneHoldsTheLock) {
  const FileLock mine(path("lock"), "the folder");
  EXPECT_EQ(run_error([&] { FileLock(path("lock"), "the folder"); }),
            "another process is using the folder");
}

TEST_F(FileTest, FoldersMustNotBeLinks) {
  make_real_folder(path("folder"));
  make_real_folder(path("folder"));
  EXPECT_TRUE(fs::is_directory(path("folder")));
  fs::create_directory_symlink("folder", path("link"));
  write_file_atomically(path("file"), "");
  EXPECT_EQ(
      run_error([&] { make_real_folder(path("link")); }),
      "cannot use " + path("link") + ": it is a symbolic link; put a real folder in its place");
  EXPECT_EQ(run_error([&] { make_real_folder(path("file")); }),
            "cannot use " + path("file") + ": it is not a folder");
}

TEST_F(FileTest, OnlyOurOwnStaleTemporariesAreRemoved) {
  fs::create_directory(path("elsewhere"));
  const std::string stale = ".hotloop-0123456789abcdef.tmp";
  const std::vector<std::string> others = {
      "x.tmp", ".hotloop-.tmp", ".hotloop-0123456789abcdeg.tmp", ".hotloop-0123456789abcdef.tmp2"};
  for (const std::string& name : others) write_file_atomically(path(name), "mine");
  write_file_atomically(path("elsewhere/" + stale), "mine");
  write_file_atomically(path(stale), "left behind");
  fs::create_symlink("x.tmp", path(".hotloop-ffffffffffffffff.tmp"));
  fs::create_directory(path(".hotloop-eeeeeeeeeeeeeeee.tmp"));
  fs::create_directory_symlink("elsewhere", path("link"));
  const std::size_t before = files();
  remove_stale_temporaries(folder_);
  remove_stale_temporaries(path("link"));
  remove_stale_temporaries(path("none"));
  EXPECT_EQ(files(), before - 1);
  EXPECT_FALSE(fs::exists(path(stale)));
  EXPECT_TRUE(fs::exists(path("elsewhere/" + stale)));
}

// A killed writer leaves its temporary; the name is one that is removed later.
TEST_F(FileTest, AKilledWriterLeavesOnlyAStaleTemporary) {
  write_file_atomically(path("x"), "old");
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_DFL);  // kills it in the middle of the write
    const rlimit limit{50'000, 50'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    write_file_atomically(path("x"), std::string(100'000, 'z'));
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(files(), 2u);
  EXPECT_EQ(read_file(path("x")).text(), "old");
  remove_stale_temporaries(folder_);
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, OfTwoWritersTheLastOneWins) {
  const std::string a(300'000, 'a'), b(300'000, 'b');
  const auto write_often = [&](const std::string& text) {
    for (int i = 0; i < 20; ++i) write_file_atomically(path("x"), text);
  };
  std::thread other([&] { write_often(b); });
  write_often(a);
  other.join();
  const FileContents found = read_file(path("x"));
  EXPECT_TRUE(found.text() == a || found.text() == b);
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, AFileThatShrinksWhileItIsReadIsAnError) {
  write_file_atomically(path("x"), std::string(100'000, 'x'));
  const InputFile file(path("x"));
  EXPECT_EQ(file.size(), 100'000u);
  std::vector<std::byte> bytes(50'000);
  fs::resize_file(path("x"), 70'000);
  file.read(0, bytes);
  EXPECT_EQ(bytes.back(), std::byte{'x'});
  EXPECT_EQ(run_error([&] { file.read(50'000, bytes); }),
            "cannot read " + path("x") + ": it became shorter while it was read");
}

TEST_F(FileTest, EndlessDevicesAreNotReadForever) {
  EXPECT_EQ(run_error([&] { read_file("/dev/zero", kMaxFileBytes, FileKind::any); }),
            "cannot read /dev/zero: it gives more than 64 MiB");
}

// A file without content on the disk can have any size.
TEST_F(FileTest, FilesThatAreTooLargeAreNotRead) {
  write_file_atomically(path("x"), "1234");
  EXPECT_EQ(read_file(path("x"), 4).text(), "1234");
  EXPECT_EQ(run_error([&] { read_file(path("x"), 3); }),
            "cannot read " + path("x") + ": it has 4 bytes; allowed: at most 3");
  fs::resize_file(path("x"), std::uint64_t{1} << 40);
  EXPECT_EQ(
      run_error([&] { read_file(path("x")); }),
      "cannot read " + path("x") + ": it has 1099511627776 bytes; allowed: at most 1073741824");
}

// Opening a pipe waits for its writer: only one that the user named is opened.
TEST_F(FileTest, PipesAreReadOnlyIfTheUserNamedThem) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const std::string refusal = "cannot read " + path("pipe") + ": it is not a regular file";
  EXPECT_EQ(run_error([&] { read_file(path("pipe")); }), refusal);
  EXPECT_EQ(run_error([&] { InputFile file(path("pipe")); }), refusal);
  EXPECT_EQ(run_error([&] { read_file("/dev/null"); }),
            "cannot read /dev/null: it is not a regular file");
  std::thread writer([&] {
    const Descriptor end(::open(path("pipe").c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(::write(end.get(), "text", 4), 4);
  });
  EXPECT_EQ(read_file(path("pipe"), kMaxFileBytes, FileKind::any).text(), "text");
  writer.join();
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
  LineWriter(path("new"), 0).append("first");
  EXPECT_EQ(read_file(path("new")).text(), "first\n");
}

// A lost log begins again; of a shortened one, and of a cut in the middle of a line, the whole lines
// remain.
TEST_F(FileTest, ResumingKeepsTheWholeLinesThatAreThere) {
  const std::string long_line(150'000, 'q');
  for (const auto& [text, offset, kept] :
       {std::tuple<std::string, std::uint64_t, std::string>{"one\ntwo\n", 8, "one\ntwo\n"},
        {"one\ntwo\n", 100, "one\ntwo\n"},
        {"one\ntw", 100, "one\n"},
        {"one\ntwo\nthree\n", 6, "one\n"},
        {"no end", 100, ""},
        {"one\n" + long_line, 100'000, "one\n"},
        {long_line, 150'000, ""}}) {
    write_file_atomically(path("m"), text);
    LineWriter lines(path("m"), offset);
    EXPECT_EQ(lines.offset(), kept.size());
    lines.append("next");
    lines.flush();
    EXPECT_EQ(read_file(path("m")).text(), kept + "next\n");
  }
  LineWriter lines(path("none"), 1000);
  EXPECT_EQ(lines.offset(), 0u);
}

TEST_F(FileTest, LinesOnAFullDiskAreAnErrorAndCanBeWrittenLater) {
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
