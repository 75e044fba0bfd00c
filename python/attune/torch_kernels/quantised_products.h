// SPDX-License-Identifier: MIT
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/quantized/PackedParams.h>
#include <torch/library.h>

#include <utility>

#include "counted_product.h"
#include "stock_kernels.h"

// Quantised products are PyTorch's, and counted. Its versions differ in which there are and in what they take: the
// headers say the first, the kernels' own types the second.
#if __has_include(<ATen/ops/_int_mm_cpu_dispatch.h>)
#include <ATen/ops/_int_mm_cpu_dispatch.h>
#endif
#if __has_include(<ATen/ops/_scaled_mm_cpu_dispatch.h>)
#include <ATen/ops/_scaled_mm_cpu_dispatch.h>
#endif
#if __has_include(<ATen/ops/_weight_int8pack_mm_cpu_dispatch.h>)
#include <ATen/ops/_weight_int8pack_mm_cpu_dispatch.h>
#endif
#if __has_include(<ATen/ops/_weight_int4pack_mm_cpu_dispatch.h>)
#include <ATen/ops/_weight_int4pack_mm_cpu_dispatch.h>
#endif
#if __has_include(<ATen/ops/_weight_int4pack_mm_for_cpu_cpu_dispatch.h>)
#include <ATen/ops/_weight_int4pack_mm_for_cpu_cpu_dispatch.h>
#endif
#if ATTUNE_TORCH_CUDA
#if __has_include(<ATen/ops/_int_mm_cuda_dispatch.h>)
#include <ATen/ops/_int_mm_cuda_dispatch.h>
#endif
#if __has_include(<ATen/ops/_scaled_mm_cuda_dispatch.h>)
#include <ATen/ops/_scaled_mm_cuda_dispatch.h>
#endif
#if __has_include(<ATen/ops/_scaled_grouped_mm_cuda_dispatch.h>)
#include <ATen/ops/_scaled_grouped_mm_cuda_dispatch.h>
#endif
#if __has_include(<ATen/ops/_weight_int8pack_mm_cuda_dispatch.h>)
#include <ATen/ops/_weight_int8pack_mm_cuda_dispatch.h>
#endif
#if __has_include(<ATen/ops/_weight_int4pack_mm_cuda_dispatch.h>)
#include <ATen/ops/_weight_int4pack_mm_cuda_dispatch.h>
#endif
#endif

namespace attune::python {

/// Registers the counted kernels of `aten` for a device.
template <typename Stock>
void count_quantised(torch::Library& aten);

template <>
inline void count_quantised<StockOnCpu>([[maybe_unused]] torch::Library& aten) {
#if __has_include(<ATen/ops/_int_mm_cpu_dispatch.h>)
  aten.impl("_int_mm", TORCH_FN(Counted<at::cpu::_int_mm>::call));
  aten.impl("_int_mm.out", TORCH_FN(Counted<at::cpu::_int_mm_outf>::call));
#endif
#if __has_include(<ATen/ops/_scaled_mm_cpu_dispatch.h>)
  aten.impl("_scaled_mm", TORCH_FN(Counted<at::cpu::_scaled_mm>::call));
  aten.impl("_scaled_mm.out", TORCH_FN(Counted<at::cpu::_scaled_mm_outf>::call));
#endif
#if __has_include(<ATen/ops/_weight_int8pack_mm_cpu_dispatch.h>)
  aten.impl("_weight_int8pack_mm", TORCH_FN(Counted<at::cpu::_weight_int8pack_mm>::call));
#endif
#if __has_include(<ATen/ops/_weight_int4pack_mm_cpu_dispatch.h>)
  aten.impl("_weight_int4pack_mm", TORCH_FN(Counted<at::cpu::_weight_int4pack_mm>::call));
#endif
#if __has_include(<ATen/ops/_weight_int4pack_mm_for_cpu_cpu_dispatch.h>)
  aten.impl("_weight_int4pack_mm_for_cpu", TORCH_FN(Counted<at::cpu::_weight_int4pack_mm_for_cpu>::call));
#endif
}

#if ATTUNE_TORCH_CUDA
template <>
inline void count_quantised<StockOnCuda>([[maybe_unused]] torch::Library& aten) {
#if __has_include(<ATen/ops/_int_mm_cuda_dispatch.h>)
  aten.impl("_int_mm", TORCH_FN(Counted<at::cuda::_int_mm>::call));
  aten.impl("_int_mm.out", TORCH_FN(Counted<at::cuda::_int_mm_outf>::call));
#endif
#if __has_include(<ATen/ops/_scaled_mm_cuda_dispatch.h>)
  aten.impl("_scaled_mm", TORCH_FN(Counted<at::cuda::_scaled_mm>::call));
  aten.impl("_scaled_mm.out", TORCH_FN(Counted<at::cuda::_scaled_mm_outf>::call));
#endif
#if __has_include(<ATen/ops/_scaled_grouped_mm_cuda_dispatch.h>)
  aten.impl("_scaled_grouped_mm", TORCH_FN(Counted<at::cuda::_scaled_grouped_mm>::call));
#endif
#if __has_include(<ATen/ops/_weight_int8pack_mm_cuda_dispatch.h>)
  aten.impl("_weight_int8pack_mm", TORCH_FN(Counted<at::cuda::_weight_int8pack_mm>::call));
#endif
#if __has_include(<ATen/ops/_weight_int4pack_mm_cuda_dispatch.h>)
  aten.impl("_weight_int4pack_mm", TORCH_FN(Counted<at::cuda::_weight_int4pack_mm>::call));
#endif
}
#endif

/// The layers of `quantized`. PyTorch exports none of these kernels; each is a call of its packed weights, as here.
class QuantisedLayers {
 public:
  QuantisedLayers() {
    count(quantised_, "quantized::linear", TORCH_FN(Counted<linear>::call));
    count(quantised_, "quantized::linear_relu", TORCH_FN(Counted<linear_relu>::call));
    count(plain_, "quantized::linear_dynamic", TORCH_FN(Counted<linear_dynamic>::call));
    count(plain_, "quantized::linear_relu_dynamic", TORCH_FN(Counted<linear_relu_dynamic>::call));
  }

 private:
  using Packed = c10::intrusive_ptr<LinearPackedParamsBase>;

  static at::Tensor linear(at::Tensor x, const Packed& w, double scale, int64_t zero_point) {
    return w->apply(std::move(x), scale, zero_point);
  }
  static at::Tensor linear_relu(at::Tensor x, const Packed& w, double scale, int64_t zero_point) {
    return w->apply_relu(std::move(x), scale, zero_point);
  }
  static at::Tensor linear_dynamic(at::Tensor x, const Packed& w, bool reduce_range) {
    return w->apply_dynamic(std::move(x), reduce_range);
  }
  static at::Tensor linear_relu_dynamic(at::Tensor x, const Packed& w, bool reduce_range) {
    return w->apply_dynamic_relu(std::move(x), reduce_range);
  }

  template <typename Kernel>
  static void count(torch::Library& library, const char* op, Kernel kernel) {
    if (c10::Dispatcher::singleton().findSchema({op, ""})) library.impl(op, kernel);
  }

  torch::Library quantised_{torch::Library::IMPL, "quantized", c10::DispatchKey::QuantizedCPU, __FILE__, __LINE__};
  torch::Library plain_{torch::Library::IMPL, "quantized", c10::DispatchKey::CPU, __FILE__, __LINE__};
};

}  // namespace attune::python
