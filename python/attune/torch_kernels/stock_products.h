// SPDX-License-Identifier: MIT
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <vector>

#include "operator_interface.h"
#include "stock_kernels.h"

namespace attune::python {

inline at::ScalarType scalar_type_of(int32_t dtype) {
  switch (dtype) {
    case type_number::fp32:
      return at::ScalarType::Float;
    case type_number::bf16:
      return at::ScalarType::BFloat16;
    case type_number::fp16:
      return at::ScalarType::Half;
    default:
      TORCH_CHECK(false, "PyTorch has no product of this type here");
  }
}

/// A matrix whose memory each run names anew, without making a tensor.
class MovableTensor {
 public:
  MovableTensor() = default;
  MovableTensor(c10::IntArrayRef sizes, c10::IntArrayRef strides, at::ScalarType type, c10::Device device)
      : device_(device),
        tensor_(at::for_blob(&place_, sizes)
                    .strides(strides)
                    .options(at::TensorOptions().dtype(type).device(device))
                    .target_device(device)
                    .make_tensor()) {}
  const at::Tensor& at(void* data) const {
    tensor_.storage().set_data_ptr_noswap(at::DataPtr(data, device_));
    return tensor_;
  }

 private:
  inline static double place_ = 0;  ///< What has no address yet points here.
  c10::Device device_ = c10::DeviceType::CPU;
  mutable at::Tensor tensor_;
};

/// PyTorch's own kernel of one product, called by its name: what is left of torch.nn.functional.linear once its call
/// has arrived at the dispatcher, without PyTorch's own time for that, which a call that Attune serves takes as well.
template <typename Stock>
class StockProduct {
 public:
  explicit StockProduct(const OperatorProblem& problem)
      : has_bias_(problem.has_bias), device_(Stock::device_of(problem.index)), threads_(problem.threads) {
    const auto type = scalar_type_of(problem.dtype);
    const int64_t m = problem.m, n = problem.n, k = problem.k;
    const auto strides = [](bool is_transposed, int64_t rows, int64_t columns) {
      return is_transposed ? std::vector<int64_t>{1, rows} : std::vector<int64_t>{columns, 1};
    };
    x_ = MovableTensor({m, k}, strides(problem.a_is_km, m, k), type, device_);
    w_ = MovableTensor({k, n}, strides(!problem.b_is_kn, k, n), type, device_);  // As a linear layer's w.t().
    if (has_bias_) bias_ = MovableTensor({n}, {1}, type, device_);
    out_ = MovableTensor({m, n}, {n, 1}, type, device_);
  }

  void run(const ProductAddresses& addresses, void* stream) const {
    const typename Stock::Turn turn(device_, stream, threads_);
    const at::AutoDispatchBelowADInplaceOrView no_gradient_is_recorded;
    const at::Tensor &x = x_.at(addresses.x), &w = w_.at(addresses.w);
    at::Tensor out = out_.at(addresses.out);
    if (has_bias_)
      Stock::addmm_outf(bias_.at(addresses.bias), x, w, 1, 1, out);
    else
      Stock::mm_outf(x, w, out);
  }

 private:
  bool has_bias_;
  c10::Device device_;
  int threads_;
  MovableTensor x_, w_, bias_, out_;
};

/// Throws PyTorch's error if it has no product of this type: some versions have none of fp16 on a CPU, and say so when
/// they are asked to compute one.
inline void check_type_on_cpu(int32_t dtype) {
  const at::Tensor one = at::detail::empty_cpu({1, 1}, scalar_type_of(dtype));
  one.zero_();
  const at::AutoDispatchBelowADInplaceOrView no_gradient_is_recorded;
  at::cpu::mm(one, one);
}

}  // namespace attune::python
