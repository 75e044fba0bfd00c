// SPDX-License-Identifier: MIT
#include "measure/operands/other_values.h"

#include <utility>

namespace attune {

OtherValues::OtherValues(Device& device, std::span<const TensorSpec> specs, Rotation& rotation, uint32_t copy,
                         std::span<const GuardedBuffer> inputs, std::vector<std::shared_ptr<PackedWeights>> layouts)
    : rotation_(rotation), copy_(copy), layouts_(std::move(layouts)) {
  const auto here = rotation.copy(copy), there = rotation.copy((copy + 1) % rotation.size().copies);
  std::vector<Buffer> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values.push_back(inputs[i].area());
    if (here[i] != there[i]) {
      former_.push_back({there[i], specs[i].bytes()});
      continue;
    }
    const OwnBuffer& saved = saved_.emplace_back(device.memory(), specs[i].bytes(), specs[i].alignment_bytes);
    device.memory().copy(saved.data(), here[i], specs[i].bytes());
    former_.push_back(saved.area());
  }
  rotation_.write(copy_, values);
  try {
    pack();
  } catch (...) {
    rotation_.write(copy_, former_);
    throw;
  }
}

OtherValues::~OtherValues() {
  if (is_back_) return;
  try {
    put_back();
  } catch (...) {  // Unlikely, because packing worked before; the exception in flight explains more.
  }
}

void OtherValues::put_back() {
  rotation_.write(copy_, former_);
  pack();
  is_back_ = true;
}

void OtherValues::pack() {
  for (const auto& layout : layouts_) layout->pack_copy(copy_, rotation_);
}

}  // namespace attune
