// A safetensors file as somebody would forge it: changed at will, with a correct checksum.
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "core/file.hpp"
#include "core/json.hpp"

namespace hotloop {

inline FileContents contents_of(std::string_view text) {
  auto data = std::make_unique_for_overwrite<std::byte[]>(text.size() + 1);
  std::memcpy(data.get(), text.data(), text.size());
  return {std::move(data), text.size()};
}

// The text with the checksum that it needs, if it has a place for one.
inline std::string sealed(std::string text) {
  constexpr std::string_view kOpening = R"({"__metadata__":{"xxh3":")";
  constexpr std::size_t kAt = 8 + kOpening.size(), kDigits = 16;
  if (text.size() < kAt + kDigits || text.compare(8, kOpening.size(), kOpening) != 0) return text;
  text.replace(kAt, kDigits, kDigits, '0');
  char digits[kDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
  return text.replace(kAt, kDigits, digits, kDigits);
}

class Forgery {
 public:
  explicit Forgery(std::string_view text) {  // of a good file
    std::uint64_t length = 0;
    std::memcpy(&length, text.data(), 8);
    header = Json::parse(text.substr(8, length));
    data = text.substr(8 + length);
    good_ = header;
  }
  static Forgery of(const std::string& path) { return Forgery(read_file(path).text()); }

  // A tensor's numbers, to be changed.
  template <class T>
  std::span<T> values(const std::string& name) {
    const auto& place = good_.at(name).at("data_offsets");
    const std::size_t begin = place[0], end = place[1];
    return {reinterpret_cast<T*>(data.data() + begin), (end - begin) / sizeof(T)};
  }
  std::string& bytes() { return data; }
  Json state() const { return Json::parse(metadata("state")); }
  void set_state(const Json& state) { set_metadata("state", state.dump()); }
  std::string metadata(const std::string& key) const {
    return header.at("__metadata__").at(key).get<std::string>();
  }
  void set_metadata(const std::string& key, const std::string& value) {
    header["__metadata__"][key] = value;
  }

  std::string text() const {
    const std::string head = header.dump(-1, ' ', false, Json::error_handler_t::replace);
    const std::uint64_t length = head.size();
    std::string all(8, '\0');
    std::memcpy(all.data(), &length, 8);
    return sealed(all + head + data);
  }
  void write(const std::string& path) const { write_file_atomically(path, text()); }

  Json header;
  std::string data;

 private:
  Json good_;  // the header as it was
};

}  // namespace hotloop
