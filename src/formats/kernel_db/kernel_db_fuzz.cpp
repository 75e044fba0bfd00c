// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "formats/bzip2.h"
#include "formats/kernel_db/kernel_db.h"

/// Any blob is either a kernel of its stated size and hash, or an Error. Bytes that were compressed come back.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  ATTUNE_CHECK(kernel_bytes(kernel_db_row(1, "k.o", "", bytes)) == bytes, "a kernel changed on its way");
  try {
    const std::string plain = bunzip2(bytes, 1 << 20);
    ATTUNE_CHECK(plain.size() <= size_t{1} << 20, "a stream expanded to {} bytes", plain.size());
    KernelDbRow row{1, "k.o", "", bytes, md5(plain), static_cast<int64_t>(plain.size())};
    if (!plain.empty()) ATTUNE_CHECK(kernel_bytes(row) == plain, "a blob was read in two ways");
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
  }
  return 0;
}
