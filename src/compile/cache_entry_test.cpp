// SPDX-License-Identifier: MIT
#include "compile/cache_entry.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"
#include "compile/kernel_cache.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

std::string cubin_of(uint32_t architecture) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_CUDA;
  header.e_flags = architecture;
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

/// Its digest may be right: it was signed again, or a compiler erred.
TEST(CacheEntry, ACubinOfAnotherArchitectureIsNotGivenToADriver) {
  const TemporaryFolder folder("entry");
  const fs::path root = folder.path() / "cache";
  KernelCache cache({root}, 1 << 20);
  for (const char* arch : {"sm_80", "sm_80a", "sm_90"}) {
    const fs::path file = folder.path() / "cubin";
    write_file_atomically(file, cubin_of(80));
    cache.add({.arch = arch, .recipe = "a", .toolchain = "nvrtc-12.8", .sha256 = "", .file = file, .metadata = {}});
  }
  EXPECT_TRUE(cache.find("sm_80", "a", "nvrtc-12.8"));
  EXPECT_TRUE(cache.find("sm_80a", "a", "nvrtc-12.8"));
  EXPECT_FALSE(cache.find("sm_90", "a", "nvrtc-12.8"));
  EXPECT_FALSE(fs::exists(root / "sm_90" / "a")) << "it is removed like another damaged entry";
}

}  // namespace
}  // namespace attune
