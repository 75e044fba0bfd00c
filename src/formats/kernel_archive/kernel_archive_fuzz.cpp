// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/error.h"
#include "base/file.h"
#include "formats/kernel_archive/kernel_archive.h"
#include "process/temporary_folder.h"

/// Any bytes are either an archive of kernels or an Error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const attune::TemporaryFolder folder("archive-fuzz");
  static attune::KernelCache cache({folder.path() / "cache"}, 1 << 20);
  const auto file = folder.path() / "kernels.tar";
  attune::write_own_file(file, {reinterpret_cast<const char*>(data), size});
  try {
    attune::kernel_archive::add(file, cache);
  } catch (const attune::Error&) {
    // Most inputs end here.
  }
  return 0;
}
