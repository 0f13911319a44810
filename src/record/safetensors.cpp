#include "record/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <hotloop/error.hpp>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "core/text.hpp"
#include "record/json_text.hpp"

namespace hotloop {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::array<std::string_view, 6> kNames = {"F32", "F64", "I32", "I64", "U8", "U64"};
constexpr std::array<std::size_t, 6> kSizes = {4, 8, 4, 8, 1, 8};

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kAlignment = 64;
constexpr std::string_view kOpening = R"({"__metadata__":{"xxh3":")";
constexpr std::string_view kZeros = "0000000000000000";
constexpr std::size_t kDigitsAt = kLengthBytes + kOpening.size();

// Number of bytes, or nullopt if it does not fit into 63 bits or an extent is negative.
std::optional<std::uint64_t> bytes_of(const Shape& shape, Dtype dtype) {
  std::int64_t bytes = static_cast<std::int64_t>(dtype_size(dtype));
  for (std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(bytes);
}

std::string text_of(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string length_prefix(std::uint64_t length) {
  std::string result(kLengthBytes, '\0');
  std::memcpy(result.data(), &length, kLengthBytes);
  return result;
}

class Hasher {
 public:
  Hasher() {
    if (!state_) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }
  void add(const void* bytes, std::size_t size) {
    if (size > 0) XXH3_64bits_update(state_.get(), bytes, size);
  }
  std::uint64_t hash() const { return XXH3_64bits_digest(state_.get()); }
  std::string digits() const { return fmt::format("{:016x}", hash()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
};

// Length and header, with zeros for the checksum.
std::string head_of(std::span<const TensorView* const> tensors, const Metadata& metadata) {
  std::string header = fmt::format("{}{}\"", kOpening, kZeros);
  for (const auto& [key, value] : metadata) {
    assert(key != "xxh3");
    header += fmt::format(",{}:{}", quoted(key), quoted(value));
  }
  header += '}';
  std::uint64_t offset = 0;
  for (const TensorView* view : tensors) {
    header += fmt::format(R"(,{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                          quoted(view->name), dtype_name(view->dtype), fmt::join(view->shape, ","),
                          offset, offset + view->bytes.size());
    offset += view->bytes.size();
  }
  header += '}';
  while ((kLengthBytes + header.size()) % kAlignment != 0) header += ' ';
  return length_prefix(header.size()) + header;
}

}  // namespace

std::string_view dtype_name(Dtype dtype) { return kNames[static_cast<std::size_t>(dtype)]; }
std::size_t dtype_size(Dtype dtype) { return kSizes[static_cast<std::size_t>(dtype)]; }

void write_safetensors(const std::string& path, std::span<const TensorView> tensors,
                       const Metadata& metadata) {
  std::vector<const TensorView*> order;
  for (const TensorView& view : tensors) {
    assert(bytes_of(view.shape, view.dtype) == view.bytes.size());
    order.push_back(&view);
  }
  // With the widest elements first, every tensor is aligned to its element size without gaps.
  std::stable_sort(order.begin(), order.end(), [](const TensorView* a, const TensorView* b) {
    return dtype_size(a->dtype) > dtype_size(b->dtype);
  });

  std::string head = head_of(order, metadata);
  Hasher hasher;
  hasher.add(head.data(), head.size());
  for (const TensorView* view : order) hasher.add(view->bytes.data(), view->bytes.size());
  head.replace(kDigitsAt, kZeros.size(), hasher.digits());

  std::vector<std::span<const std::byte>> parts = {std::as_bytes(std::span(head))};
  for (const TensorView* view : order) parts.push_back(view->bytes);
  write_file_atomically(path, parts);
}

Safetensors::Safetensors(const std::string& path) : Safetensors(InputFile(path), path) {}

Safetensors::Safetensors(InputFile file, std::string origin)
    : origin_(std::move(origin)), file_(std::move(file)) {
  parse();
}

// Every length is checked against the file's size before it is used. The checksum comes last only
// so that a truncated file is reported as truncated.
void Safetensors::parse() {
  const std::uint64_t size = file_.size();
  if (size < kLengthBytes) {
    fail(fmt::format("not a safetensors file: only {} bytes long", size));
  }
  std::uint64_t length = 0;
  file_.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > kMaxHeaderBytes) {
    fail(fmt::format("not a safetensors file: it does not start with a header length of up to {}",
                     kMaxHeaderBytes));
  }
  const std::uint64_t data_begin = kLengthBytes + length;
  if (data_begin > size) {
    fail(fmt::format("truncated: expected at least {} bytes, found {}", data_begin, size));
  }
  std::string head(data_begin, '\0');
  file_.read(0, std::as_writable_bytes(std::span(head)));
  const std::string_view header = std::string_view(head).substr(kLengthBytes);
  if (!header.starts_with('{')) fail("not a safetensors file: its header is not a JSON object");
  if (!header.starts_with(kOpening) || header.size() < kOpening.size() + kZeros.size()) {
    fail("no checksum (metadata \"xxh3\") at the start of its header");
  }
  // An object of tensors, each an object of three members, two of them lists.
  constexpr JsonSize kMaxSize{.depth = 3, .members = 8 * kMaxTensors, .items = 16 * kMaxTensors};
  if (!fits(header, kMaxSize)) {
    fail(fmt::format("damaged: its header is nested too deeply or has more than {} tensors",
                     kMaxTensors));
  }
  try {
    parse_header(header, data_begin);
  } catch (const nlohmann::json::exception&) {
    fail("damaged: its header is not valid JSON or lacks required fields");
  }
  verify_layout(data_begin);
  verify_checksum(head);
}

void Safetensors::parse_header(std::string_view header, std::uint64_t data_begin) {
  const nlohmann::json root = nlohmann::json::parse(header);
  if (root.size() > kMaxTensors + 1) {
    fail(fmt::format("damaged: {} tensors; allowed: up to {}", root.size() - 1, kMaxTensors));
  }
  for (const auto& [name, value] : root.items()) {
    if (name == "__metadata__") {
      metadata_ = value.get<Metadata>();
      if (metadata_.size() > kMaxMetadata) {
        fail(fmt::format("damaged: {} entries of metadata; allowed: up to {}", metadata_.size(),
                         kMaxMetadata));
      }
      continue;
    }
    const auto& dtype = value.at("dtype").get_ref<const std::string&>();
    const auto found = std::find(kNames.begin(), kNames.end(), dtype);
    if (found == kNames.end())
      fail(fmt::format("tensor {}: unknown type {}", printable(name), printable(dtype)));

    Tensor tensor{static_cast<Dtype>(found - kNames.begin()), {}, 0, 0};
    const nlohmann::json& shape = value.at("shape");
    const nlohmann::json& offsets = value.at("data_offsets");
    if (!shape.is_array() || !offsets.is_array() || offsets.size() != 2) {
      fail(fmt::format("damaged: tensor {} has no valid shape or data_offsets", printable(name)));
    }
    for (const nlohmann::json& extent : shape) {
      const bool valid = extent.is_number_unsigned() && extent.get<std::uint64_t>() <= INT64_MAX;
      tensor.shape.push_back(valid ? extent.get<std::int64_t>() : -1);
    }
    const std::optional<std::uint64_t> bytes = bytes_of(tensor.shape, tensor.dtype);
    if (!bytes) fail(fmt::format("damaged: tensor {} has an invalid shape", printable(name)));

    constexpr std::uint64_t kMax = std::uint64_t{1} << 62;  // sums below cannot overflow
    for (const nlohmann::json& offset : offsets) {
      if (!offset.is_number_unsigned() || offset.get<std::uint64_t>() > kMax) {
        fail(fmt::format("damaged: tensor {} has invalid data_offsets", printable(name)));
      }
    }
    tensor.begin = data_begin + offsets[0].get<std::uint64_t>();
    tensor.end = data_begin + offsets[1].get<std::uint64_t>();
    if (tensor.end < tensor.begin || tensor.end - tensor.begin != *bytes) {
      fail(fmt::format("damaged: tensor {} of shape {} needs {} bytes, its data_offsets differ",
                       printable(name), text_of(tensor.shape), *bytes));
    }
    names_.push_back(name);
    tensors_.emplace(name, std::move(tensor));
  }
}

// The tensors fill the file from the header to its end: no gaps, no overlaps, no trailing bytes.
void Safetensors::verify_layout(std::uint64_t data_begin) {
  std::sort(names_.begin(), names_.end(), [&](const std::string& a, const std::string& b) {
    const Tensor& left = find(a);
    const Tensor& right = find(b);
    return std::tie(left.begin, left.end, a) < std::tie(right.begin, right.end, b);
  });
  std::uint64_t end = data_begin;
  for (const std::string& name : names_) {
    const Tensor& tensor = find(name);
    if (tensor.begin != end) {
      fail(fmt::format("damaged: tensor {} does not start where the previous one ends",
                       printable(name)));
    }
    end = tensor.end;
  }
  const std::uint64_t size = file_.size();
  if (end > size) fail(fmt::format("truncated: expected {} bytes, found {}", end, size));
  if (end < size) fail(fmt::format("damaged: expected {} bytes, found {}", end, size));
}

// Also notes the hash of each tensor: it will be read again when it is copied, and the file may have
// changed by then.
void Safetensors::verify_checksum(std::string_view head) {
  constexpr std::uint64_t kPiece = 1 << 18;
  std::vector<std::byte> piece(std::min(kPiece, file_.size() - head.size()));
  Hasher hasher;
  hasher.add(head.data(), kDigitsAt);
  hasher.add(kZeros.data(), kZeros.size());
  hasher.add(head.data() + kDigitsAt + kZeros.size(), head.size() - kDigitsAt - kZeros.size());
  for (const std::string& name : names_) {
    Tensor& tensor = tensors_.find(name)->second;
    Hasher own;
    for (std::uint64_t at = tensor.begin; at < tensor.end; at += kPiece) {
      const std::span<std::byte> bytes = std::span(piece).first(std::min(kPiece, tensor.end - at));
      file_.read(at, bytes);
      hasher.add(bytes.data(), bytes.size());
      own.add(bytes.data(), bytes.size());
    }
    tensor.hash = own.hash();
  }
  const std::string_view written = head.substr(kDigitsAt, kZeros.size());
  const std::string computed = hasher.digits();
  if (written != computed)
    fail(fmt::format("damaged: its checksum does not match its content ({})", computed));
}

const std::string& Safetensors::metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) fail(fmt::format("no metadata \"{}\"", key));
  return found->second;
}

const Safetensors::Tensor& Safetensors::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) fail(fmt::format("no tensor \"{}\"", name));
  return found->second;
}

void Safetensors::expect(std::string_view name, Dtype dtype, const Shape& shape) const {
  const Tensor& tensor = find(name);
  if (tensor.dtype != dtype || tensor.shape != shape) fail_type(name, dtype, text_of(shape));
}

void Safetensors::copy_bytes(std::string_view name, Dtype dtype, const Shape* shape,
                             std::span<std::byte> to) const {
  const Tensor& tensor = find(name);
  assert(!shape || bytes_of(*shape, dtype) == to.size());
  if (shape) expect(name, dtype, *shape);
  if (tensor.dtype != dtype || tensor.end - tensor.begin != to.size()) {
    fail_type(name, dtype, fmt::format("with {} elements", to.size() / dtype_size(dtype)));
  }
  read(name, tensor, to);
}

void Safetensors::fail_type(std::string_view name, Dtype dtype, const std::string& expected) const {
  const Tensor& tensor = find(name);
  fail(fmt::format("tensor \"{}\": expected {} {}, found {} {}", name, dtype_name(dtype), expected,
                   dtype_name(tensor.dtype), text_of(tensor.shape)));
}

void Safetensors::fail_number(std::string_view name, std::size_t at, double value,
                              const Limits& limits) const {
  fail(fmt::format("tensor \"{}\": number {} is {}; allowed: {}", name, at, value, limits.text()));
}

std::vector<std::byte> Safetensors::bytes(std::string_view name) const {
  const Tensor& tensor = find(name);
  std::vector<std::byte> all(tensor.end - tensor.begin);
  read(name, tensor, all);
  return all;
}

void Safetensors::read(std::string_view name, const Tensor& tensor, std::span<std::byte> to) const {
  file_.read(tensor.begin, to);
  Hasher hasher;
  hasher.add(to.data(), to.size());
  if (hasher.hash() != tensor.hash) {
    fail(fmt::format("tensor \"{}\" changed while the file was read", name));
  }
}

void Safetensors::fail(std::string_view what) const {
  throw RunError(fmt::format("{}: {}", origin_, what));
}

}  // namespace hotloop
