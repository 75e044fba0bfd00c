// SPDX-License-Identifier: MIT
#include "device/host_bytes.h"

#include <new>

#include "base/error.h"

namespace attune {

HostBytes::HostBytes(DeviceMemory& memory, Buffer area, Contents contents) : memory_(&memory), address_(area.data) {
  if (std::byte* const there = memory.host_address(area.data)) {
    bytes_ = {there, area.bytes};
    return;
  }
  try {
    copy_.resize(area.bytes);
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::device, "not enough memory of the host for a copy of {} MB of the device's, stop other programs",
         area.bytes >> 20);
  }
  bytes_ = copy_;
  if (contents == Contents::read) memory.download(bytes_, address_);
}

void HostBytes::store() {
  if (!copy_.empty()) memory_->upload(address_, copy_);
}

}  // namespace attune
