#include "record/safetensors.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <hotloop/error.hpp>
#include <hotloop/rng.hpp>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "tests/record/forgery.hpp"

namespace hotloop {
namespace {

// The reader's error message for a file; nothing if it is accepted. Only RunError is caught.
std::optional<std::string> complaint(std::string_view text) {
  try {
    const Safetensors file(contents_of(text), "x");
    return std::nullopt;
  } catch (const RunError& error) {
    return error.what();
  }
}

// A file with this header and data and a correct checksum, so that only the header can be wrong.
std::string forge(std::string header, std::string_view data,
                  std::optional<std::uint64_t> length = {}) {
  constexpr std::string_view kPrefix = R"({"__metadata__":{"xxh3":"0000000000000000")";
  EXPECT_TRUE(header.starts_with(kPrefix)) << header;
  std::string text(8, '\0');
  const std::uint64_t stated = length.value_or(header.size());
  std::memcpy(text.data(), &stated, 8);
  text += header;
  text += data;
  return sealed(text);
}

std::string forge_tensors(const std::string& tensors, std::string_view data) {
  return forge(R"({"__metadata__":{"xxh3":"0000000000000000"})" + tensors + "}", data);
}

class SafetensorsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "hotloop_tensors_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/a.safetensors";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string small_file() const {
    const std::array<float, 6> weights = {1.5f, -2, 3, 0, 1e-38f, 7};
    const std::array<std::uint8_t, 3> flags = {1, 0, 255};
    const std::array views = {tensor("flags", std::span(flags)),
                              tensor("weights", std::span(weights), {2, 3})};
    write_safetensors(path_, views, {{"step", "12"}});
    return std::string(read_file(path_).text());
  }

  std::string folder_, path_;
};

TEST_F(SafetensorsTest, RoundTripOfEveryTypeAndOddShapes) {
  const std::array<std::uint8_t, 5> bytes = {0, 1, 127, 128, 255};
  const std::array<float, 6> floats = {0, -0.0f, 1e-45f, 3.4e38f, -1, 0.1f};
  const std::array<double, 2> doubles = {0.1, -5e-324};
  const std::array<std::int32_t, 2> ints = {INT32_MIN, INT32_MAX};
  const std::array<std::int64_t, 1> scalar = {INT64_MIN};
  const std::array<std::uint64_t, 2> counters = {0, UINT64_MAX};
  const std::span<const float> nothing;
  const std::array<std::byte, 2> raw = {std::byte{7}, std::byte{9}};
  const std::array views = {
      tensor("bytes", std::span(bytes)),       tensor("f", std::span(floats), {1, 3, 2}),
      tensor("d", std::span(doubles)),         tensor("i", std::span(ints)),
      tensor("scalar", std::span(scalar), {}), tensor("u", std::span(counters)),
      tensor("nothing", nothing, {0, 4}),      tensor("odd \"name\"\n\xc3\xa9", std::span(raw))};
  const Metadata metadata = {{"spec", "env: {name: cartpole}\n# \"quoted\" \\ \t"}, {"empty", ""}};
  write_safetensors(path_, views, metadata);

  const Safetensors file(path_);
  EXPECT_EQ(file.names().size(), views.size());
  EXPECT_EQ(file.metadata("spec"), metadata.at("spec"));
  EXPECT_EQ(file.metadata("empty"), "");
  EXPECT_EQ(file.metadata().size(), 3u);  // and "xxh3"
  for (const TensorView& view : views) {
    ASSERT_TRUE(file.contains(view.name));
    EXPECT_EQ(file.dtype(view.name), view.dtype);
    EXPECT_EQ(file.shape(view.name), view.shape);
  }
  const auto expect_equal = [&](std::string_view name, const auto& values, const Shape& shape) {
    auto found = values;
    std::memset(found.data(), 0x55, sizeof found);
    file.copy(name, std::span(found), shape, Limits::any());
    EXPECT_EQ(std::memcmp(found.data(), values.data(), sizeof found), 0) << name;
  };
  expect_equal("bytes", bytes, {5});
  expect_equal("f", floats, {1, 3, 2});
  expect_equal("d", doubles, {2});
  expect_equal("i", ints, {2});
  expect_equal("scalar", scalar, {});
  expect_equal("u", counters, {2});
  expect_equal("odd \"name\"\n\xc3\xa9", raw, {2});
  file.copy("nothing", std::span<float>(), {0, 4}, Limits::any());
}

TEST_F(SafetensorsTest, AnEmptyFileOfNoTensorsIsValid) {
  write_safetensors(path_, {});
  EXPECT_TRUE(Safetensors(path_).names().empty());
}

// Tensors are read when they are copied. What is given out must be what was verified.
TEST_F(SafetensorsTest, AFileThatChangesWhileItIsReadIsNoticed) {
  const std::vector<float> values(300'000, 1.0f);
  const TensorView views[] = {tensor("a", std::span<const float>(values)),
                              tensor("b", std::span<const float>(values))};
  write_safetensors(path_, views);
  const Safetensors file(path_);
  std::vector<float> found(values.size());
  const auto complaint_of = [&](const char* name) -> std::string {
    try {
      file.copy(name, std::span(found), Limits::finite());
      file.bytes(name);
      return "";
    } catch (const RunError& error) {
      return error.what();
    }
  };
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(-4, std::ios::end)
      .put('x');
  EXPECT_EQ(complaint_of("a"), "");
  EXPECT_EQ(found, values);
  EXPECT_EQ(complaint_of("b"), path_ + ": tensor \"b\" changed while the file was read");
  std::filesystem::resize_file(path_, 1'000'000);
  EXPECT_EQ(complaint_of("a"), "cannot read " + path_ + ": it became shorter while it was read");
}

// The layout that the format's specification demands, checked without our reader.
TEST_F(SafetensorsTest, LayoutIsThatOfTheFormat) {
  const std::string text = small_file();
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), 8);
  EXPECT_EQ((8 + length) % 64, 0u);
  const auto header = nlohmann::json::parse(text.substr(8, length));
  EXPECT_EQ(header["__metadata__"]["step"], "12");
  const auto& weights = header["weights"];
  EXPECT_EQ(weights["dtype"], "F32");
  EXPECT_EQ(weights["shape"], (nlohmann::json{2, 3}));
  EXPECT_EQ(weights["data_offsets"], (nlohmann::json{0, 24}));  // wider elements first
  EXPECT_EQ(header["flags"]["data_offsets"], (nlohmann::json{24, 27}));
  EXPECT_EQ(text.size(), 8 + length + 27);
  float second = 0;
  std::memcpy(&second, text.data() + 8 + length + 4, 4);
  EXPECT_EQ(second, -2.0f);

  std::string zeroed = text;
  const std::string digits = header["__metadata__"]["xxh3"];
  zeroed.replace(text.find(digits), 16, 16, '0');
  EXPECT_EQ(std::stoull(digits, nullptr, 16), XXH3_64bits(zeroed.data(), zeroed.size()));
}

TEST_F(SafetensorsTest, EveryFlippedBitIsFound) {
  const std::string good = small_file();
  ASSERT_EQ(complaint(good), std::nullopt);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    ASSERT_NE(complaint(bad), std::nullopt) << "bit " << bit;
  }
  std::string bad = good;
  bad.back() ^= 1;
  EXPECT_NE(complaint(bad)->find("x: damaged: its checksum does not match"), std::string::npos);
}

TEST_F(SafetensorsTest, EveryTruncationAndAppendedByteIsFound) {
  const std::string good = small_file();
  for (std::size_t size = 0; size < good.size(); ++size) {
    ASSERT_NE(complaint(std::string_view(good).substr(0, size)), std::nullopt) << size;
  }
  const std::string total = std::to_string(good.size());
  EXPECT_EQ(complaint(std::string_view(good).substr(0, good.size() - 1)),
            "x: truncated: expected " + total + " bytes, found " + std::to_string(good.size() - 1));
  EXPECT_EQ(complaint(""), "x: not a safetensors file: only 0 bytes long");
  for (const char extra : {'\0', ' ', 'x'}) {
    EXPECT_EQ(complaint(good + extra),
              "x: damaged: expected " + total + " bytes, found " + std::to_string(good.size() + 1));
  }
}

TEST_F(SafetensorsTest, OtherFilesAreRefusedWithTheReason) {
  EXPECT_THROW(Safetensors(folder_ + "/none"), RunError);
  EXPECT_EQ(complaint("env: {name: cartpole, count: 1}\n"),
            "x: not a safetensors file: it does not start with a header length of up to 33554432");
  EXPECT_EQ(complaint(std::string("\x02\0\0\0\0\0\0\0{}", 10)),
            "x: no checksum (metadata \"xxh3\") at the start of its header");
  EXPECT_EQ(complaint(std::string("\x02\0\0\0\0\0\0\0[]", 10)),
            "x: not a safetensors file: its header is not a JSON object");
}

TEST_F(SafetensorsTest, HostileHeadersAreRefused) {
  const std::string data(16, 'd');
  const auto one = [](const std::string& dtype, const std::string& shape,
                      const std::string& place) {
    return R"(,"t":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + place +
           "}";
  };
  ASSERT_EQ(complaint(forge_tensors(one("\"F32\"", "[4]", "[0,16]"), data)), std::nullopt);
  const std::vector<std::string> hostile = {
      one("\"F32\"", "[4]", "[0,17]"),
      one("\"F32\"", "[4]", "[16,0]"),
      one("\"F32\"", "[4]", "[0,18446744073709551615]"),
      one("\"F32\"", "[4]", "[18446744073709551600,18446744073709551615]"),
      one("\"F32\"", "[4]", "[-16,0]"),
      one("\"F32\"", "[4]", "[0.0,16.0]"),
      one("\"F32\"", "[4]", "[0]"),
      one("\"F32\"", "[4]", "[0,16,32]"),
      one("\"F32\"", "[4]", "{}"),
      one("\"F32\"", "[4]", "null"),
      one("\"F32\"", "[5]", "[0,16]"),
      one("\"F32\"", "[-4]", "[0,16]"),
      one("\"F32\"", "[-2,-2]", "[0,16]"),
      one("\"F32\"", "[4.0]", "[0,16]"),
      one("\"F32\"", "[4611686018427387908]", "[0,16]"),   // times 4 wraps round to 16
      one("\"F32\"", "[4294967296,4294967296]", "[0,0]"),  // wraps round to 0
      one("\"F32\"", "[18446744073709551615]", "[0,16]"),
      one("\"F32\"", "4", "[0,16]"),
      one("\"F32\"", "[[4]]", "[0,16]"),
      one("\"F31\"", "[4]", "[0,16]"),
      one("4", "[4]", "[0,16]"),
      one("\"U8\"", "[8]", "[8,16]"),       // a gap before
      one("\"U8\"", "[8]", "[0,8]"),        // bytes after
      one("\"F32\"", "[400]", "[0,1600]"),  // beyond the end
      one("\"U8\"", "[16]", "[0,16]") + R"(,"v":{"dtype":"U8","shape":[8],"data_offsets":[8,16]})",
      one("\"U8\"", "[8]", "[0,8]") + R"(,"v":{"dtype":"U8","shape":[7],"data_offsets":[9,16]})",
      R"(,"t":{"shape":[16],"data_offsets":[0,16]})",
      R"(,"t":5)",
      R"(,"t":[1,2])",
      R"(,"__metadata__":{"a":5})",
      R"(,"__metadata__":7)",
      R"(,"t":)" + std::string(100'000, '['),
      ",\"t\xff\":{}",
      ",",
  };
  for (const std::string& tensors : hostile) {
    EXPECT_NE(complaint(forge_tensors(tensors, data)), std::nullopt) << tensors.substr(0, 100);
  }
  const std::string header = R"({"__metadata__":{"xxh3":"0000000000000000"}})";
  ASSERT_EQ(complaint(forge(header, "")), std::nullopt);
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{25}, std::uint64_t{40}, header.size() - 1,
        header.size() + 1, std::uint64_t{100'000'000}, std::uint64_t{1} << 40, UINT64_MAX - 7,
        UINT64_MAX}) {
    EXPECT_NE(complaint(forge(header, "", length)), std::nullopt) << length;
  }
}

// Random edits of the header with a correct checksum: the file is refused or read, nothing else
// (the sanitizer build checks), and what is accepted can be copied.
TEST_F(SafetensorsTest, FuzzedHeadersNeverCrash) {
  const std::string good = R"({"__metadata__":{"xxh3":"0000000000000000","s":"1"},)"
                           R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                           R"("b":{"dtype":"U8","shape":[3],"data_offsets":[24,27]}})";
  const std::string data(27, 'd');
  constexpr std::string_view kLetters = "0123456789{}[]\",:-.eFIU shape\\\x01\xff";
  Rng rng(3, Purpose::test, 0, 0);
  int refused = 0;
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string header = good;
    for (std::uint32_t edits = 1 + rng.below(3); edits > 0; --edits) {
      const std::size_t at = 42 + rng.below(static_cast<std::uint32_t>(header.size() - 42));
      const char letter = kLetters[rng.below(static_cast<std::uint32_t>(kLetters.size()))];
      switch (rng.below(3)) {
        case 0:
          header[at] = letter;
          break;
        case 1:
          header.insert(at, 1, letter);
          break;
        default:
          header.erase(at, 1);
          break;
      }
    }
    try {
      const Safetensors file(contents_of(forge(header, data)), "x");
      for (const std::string& name : file.names()) {
        const Shape& shape = file.shape(name);
        const auto count =
            std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
        std::vector<std::uint8_t> to(static_cast<std::size_t>(count));
        if (file.dtype(name) == Dtype::u8) file.copy(name, std::span(to), shape, Limits::any());
      }
      ++accepted;
    } catch (const RunError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 15'000);
  EXPECT_GT(accepted, 100);  // edits of names and metadata
}

// Limits come before work: these files would cost minutes, or more memory than their size suggests.
TEST_F(SafetensorsTest, HugeHeadersAreRefusedAtOnce) {
  std::string many;
  for (int i = 0; i < 200'000; ++i) {
    many += R"(,"t)" + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  std::string more;  // few enough values, but too many tensors
  for (int i = 0; i <= 10'000; ++i) {
    more += R"(,"t)" + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  std::string deep = R"(,"t":)";
  for (int i = 0; i < 100'000; ++i) deep += R"({"a":[)";
  const std::string wide = R"(,"t":{"shape":[)" + std::string(2'000'000, ',') + "]}";
  const auto start = std::chrono::steady_clock::now();
  for (const std::string* header :
       {&std::as_const(many), &std::as_const(more), &std::as_const(deep), &wide}) {
    EXPECT_NE(complaint(forge_tensors(*header, "")), std::nullopt);
  }
  const std::string large = forge_tensors(R"(,"a":")" + std::string(100'000'000, 'x') + "\"", "");
  EXPECT_NE(complaint(large)->find("header length of up to 33554432"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));  // mostly forging
}

TEST_F(SafetensorsTest, NamesInMessagesCannotControlATerminal) {
  const std::string name = R"(,"a\u001b[31m\u0007":{"dtype":")";
  const auto refused =
      complaint(forge_tensors(name + R"(F\u009b9","shape":[0],"data_offsets":[0,0]})", ""));
  EXPECT_EQ(refused, "x: tensor a\\x1b[31m\\x07: unknown type F\\xc2\\x9b9");
}

TEST_F(SafetensorsTest, CopyNamesWhatWasExpectedAndFound) {
  small_file();
  const Safetensors file(path_);
  std::array<float, 6> floats{};
  std::array<double, 6> doubles{};
  const auto message = [&](auto call) -> std::string {
    try {
      call();
    } catch (const RunError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([&] {
              file.copy("weights", std::span(floats), {3, 2}, Limits::any());
            }),
            path_ + ": tensor \"weights\": expected F32 [3, 2], found F32 [2, 3]");
  EXPECT_EQ(message([&] {
              file.copy("weights", std::span(doubles), {2, 3}, Limits::any());
            }),
            path_ + ": tensor \"weights\": expected F64 [2, 3], found F32 [2, 3]");
  EXPECT_EQ(message([&] { file.copy("weights", std::span(floats).first(5), Limits::any()); }),
            path_ + ": tensor \"weights\": expected F32 with 5 elements, found F32 [2, 3]");
  EXPECT_EQ(message([&] { file.copy("bias", std::span(floats), Limits::any()); }),
            path_ + ": no tensor \"bias\"");
  EXPECT_EQ(message([&] { static_cast<void>(file.metadata("seed")); }),
            path_ + ": no metadata \"seed\"");
  EXPECT_EQ(floats, (std::array<float, 6>{}));  // nothing was copied
  EXPECT_EQ(message([&] { file.copy("weights", std::span(floats), Limits::at_least(0)); }),
            path_ + ": tensor \"weights\": number 1 is -2; allowed: finite numbers of at least 0");
  file.copy("weights", std::span(floats), Limits::finite());
  EXPECT_EQ(floats[1], -2.0f);
}

}  // namespace
}  // namespace hotloop
