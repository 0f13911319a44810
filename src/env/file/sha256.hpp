// SHA-256 (FIPS 180-4), as 64 hexadecimal digits. For deciding which code may run: unlike the fast
// hashes used elsewhere, nobody can make a second content with the same value.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sodium/crypto_hash_sha256.h>

#include <array>
#include <string>
#include <string_view>

namespace hotloop {

inline std::string sha256(std::string_view text) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
  return fmt::format("{:02x}", fmt::join(hash, ""));
}

}  // namespace hotloop
