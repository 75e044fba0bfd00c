// SPDX-License-Identifier: MIT
#include "base/sha256.h"

#include <fmt/format.h>
#include <nettle/sha2.h>

#include <array>
#include <vector>

#include "base/file.h"

namespace attune {
namespace {

class Digest {
 public:
  Digest() { sha256_init(&context_); }
  void add(std::string_view bytes) {
    sha256_update(&context_, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
  }
  std::string hex() {
    std::array<uint8_t, SHA256_DIGEST_SIZE> digest;
    sha256_digest(&context_, digest.size(), digest.data());
    return fmt::format("{:02x}", fmt::join(digest, ""));
  }

 private:
  sha256_ctx context_;
};

}  // namespace

std::string sha256(std::string_view bytes) {
  Digest digest;
  digest.add(bytes);
  return digest.hex();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  FileReader reader(path);
  Digest digest;
  std::vector<char> buffer(1 << 16);
  while (const size_t count = reader.read(buffer)) digest.add({buffer.data(), count});
  return digest.hex();
}

}  // namespace attune
