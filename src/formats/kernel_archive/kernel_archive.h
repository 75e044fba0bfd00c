// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <filesystem>

#include "compile/kernel_cache.h"

/// The kernels of a cache in one file, to carry to another machine: a tar of its entries
/// (docs/formats/kernel_cache.md).
namespace attune::kernel_archive {

/// Writes the kernels of a cache whose digest is right into a new file (0600), which appears when it is complete.
/// Returns their number. Throws invalid_input if something has that name, io, and like KernelCache::list().
size_t write(const std::filesystem::path& file, const KernelCache& cache);

struct Added {
  size_t kernels = 0;
  size_t outdated = 0;  ///< Made by another version of a compiler's command, which this build does not use.
};
/// Adds an archive's kernels to a cache. First reads it to its end: an archive with anything but what write() makes (a
/// link, another path, a wrong digest, a size above the limits) adds nothing. Whether its sender is to be trusted is
/// for the caller to know: kernels are programs. Throws invalid_input with the place in the file, io, and like
/// KernelCache::add().
Added add(const std::filesystem::path& file, KernelCache& cache);

}  // namespace attune::kernel_archive
