// SPDX-License-Identifier: MIT
#include "measure/comparison/device_comparison.h"

#include <algorithm>
#include <array>
#include <vector>

#include "device/device_kind.h"
#include "measure/comparison/comparison_kernel.h"
#include "tensor/convert.h"
#include "tensor/kernel_dtype.h"

namespace attune {

std::span<const KernelImage> comparison_kernels();  // comparison.cu

namespace {

constexpr const char* kKernel = "attune_compare";
constexpr int64_t kBlocksPerUnit = 4;
constexpr uint32_t kAlignment = 64;

}  // namespace

std::unique_ptr<DeviceComparison> DeviceComparison::open(Device& device, DType dtype) {
  const void* const image = kernel_image(comparison_kernels(), kKernel, device.info().kind);
  if (image == nullptr || !is_kernel_dtype(dtype)) return nullptr;
  auto kernels = device.load(image);
  if (!kernels) return nullptr;
  return std::unique_ptr<DeviceComparison>(new DeviceComparison(device, dtype, std::move(kernels)));
}

OutputComparison DeviceComparison::compare(Buffer got, const DeviceReference& reference, int64_t columns,
                                           const Tolerance& tolerance) {
  const int64_t count = reference.count();
  const int64_t max = std::max<int64_t>(1, device_.info().num_units * kBlocksPerUnit);
  const LaunchGrid grid = {
      static_cast<uint32_t>(std::clamp<int64_t>((count + kComparisonThreads - 1) / kComparisonThreads, 1, max)),
      kComparisonThreads};
  ComparisonInput input = {.got = got.data,
                           .values = reference.values(),
                           .scales = reference.scales(),
                           .count = count,
                           .dtype = dtype_,
                           .bounds = element_bounds(dtype_, tolerance)};
  std::vector<ComparisonPart> parts(grid.blocks);
  if (answer_.area().bytes < parts.size() * sizeof(ComparisonPart))
    answer_ = OwnBuffer(device_.memory(), parts.size() * sizeof(ComparisonPart), kAlignment);
  void* answer_data = answer_.data();
  const std::array<void*, 2> arguments = {&input, &answer_data};
  kernels_->run(kKernel, grid, arguments);
  device_.memory().download(std::as_writable_bytes(std::span(parts)), answer_.data());

  ComparisonPart all{};
  for (const ComparisonPart& part : parts) add(all, part);
  return comparison_of(all, count, [&](int64_t index) { return place(got, reference, index, columns); });
}

Place DeviceComparison::place(Buffer got, const DeviceReference& reference, int64_t index, int64_t columns) const {
  const auto bytes = static_cast<uint64_t>(bits(dtype_)) / 8;
  std::array<std::byte, sizeof(double)> element{};
  device_.memory().download(std::span(element).first(bytes),
                            got.part(static_cast<uint64_t>(index) * bytes, bytes).data);
  Place place = {.row = index / columns, .column = index % columns, .want = reference.value(index)};
  to_double(dtype_, element.data(), std::span(&place.got, 1));
  return place;
}

}  // namespace attune
