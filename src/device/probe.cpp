// SPDX-License-Identifier: MIT
#include "device/probe.h"

#include <array>

#include "base/error.h"
#include "device/byte_patterns.h"
#include "device/own_buffer.h"

namespace attune {

void probe(Device& device) {
  constexpr uint64_t kBytes = 4096;
  constexpr Pattern kPattern{0x9e3779b97f4a7c15, 8};
  const OwnBuffer area(device.memory(), kBytes, 256);
  device.memory().fill(area.area(), kPattern);
  const bool is_kept = !device.memory().scan(area.area(), kPattern).first_other;
  std::array<std::byte, kBytes> copy;
  device.memory().download(copy, area.data());
  if (!is_kept || scan_pattern(copy, kPattern).first_other || !device.healthy())
    fail(ErrorCode::device, "{} does not work: it fails its probe", device.info().id);
}

}  // namespace attune
