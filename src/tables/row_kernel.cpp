// SPDX-License-Identifier: MIT
#include "tables/row_kernel.h"

#include <fmt/format.h>

#include "attune/error.h"
#include "base/text.h"
#include "solver/contender.h"

namespace attune {

RowKernel row_kernel(std::string_view name, std::optional<std::string_view> layout, const KernelCheck& usable) {
  RowKernel kernel;
  try {
    kernel.candidate = Candidate::parse(name);
  } catch (const Error&) {
    kernel.why_unservable = fmt::format("this program has no such kernel: '{}'", shown(name));
    return kernel;
  }
  if (layout) kernel.why_unservable = why_unreadable(*kernel.candidate, *layout);
  if (!kernel.why_unservable) kernel.why_unservable = usable(*kernel.candidate);
  return kernel;
}

}  // namespace attune
