// SPDX-License-Identifier: MIT
// PyTorch's own operator as a contestant (docs/adr/0025). Nothing of PyTorch is linked or included: the library that
// the Python package compiles against the PyTorch of the user has its kernels as functions.
#include <charconv>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/variable.h"
#include "ops/gemm/gemm_op.h"
#include "solver/host_gemm.h"
#include "solver/own_library.h"
#include "solver/registry.h"
#include "solver/solver.h"
#include "torch_operators.h"

namespace attune {
namespace {

/// Of a product that PyTorch has prepared: four tensors of about 300 bytes each.
constexpr uint64_t kProductBytes = 2048;

int32_t index_of(const std::string& device) {
  int32_t index = 0;
  const auto colon = device.find(':');
  if (colon != std::string::npos) std::from_chars(device.data() + colon + 1, device.data() + device.size(), index);
  return index;
}

class TorchPlan final : public Plan {
 public:
  TorchPlan(const python::TorchOperators& operators, const python::OperatorProblem& problem, const GemmShape& shape)
      : operators_(operators), where_(GemmOperands::of(shape)), has_bias_(shape.bias) {
    const char* error = nullptr;
    product_ = operators_.prepare(&problem, &error);
    if (product_ == nullptr) fail(ErrorCode::unavailable, "PyTorch does not compute it: {}", error);
    traits_.reentrant = false;
    traits_.is_applications_own = true;
    // Once its workspaces are in PyTorch's pool of memory, which its first run sees to.
    traits_.capturable = problem.kind == python::DeviceKind::cuda;
    traits_.host_bytes = sizeof *this + kProductBytes;
  }
  ~TorchPlan() override { operators_.end(product_); }
  TorchPlan(const TorchPlan&) = delete;
  TorchPlan& operator=(const TorchPlan&) = delete;

  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    const python::ProductAddresses addresses{launch.operands[where_.a], launch.operands[where_.b],
                                             has_bias_ ? launch.operands[where_.bias] : nullptr,
                                             launch.operands[where_.c]};
    const char* error = nullptr;
    operators_.run(product_, &addresses, launch.stream, &error);
    if (error != nullptr) fail(ErrorCode::device, "PyTorch reported an error: {}", error);
  }

 private:
  const python::TorchOperators& operators_;
  GemmOperands where_;
  bool has_bias_;
  void* product_;
  PlanTraits traits_;
};

std::string operators_file() {
  const char* const file = variable_or_null(kOperatorsVariable);
  if (file == nullptr)
    fail(ErrorCode::unavailable, "{} names no library of PyTorch's operators (docs/pytorch.md)", kOperatorsVariable);
  return file;
}

class TorchBackend final : public Backend {
 public:
  TorchBackend(const DeviceInfo& device, const std::string& file)
      : device_(device), library_(open_torch_library(file)) {}

  Versions versions() const override { return {{"torch.gemm", "1+" + library_.version}}; }

  SearchSpace space(const Problem& problem) override { return SearchSpace::listed({default_config(problem)}); }

  Config default_config(const Problem&) override {
    return device_.kind == "host" ? Config({{"threads", device_.num_units}})
                                  : Config({{"kernel", std::string("stock")}});
  }

  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    const auto wanted = default_config(problem);
    if (config != wanted)
      fail(ErrorCode::unavailable, "PyTorch's operator has one config, '{}', got '{}'", wanted.key(), config.key());
    const auto shape = GemmShape::of(problem);
    const bool is_host = device_.kind == "host";
    const python::OperatorProblem asked{.kind = is_host ? python::DeviceKind::host : python::DeviceKind::cuda,
                                        .index = index_of(device_.id),
                                        .m = shape.m,
                                        .n = shape.n,
                                        .k = shape.k,
                                        .dtype = static_cast<int32_t>(shape.in),
                                        .a_is_km = shape.trans_a,
                                        .b_is_kn = shape.b_is_kn,
                                        .has_bias = shape.bias,
                                        .threads = static_cast<int32_t>(is_host ? device_.num_units : 0)};
    return std::make_unique<TorchPlan>(*library_.operators, asked, shape);
  }

  std::vector<EntryPoint> entry_points() const override {
    return {{"attune_torch_operators", library_of(reinterpret_cast<const void*>(library_.operators->prepare))}};
  }

 private:
  DeviceInfo device_;
  TorchLibrary library_;
};

class TorchSolver final : public Solver {
 public:
  std::string_view id() const override { return "torch.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "PyTorch's own operator, where ATTUNE_TORCH_OPERATORS names it"; }
  std::string_view thread_pool() const override { return "torch"; }

  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (problem.op() != "gemm_a16w16") return Support::no("computes gemm_a16w16 only");
    if (device.kind != "host" && device.kind != "cuda") return Support::no("runs on a host or an NVIDIA GPU only");
    if (variable_or_null(kOperatorsVariable) == nullptr)
      return Support::no(std::string("needs PyTorch's operators, which ") + kOperatorsVariable +
                         " names (docs/pytorch.md)");
    const auto shape = GemmShape::of(problem);
    if (shape.packed) return Support::no("has no packed weights");
    if (problem.integer_or("scale_ab", 0) != 0) return Support::no("does not support scales");
    const bool is_type = shape.in == DType::fp32 || shape.in == DType::bf16 || shape.in == DType::fp16;
    if (!is_type || shape.out != shape.in) return Support::no("supports fp32, bf16 and fp16, all operands of one type");
    return supports_epilogue(shape, {});
  }

  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<TorchBackend>(device.info(), operators_file());
  }
};

}  // namespace

void register_torch_solver(Registry& registry);
void register_torch_solver(Registry& registry) {
  registry.add(std::make_unique<TorchSolver>(), [] { open_torch_library(operators_file()); });
}

}  // namespace attune
