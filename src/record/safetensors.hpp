// The safetensors container, with a checksum of itself.
//
//   8 bytes   length of the header, little-endian
//   header    JSON: {"__metadata__": {"xxh3": "<16 hex digits>", ...},
//                    "<name>": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]},
//                    ...}
//             padded with spaces, so that the data begins at a multiple of 64 bytes
//   data      the tensors without gaps, little-endian, the widest elements first
//
// Any reader of safetensors can open the file. "xxh3" is the XXH3-64 of the whole file computed
// with its own 16 digits replaced by zeros; it always comes first, so its position does not depend
// on anything it protects. Invariant: a Safetensors object exists only for an undamaged file, and
// gives out only bytes that were part of it when it was verified. Tensors are read when they are
// copied, so a file as large as the memory can be loaded.
//
// A checksum does not tell who wrote a file. So the numbers are not believed either: `copy` takes
// the limits of what they may be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/file.hpp"
#include "core/limits.hpp"

namespace hotloop {

enum class Dtype { f32, f64, i32, i64, u8, u64 };

template <class T>
constexpr Dtype dtype_of() = delete;
template <>
constexpr Dtype dtype_of<float>() {
  return Dtype::f32;
}
template <>
constexpr Dtype dtype_of<double>() {
  return Dtype::f64;
}
template <>
constexpr Dtype dtype_of<std::int32_t>() {
  return Dtype::i32;
}
template <>
constexpr Dtype dtype_of<std::int64_t>() {
  return Dtype::i64;
}
template <>
constexpr Dtype dtype_of<std::uint8_t>() {
  return Dtype::u8;
}
template <>
constexpr Dtype dtype_of<std::byte>() {
  return Dtype::u8;
}
template <>
constexpr Dtype dtype_of<std::uint64_t>() {
  return Dtype::u64;
}

std::string_view dtype_name(Dtype dtype);  // "F32"
std::size_t dtype_size(Dtype dtype);       // bytes of an element

// Limits that are checked before work is done. The header of a real file is a few kB; one with a
// network of a million edges, whose spec lists them, has 14 MB.
inline constexpr std::size_t kMaxHeaderBytes = std::size_t{32} << 20;
inline constexpr std::size_t kMaxTensors = 10'000;
inline constexpr std::size_t kMaxMetadata = 1'000;

using Shape = std::vector<std::int64_t>;
using Metadata = std::map<std::string, std::string>;

// A tensor to be written; the caller owns the bytes.
struct TensorView {
  std::string name;
  Dtype dtype;
  Shape shape;
  std::span<const std::byte> bytes;
};

template <class T, std::size_t kExtent>
TensorView tensor(std::string name, std::span<T, kExtent> values, Shape shape) {
  return {std::move(name), dtype_of<std::remove_const_t<T>>(), std::move(shape),
          std::as_bytes(values)};
}
template <class T, std::size_t kExtent>
TensorView tensor(std::string name, std::span<T, kExtent> values) {
  return tensor(std::move(name), values, {static_cast<std::int64_t>(values.size())});
}

// Writes with write_file_atomically, without copying tensors. Names must be unique, and each shape
// must match its bytes.
void write_safetensors(const std::string& path, std::span<const TensorView> tensors,
                       const Metadata& metadata = {});

class Safetensors {
 public:
  // Reads and verifies; throws a RunError that names the file and what is wrong with it.
  explicit Safetensors(const std::string& path);
  Safetensors(InputFile file, std::string origin);  // `origin` names it in messages

  const Metadata& metadata() const { return metadata_; }            // "xxh3" included
  const std::string& metadata(const std::string& key) const;        // RunError if absent
  const std::vector<std::string>& names() const { return names_; }  // in the order of the data
  bool contains(std::string_view name) const { return tensors_.contains(name); }
  Dtype dtype(std::string_view name) const { return find(name).dtype; }
  const Shape& shape(std::string_view name) const { return find(name).shape; }

  // Throws unless the tensor has this type and shape: to be called before memory is taken for it.
  void expect(std::string_view name, Dtype dtype, const Shape& shape) const;
  // Copies a tensor; its type, its shape (or number of elements) and its numbers must be as
  // expected.
  template <class T, std::size_t kExtent>
  void copy(std::string_view name, std::span<T, kExtent> to, const Shape& shape,
            const Limits& limits) const {
    copy_bytes(name, dtype_of<T>(), &shape, std::as_writable_bytes(to));
    check(name, std::span<const T>(to), limits);
  }
  template <class T, std::size_t kExtent>
  void copy(std::string_view name, std::span<T, kExtent> to, const Limits& limits) const {
    copy_bytes(name, dtype_of<T>(), nullptr, std::as_writable_bytes(to));
    check(name, std::span<const T>(to), limits);
  }
  std::vector<std::byte> bytes(std::string_view name) const;  // of a tensor, unconverted

 private:
  struct Tensor {
    Dtype dtype;
    Shape shape;
    std::uint64_t begin, end;  // bytes within the file
    std::uint64_t hash = 0;    // of these bytes when they were verified
  };

  // Checks our copy: the file may have changed since.
  template <class T>
  void check(std::string_view name, std::span<const T> values, const Limits& limits) const {
    if constexpr (std::is_arithmetic_v<T>) {
      if (const auto at = limits.first_outside(values)) {
        fail_number(name, *at, static_cast<double>(values[*at]), limits);
      }
    }
  }

  void parse();
  void parse_header(std::string_view header, std::uint64_t data_begin);
  void verify_layout(std::uint64_t data_begin);
  void verify_checksum(std::string_view head);
  const Tensor& find(std::string_view name) const;
  void read(std::string_view name, const Tensor& tensor, std::span<std::byte> to) const;
  [[noreturn]] void fail_type(std::string_view name, Dtype dtype,
                              const std::string& expected) const;
  [[noreturn]] void fail_number(std::string_view name, std::size_t at, double value,
                                const Limits& limits) const;
  void copy_bytes(std::string_view name, Dtype dtype, const Shape* shape,
                  std::span<std::byte> to) const;
  [[noreturn]] void fail(std::string_view what) const;

  std::string origin_;
  InputFile file_;
  Metadata metadata_;
  std::vector<std::string> names_;
  std::map<std::string, Tensor, std::less<>> tensors_;
};

}  // namespace hotloop
