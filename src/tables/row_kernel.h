// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/candidate.h"

namespace attune {

/// Returns why a kernel cannot run on a device; nothing if it can.
using KernelCheck = std::function<std::optional<std::string>(const Candidate& kernel)>;

/// The kernel that a row names, as far as it can serve.
struct RowKernel {
  std::optional<Candidate> candidate;         ///< Nothing: this program has no kernel of that name.
  std::optional<std::string> why_unservable;  ///< A clause; nothing: it serves.
};

/// Whether the kernel of a row can serve calls of the row's key: the one rule of all commands that read rows, and that
/// of the run time. Checked in this order: this program has a kernel of that name, it reads weights in the row's
/// layout, and `usable`. `layout`: the row's cell, empty for plain; nothing: the row's file has no such column. Throws
/// what `usable` throws.
RowKernel row_kernel(std::string_view name, std::optional<std::string_view> layout, const KernelCheck& usable);

}  // namespace attune
