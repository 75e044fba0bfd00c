// SPDX-License-Identifier: MIT
#include "measure/operands/write_protection.h"

#include "base/error.h"
#include "base/pages.h"

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

WriteProtection::Lift::Lift(const WriteProtection& of, Buffer part) : memory_(of.memory_) {
  // Rounded down to a page boundary; of.pages_ begins at one.
  const auto from = static_cast<uint64_t>(static_cast<char*>(part.data) - static_cast<char*>(of.pages_.data));
  const uint64_t begin = from / page_bytes() * page_bytes();
  pages_ = of.pages_.part(begin, in_whole_pages(from + part.bytes - begin));
  memory_.set_writable(pages_, true);
}

WriteProtection::~WriteProtection() { memory_.set_writable(pages_, true); }

}  // namespace attune
