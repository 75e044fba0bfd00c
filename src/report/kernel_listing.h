// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "core/binary.h"
#include "core/candidate.h"

namespace attune {

/// A compiled kernel of the cache, as it is listed.
struct ListedKernel {
  Binary binary;
  uintmax_t num_bytes = 0;
  int64_t made_at_ms = 0;              ///< Since 1970, UTC.
  std::optional<Candidate> candidate;  ///< The first that needed it; nothing: unknown, or written by another version.
  std::string entries;                 ///< The functions in it.
};
/// Reads the size and time of a kernel's file. Returns nothing if the file has been removed.
std::optional<ListedKernel> listed_kernel(const Binary& binary);

/// Returns the heading of kernel_line().
std::string kernel_header();
std::string kernel_line(const ListedKernel& kernel);
/// Returns a kernel as a JSON object.
std::string kernel_json(const ListedKernel& kernel);

}  // namespace attune
