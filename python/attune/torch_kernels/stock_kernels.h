// SPDX-License-Identifier: MIT
#pragma once
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_addmm_activation_cpu_dispatch.h>
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/baddbmm_cpu_dispatch.h>
#include <ATen/ops/bmm_cpu_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#if ATTUNE_TORCH_CUDA
#include <ATen/cuda/EmptyTensor.h>
#include <ATen/ops/_addmm_activation_cuda_dispatch.h>
#include <ATen/ops/addmm_cuda_dispatch.h>
#include <ATen/ops/baddbmm_cuda_dispatch.h>
#include <ATen/ops/bmm_cuda_dispatch.h>
#include <ATen/ops/mm_cuda_dispatch.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#endif

#include "product_interface.h"
#include "thread_numbers.h"
#include "torch_versions.h"

// For each device: PyTorch's own kernels by name, which a refused call runs without a second dispatch, and what the
// device decides besides. A class has
//   kKey, kAutogradKey   under which kernels are registered
//   kFusesActivations    whether PyTorch's kernel adds the activation in the same launch
//   empty(sizes, like)   an uninitialised tensor of the type and on the device of `like`
//   place_of(x)          its device, and the stream that its work goes to now
//   objection(…)         Reason::routed, or why PyTorch computes the call whatever its sizes are; cheap
//   prepare_thread(x)    once a thread and device: what PyTorch makes at a thread's first product, though Attune
//                        computes it
//   wants_repeatable()   whether PyTorch's settings ask for kernels whose results repeat
//   Threads              lives while Attune is asked and runs; `number`: of threads that it may use
//   device_of(index)     the device of that index, ready for use
//   Turn                 lives while PyTorch's kernel computes for Attune: on this stream, or this many threads
namespace attune::python {

/// Signatures of PyTorch's kernels; some names have overloads besides.
using Product = at::Tensor(const at::Tensor&, const at::Tensor&);
using ProductInto = at::Tensor&(const at::Tensor&, const at::Tensor&, at::Tensor&);
using SumOfProduct = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Scalar&,
                                const at::Scalar&);
using SumOfProductInto = at::Tensor&(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Scalar&,
                                     const at::Scalar&, at::Tensor&);
using ActivatedSum = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Scalar&,
                                const at::Scalar&, bool);

struct StockOnCpu {
  static constexpr auto kKey = c10::DispatchKey::CPU, kAutogradKey = c10::DispatchKey::AutogradCPU;
  static constexpr bool kFusesActivations = false;
  static constexpr Product *mm = at::cpu::mm, *bmm = at::cpu::bmm;
  static constexpr ProductInto *mm_outf = at::cpu::mm_outf, *bmm_outf = at::cpu::bmm_outf;
  static constexpr SumOfProduct *addmm = at::cpu::addmm, *baddbmm = at::cpu::baddbmm;
  static constexpr SumOfProductInto* addmm_outf = at::cpu::addmm_outf;
  static constexpr ActivatedSum* _addmm_activation = at::cpu::_addmm_activation;
  using Threads = KeepNumThreads;

  static at::Tensor empty(c10::IntArrayRef sizes, const at::Tensor& like) {
    return at::detail::empty_cpu(sizes, like.scalar_type());
  }
  static CallPlace place_of(const at::Tensor&) { return {DeviceKind::host, 0, nullptr}; }
  static Reason objection(const at::Tensor&, const at::Tensor&, const at::Tensor*, const at::Tensor&) {
    // The limit of threads is the process's, not a parallel region's.
    return at::in_parallel_region() ? Reason::context : Reason::routed;
  }
  static void prepare_thread(const at::Tensor&) {}
  static bool wants_repeatable() { return false; }
  static c10::Device device_of(int32_t) { return c10::DeviceType::CPU; }
  struct Turn : SetNumThreads {
    Turn(c10::Device, void*, int threads) : SetNumThreads(threads) {}
  };
};

#if ATTUNE_TORCH_CUDA
template <typename Context>
auto accumulates_in_fp16(const Context& context, int) -> decltype(context.allowFP16AccumulationCuBLAS()) {
  return context.allowFP16AccumulationCuBLAS();
}
template <typename Context>
bool accumulates_in_fp16(const Context&, long) {  // PyTorch before it had the setting.
  return false;
}

inline bool allows_tf32() {
#if ATTUNE_TORCH_AT_LEAST(2, 11)
  return at::globalContext().float32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL) ==
         at::Float32Precision::TF32;
#else
  try {
    return at::globalContext().allowTF32CuBLAS();
  } catch (const c10::Error&) {  // Its old and its new settings contradict each other.
    return true;
  }
#endif
}

struct StockOnCuda {
  static constexpr auto kKey = c10::DispatchKey::CUDA, kAutogradKey = c10::DispatchKey::AutogradCUDA;
  static constexpr bool kFusesActivations = true;
  static constexpr Product *mm = at::cuda::mm, *bmm = at::cuda::bmm;
  static constexpr ProductInto *mm_outf = at::cuda::mm_outf, *bmm_outf = at::cuda::bmm_outf;
  static constexpr SumOfProduct *addmm = at::cuda::addmm, *baddbmm = at::cuda::baddbmm;
  static constexpr SumOfProductInto* addmm_outf = at::cuda::addmm_outf;
  static constexpr ActivatedSum* _addmm_activation = at::cuda::_addmm_activation;
  struct Threads {
    static constexpr int number = 0;
  };

  static at::Tensor empty(c10::IntArrayRef sizes, const at::Tensor& like) {
    return at::Tensor(at::detail::empty_cuda(sizes, like.scalar_type(), like.device(), {}));
  }
  static CallPlace place_of(const at::Tensor& x) {
    const c10::Device device = x.device();
    const c10::impl::VirtualGuardImpl of_kind(device.type());
    return {DeviceKind::cuda, device.index(), of_kind.getStreamNativeHandle(of_kind.getStream(device))};
  }
  static Reason objection(const at::Tensor& x, const at::Tensor& w, const at::Tensor* bias, const at::Tensor& out) {
    const c10::Device device = x.device();
    if (w.device() != device || (bias != nullptr && bias->device() != device) ||
        (out.defined() && out.device() != device))
      return Reason::settings;
    // Rows of fp32 are computed in fp32, those of fp16 are added up in fp32. Who asked PyTorch for less asked for
    // speed.
    if (x.scalar_type() == at::ScalarType::Float && allows_tf32()) return Reason::settings;
    if (x.scalar_type() == at::ScalarType::Half && accumulates_in_fp16(at::globalContext(), 0)) return Reason::settings;
    return Reason::routed;
  }
  // A thread's first product makes PyTorch's handle of cuBLAS, which a capture forbids. Who has warmed up with products
  // that Attune computed must find it when a graph is captured in which PyTorch computes one.
  static void prepare_thread(const at::Tensor& x) {
    thread_local uint64_t prepared = 0;  // A bit for each of the first 64 devices.
    const uint64_t its = uint64_t{1} << (static_cast<uint64_t>(x.device().index()) % 64);
    if ((prepared & its) != 0) return;
    prepared |= its;
    const at::Tensor one = empty({1, 1}, x);
    mm(one, one);
  }
  static bool wants_repeatable() { return at::globalContext().deterministicAlgorithms(); }
  static c10::Device device_of(int32_t index) {
    const c10::Device device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index));
    at::detail::empty_cuda({1, 1}, at::ScalarType::Float, device, {});  // Starts PyTorch's allocator.
    return device;
  }
  class Turn {
   public:
    Turn(c10::Device device, void* stream, int)
        : of_kind_(device.type()), device_(device), stream_(of_kind_.exchangeStream(of(device, stream))) {
      // How PyTorch numbers the streams of others is not promised.
      if (of_kind_.getStreamNativeHandle(of_kind_.getStream(device)) == stream) return;
      of_kind_.exchangeStream(stream_);
      TORCH_CHECK(false, "this version of PyTorch does not take a stream of another library");
    }
    ~Turn() { of_kind_.exchangeStream(stream_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    static c10::Stream of(c10::Device device, void* stream) {
      return c10::Stream(c10::Stream::UNSAFE, device, static_cast<c10::StreamId>(reinterpret_cast<intptr_t>(stream)));
    }
    c10::impl::VirtualGuardImpl of_kind_;
    c10::DeviceGuard device_;
    c10::Stream stream_;
  };
};
#endif

}  // namespace attune::python
