// SPDX-License-Identifier: MIT
#include "measure/operands/device_reference.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "device/device_kind.h"

namespace attune {
namespace {

constexpr uint32_t kAlignment = 256;

uint64_t bytes_of(int64_t count) { return static_cast<uint64_t>(count) * sizeof(double); }

}  // namespace

DeviceReference::DeviceReference(Device& device, int64_t count)
    : memory_(device.memory()),
      count_(count),
      values_(memory_, bytes_of(count), kAlignment),
      scales_(memory_, bytes_of(count), kAlignment) {}

void DeviceReference::read(int64_t first, std::span<double> values, std::span<double> scales) const {
  ATTUNE_CHECK(first >= 0 && first + static_cast<int64_t>(values.size()) <= count_ && values.size() == scales.size(),
               "elements {} … {} of {}", first, first + static_cast<int64_t>(values.size()), count_);
  memory_.download(std::as_writable_bytes(values), this->values() + first);
  memory_.download(std::as_writable_bytes(scales), this->scales() + first);
}

double DeviceReference::value(int64_t index) const {
  double value = 0;
  memory_.download(std::as_writable_bytes(std::span(&value, 1)), values() + index);
  return value;
}

std::unique_ptr<DeviceReferenceKernel> DeviceReferenceKernel::open(Device& device, const Op& op,
                                                                   const Problem& problem) {
  const OpKernels* const kernels = op.kernels();
  auto kernel = kernels != nullptr ? kernels->reference_kernel(problem) : std::nullopt;
  const void* const image = kernel ? kernel_image(kernel->images, kernel->name, device.info().kind) : nullptr;
  if (image == nullptr) return nullptr;
  auto loaded = device.load(image);
  if (!loaded) return nullptr;
  return std::unique_ptr<DeviceReferenceKernel>(new DeviceReferenceKernel(std::move(*kernel), std::move(loaded)));
}

void DeviceReferenceKernel::compute(std::span<const void* const> inputs, const DeviceReference& out) {
  KernelInputs all;
  ATTUNE_CHECK(inputs.size() <= KernelInputs::kMaxInputs, "{} inputs", inputs.size());
  std::ranges::copy(inputs, all.data);
  void* values = out.values();
  void* scales = out.scales();
  const std::array<void*, 4> arguments = {&all, &values, &scales, kernel_.problem.data()};
  loaded_->run(kernel_.name, kernel_.grid, arguments);
}

}  // namespace attune
