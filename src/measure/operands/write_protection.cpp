// SPDX-License-Identifier: MIT
#include "measure/operands/write_protection.h"

#include "base/error.h"

namespace attune {

WriteProtection::WriteProtection(DeviceMemory& memory, Buffer pages, std::string_view content)
    : memory_(memory), pages_(pages) {
  const Protection protection = memory.set_writable(pages, false);
  if (protection == Protection::none) hash_ = memory.hash(pages);
  if (protection != Protection::failed) return;
  memory.set_writable(pages, true);
  fail(ErrorCode::device, "cannot write-protect the {} that all candidates are timed with, close other programs",
       content);
}

WriteProtection::~WriteProtection() { memory_.set_writable(pages_, true); }

}  // namespace attune
