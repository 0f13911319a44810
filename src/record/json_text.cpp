#include "record/json_text.hpp"

#include <fmt/format.h>

#include <cstdint>

#include <hotloop/error.hpp>

#include "core/file.hpp"

namespace hotloop {

bool fits(std::string_view text, const JsonSize& size) {
  std::uint64_t in_object = 0;  // a bit per level, the lowest for the innermost
  int depth = 0;
  std::size_t members = 0, items = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':  // skips the string
        for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\';
        break;
      case '[':
      case '{':
        if (++depth > size.depth) return false;
        in_object = in_object << 1 | (text[i] == '{' ? 1 : 0);
        break;
      case ']':
      case '}':
        --depth;
        in_object >>= 1;
        break;
      case ',':
        if ((in_object & 1) != 0 ? ++members >= size.members : ++items >= size.items) return false;
        break;
      default:
        break;
    }
  }
  return true;
}

Json json_or_null(std::string_view text, const JsonSize& size) {
  Json json = fits(text, size) ? Json::parse(text, nullptr, false) : Json();
  return json.is_discarded() ? Json() : json;
}

Json read_json(const std::string& path) {
  return parse_json(read_file(path, kMaxJsonBytes).text(), path);
}

Json parse_json(std::string_view text, const std::string& place, const JsonSize& size) {
  if (!fits(text, size)) {
    throw RunError(fmt::format("{}: JSON with more than {} levels, {} members or {} items", place,
                               size.depth, size.members, size.items));
  }
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) throw RunError(fmt::format("{}: not valid JSON", place));
  return json;
}

}  // namespace hotloop
