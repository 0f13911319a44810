#include "env/file/trust.hpp"

#include <sys/stat.h>

#include <hotloop/error.hpp>

#include "core/file.hpp"
#include "env/file/flat_source.hpp"
#include "env/file/sha256.hpp"
#include "tests/env/file/own_home.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

// FIPS 180-4, examples of the National Institute of Standards and Technology.
TEST(Sha256, Standard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

class Trust : public OwnHome {
 protected:
  static std::string refusal(const std::string& path) {
    try {
      const TrustedCode code(read_code(path));
      return "";
    } catch (const UsageError& error) {
      return error.what();
    }
  }
  static mode_t mode_of(const fs::path& path) {
    struct stat about {};
    return lstat(path.c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
  }
  fs::path list() const { return folder_ / "state/hotloop/trusted"; }
};

TEST_F(Trust, CodeThatAFileNamesIsRefused) {
  const std::string path = put("a.cpp", "int refused;\n");
  const std::string why = refusal(path);
  for (const std::string& part : {path + ": not run", sha256("int refused;\n"),
                                  std::string("--trust"), std::string("trust=True")}) {
    EXPECT_NE(why.find(part), std::string::npos) << why;
  }
  EXPECT_FALSE(fs::exists(list()));
  EXPECT_NE(refusal((folder_ / "missing.cpp").string()).find("no such file"), std::string::npos);
}

TEST_F(Trust, CodeThatTheUserNamesMayRunAsItIs) {
  const std::string path = put("a.cpp", "int named;\n");
  trust_named(path);
  EXPECT_EQ(refusal(path), "");
  EXPECT_EQ(TrustedCode(read_code(path)).bytes(), "int named;\n");
  EXPECT_EQ(refusal(put("copy.cpp", "int named;\n")), "");  // the content counts, not the name
  put("a.cpp", "int named_and_changed;\n");
  EXPECT_NE(refusal(path), "");
  trust_named("env.name=" + path);
  EXPECT_EQ(refusal(path), "");
  trust_named("cartpole");  // no file: nothing happens
  trust_named((folder_ / "missing.cpp").string());
}

TEST_F(Trust, IncludedFilesCount) {
  put("lib/goal.hpp", "int goal = 1;\n");
  const std::string path = put("a.cpp", "#include \"lib/goal.hpp\"\n");
  trust_named(path);
  EXPECT_EQ(refusal(path), "");
  put("lib/goal.hpp", "int goal = 2;\n");
  EXPECT_NE(refusal(path).find("with lib/goal.hpp"), std::string::npos) << refusal(path);
}

TEST_F(Trust, ASourceIsNotTrustedAsALibrary) {
  trust_named(put("a.cpp", "int both;\n"));
  EXPECT_NE(refusal(put("a.so", "int both;\n")), "");
}

TEST_F(Trust, AllCodeInABlock) {
  const std::string path = put("a.cpp", "int in_a_block;\n"), other = put("b.cpp", "int after;\n");
  {
    const TrustAll off(false);
    EXPECT_NE(refusal(path), "");
    const TrustAll on;
    const TrustAll inner(false);  // takes nothing away
    EXPECT_EQ(refusal(path), "");
  }
  EXPECT_EQ(refusal(path), "");  // remembered
  EXPECT_NE(refusal(other), "");
}

TEST_F(Trust, TheListIsTheUsersOwn) {
  const mode_t before = umask(0);
  trust_named(put("a\nb.cpp", "int listed;\n"));
  umask(before);
  EXPECT_EQ(mode_of(list().parent_path()), 0700u);
  EXPECT_EQ(mode_of(list()), 0600u);
  const std::string text(read_file(list().string()).text());
  EXPECT_TRUE(text.starts_with(sha256("int listed;\n") + " source 20")) << text;
  EXPECT_TRUE(text.ends_with("a\\x0ab.cpp\n")) << text;  // one line, whatever the name
}

// This process remembers what it trusted in memory too, so each test has contents of its own.
TEST_F(Trust, OnlyTheUsersOwnListIsBelieved) {
  const auto line = [](const std::string& text) {
    return sha256(text) + " source 2026-01-01 a.cpp\n";
  };
  trust_named(put("first.cpp", "int makes_the_folder;\n"));
  const std::string path = put("a.cpp", "int read_from_the_list;\n");
  const auto write = [&](const std::string& text, mode_t mode) {
    std::ofstream(list()) << text;
    chmod(list().c_str(), mode);
  };
  write(line("int read_from_the_list;\n"), 0622);
  EXPECT_NE(refusal(path), "");
  chmod(list().c_str(), 0600);
  fs::rename(list(), folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", list());
  EXPECT_NE(refusal(path), "");
  fs::remove(list());
  write("x" + line("int read_from_the_list;\n"), 0600);  // not at the beginning of a line
  EXPECT_NE(refusal(path), "");
  write(line("int read_from_the_list;\n"), 0600);
  chmod(list().parent_path().c_str(), 0777);  // somebody may have put it there
  EXPECT_NE(refusal(path), "");
  write(line("int read_from_the_list;\n"), 0600);
  EXPECT_EQ(refusal(path), "");
}

TEST_F(Trust, HalfALineOfAKilledProcessIsSkipped) {
  trust_named(put("first.cpp", "int before_half_a_line;\n"));
  std::ofstream(list(), std::ios::app) << "0123abcd sou";
  trust_named(put("a.cpp", "int after_half_a_line;\n"));
  const std::string text(read_file(list().string()).text());
  EXPECT_NE(text.find("\n" + sha256("int after_half_a_line;\n")), std::string::npos) << text;
}

TEST_F(Trust, AModuleIsKnownByItsName) {
  EXPECT_THROW(TrustedCode{python_module("some_module")}, UsageError);
  trust(python_module("some_module"));
  EXPECT_NO_THROW(TrustedCode{python_module("some_module")});
  EXPECT_THROW(TrustedCode{python_module("some_module.other")}, UsageError);
}

// 2^30 lines from 31 small files.
TEST_F(Trust, SourcesThatGrowWithoutEndAreRefused) {
  put("lib/0.hpp", std::string(1 << 12, ' ') + "\n");
  for (int i = 1; i <= 30; ++i) {
    const std::string line = "#include \"" + std::to_string(i - 1) + ".hpp\"\n";
    put("lib/" + std::to_string(i) + ".hpp", line + line);
  }
  const std::string path = put("a.cpp", "#include \"lib/30.hpp\"\n");
  EXPECT_NE(refusal(path).find("more than 16 MB"), std::string::npos);
  put("lib/0.hpp", std::string(17 << 20, ' '));
  EXPECT_NE(refusal(put("b.cpp", "#include \"lib/0.hpp\"\n")).find("more than 16 MB"),
            std::string::npos);
}

TEST(FlatSource, PlacesNameTheUsersFiles) {
  EXPECT_EQ(with_places("#line 1 \"lib/a.hpp\"\nint a;\n\n#line 2 \"w.cpp\"\nint b;", "dir/w.cpp"),
            "#line 1 \"dir/w.cpp\"\n#line 1 \"dir/lib/a.hpp\"\nint a;\n\n#line 2 \"dir/w.cpp\"\n"
            "int b;");
  EXPECT_EQ(with_places("", "a\"b\\.cpp"), "#line 1 \"a\\\"b\\\\.cpp\"\n");
}

}  // namespace
}  // namespace hotloop
