#include "core/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace hotloop {
namespace {

using Names = std::array<std::string_view, 4>;
constexpr Names kNames = {"cartpole", "batch", "learning_rate", "relu"};

TEST(Text, EditDistanceCountsEachKindOfEditOnce) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("batch", "batch"), 0);
  EXPECT_EQ(edit_distance("batch", "bach"), 1);      // delete
  EXPECT_EQ(edit_distance("batch", "baatch"), 1);    // insert
  EXPECT_EQ(edit_distance("batch", "botch"), 1);     // replace
  EXPECT_EQ(edit_distance("batch", "btach"), 1);     // swap of neighbours
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);  // Levenshtein's textbook example
  EXPECT_EQ(edit_distance("ca", "abc"), 3);          // 2 if a swapped pair could be edited again
  EXPECT_EQ(edit_distance("BATCH", "batch"), 0);
}

TEST(Text, NearestFindsMisspellings) {
  EXPECT_EQ(nearest("CartPole", kNames), "cartpole");
  EXPECT_EQ(nearest("cratpole", kNames), "cartpole");
  EXPECT_EQ(nearest("learningrate", kNames), "learning_rate");
  EXPECT_EQ(nearest("batchsize", kNames), "batch");
  EXPECT_EQ(nearest("learn", kNames), "learning_rate");
  EXPECT_EQ(nearest("rellu", kNames), "relu");
}

TEST(Text, NearestIsEmptyWhenNothingIsNear) {
  EXPECT_EQ(nearest("acrobot", kNames), "");
  EXPECT_EQ(nearest("", kNames), "");
  EXPECT_EQ(nearest("x", kNames), "");
  EXPECT_EQ(nearest("x", std::array<std::string_view, 1>{"y"}), "");
  EXPECT_EQ(nearest("batch", {}), "");
}

TEST(Text, NearestPrefersTheNearerAndThenTheFirst) {
  constexpr std::array<std::string_view, 3> names = {"beta1", "beta2", "beta"};
  EXPECT_EQ(nearest("beta3", names), "beta1");
  EXPECT_EQ(nearest("beta2", names), "beta2");
}

TEST(Text, SuggestionNamesTheNearestAndTheList) {
  EXPECT_EQ(join(kNames), "cartpole, batch, learning_rate, relu");
  EXPECT_EQ(join(std::span(kNames).first(0)), "");
  EXPECT_EQ(suggestion("rleu", kNames),
            "did you mean relu? (allowed: cartpole, batch, learning_rate, relu)");
  EXPECT_EQ(suggestion("zzz", kNames), "allowed: cartpole, batch, learning_rate, relu");
}

TEST(Text, PrintableEscapesWhatATerminalObeys) {
  EXPECT_EQ(printable("layer0.weight"), "layer0.weight");
  EXPECT_EQ(printable("a\x1b[31mb\n\r\x07\x7f"), "a\\x1b[31mb\\x0a\\x0d\\x07\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "a C1 control: CSI in one character";
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "writes from right to left";
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f, \xe2\x82\xac, \xf0\x9f\x90\x8d"),
            "gr\xc3\xbc\xc3\x9f, \xe2\x82\xac, \xf0\x9f\x90\x8d");
  for (const std::string_view bad : {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\x80"}) {
    EXPECT_EQ(printable(bad).find_first_not_of("\\xabcdef0123456789"), std::string::npos);
    EXPECT_EQ(printable(bad).size(), 4 * bad.size());
  }
  EXPECT_EQ(printable("0123456789", 4), "0123...");
  EXPECT_EQ(printable("01\xc3\xbc", 3), "01...") << "never half a character";
  EXPECT_EQ(printable_message("one\ntwo\x1b[2J"), "one\ntwo\\x1b[2J");
  EXPECT_EQ(printable_message("\x1b\x1b") + printable_message(""), "\\x1b\\x1b");
}

TEST(Text, ALongWordIsNoMisspelling) {
  const std::array<std::string_view, 1> names = {"batch"};
  EXPECT_EQ(nearest("batch" + std::string(1'000'000, 'h'), names), "");
}

TEST(Text, NumbersAreShort) {
  EXPECT_EQ(short_number(12345.6), "12.3k");
  EXPECT_EQ(short_number(999.9), "1k");
  EXPECT_EQ(short_number(999.4), "999");
  EXPECT_EQ(short_number(-2.5e6), "-2.5M");
  EXPECT_EQ(short_number(0.0123), "0.0123");
  EXPECT_EQ(short_number(std::nan("")), "-");
  EXPECT_EQ(size_text(1.5 * 0x1p30), "1.5 GiB");
  EXPECT_EQ(size_text(24 * 0x1p20), "24.0 MiB");
  EXPECT_EQ(size_text(3 * 0x1p10), "3.0 KiB");
}

TEST(Text, ReturnsHaveEnoughDigitsToDiffer) {
  EXPECT_EQ(return_text(479.23), "479.2");
  EXPECT_EQ(return_text(-1234.5), "-1234.5");
  EXPECT_EQ(return_text(10), "10.0");
  EXPECT_EQ(return_text(9.99996), "10.0");
  EXPECT_EQ(return_text(9.35), "9.35");
  EXPECT_EQ(return_text(5), "5.0");
  EXPECT_EQ(return_text(0.953125), "0.9531");
  EXPECT_EQ(return_text(-0.0123456), "-0.01235");
  EXPECT_EQ(return_text(0), "0.0");
  EXPECT_EQ(return_text(std::nan("")), "-");
  EXPECT_EQ(return_text(479.23, 0.0512), "479.2 +- 0.1");
  EXPECT_EQ(return_text(0.953125, 0.0512), "0.9531 +- 0.0512");
  EXPECT_EQ(return_text(0.9, 0), "0.9 +- 0.0");
  EXPECT_EQ(return_text(-0.5, 12.34), "-0.5 +- 12.3");
}

}  // namespace
}  // namespace hotloop
