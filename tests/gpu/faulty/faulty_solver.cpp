// SPDX-License-Identifier: MIT
#include "faulty_solver.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_kernel_module.h"
#include "faulty_kernels.h"
#include "ops/gemm/gemm_op.h"
#include "tensor/kernel_image.h"

namespace attune {

std::span<const KernelImage> faulty_kernels();  // faulty_kernels.cu

}  // namespace attune

namespace attune::planted {
namespace {

constexpr std::string_view kLayout = "planted.rows@1";  // Plain rows.
constexpr uint32_t kThreads = 128;
constexpr uint32_t kTooManyThreads = 1024;  // For the registers that planted_registers needs.
// Three that are verified, one untimed, at most three that are timed, each behind another one, and the next.
constexpr int kAdmissionRuns = 11;
constexpr uint64_t kWorkspaceBytes = 4096;
constexpr uint64_t kWorkspaceBesideWholeMemory = 256 << 20;  // No earlier candidate's workspace is as large.
constexpr uint64_t kChunkBytes = 1 << 30, kLeastChunkBytes = 2 << 20;

/// Where a byte is changed.
struct Place {
  std::string_view fault;
  bool of_workspace;
  bool is_behind;  ///< Else before it, or, for what lies in front of nothing, its first byte.
  bool is_inside;
  size_t operand;  ///< 0: activations, 1: weights, 2: output.
};
constexpr std::array<Place, 10> kPlaces = {{{"after_output", false, true, false, 2},
                                            {"before_output", false, false, false, 2},
                                            {"after_workspace", true, true, false, 0},
                                            {"before_workspace", true, false, false, 0},
                                            {"after_weights", false, true, false, 1},
                                            {"before_weights", false, false, false, 1},
                                            {"after_activations", false, true, false, 0},
                                            {"before_activations", false, false, false, 0},
                                            {"changes_activations", false, false, true, 0},
                                            {"changes_weights", false, false, true, 1}}};

constexpr std::array<std::pair<std::string_view, Harm>, 6> kHarms = {{{"illegal_address", Harm::illegal_address},
                                                                      {"misaligned", Harm::misaligned},
                                                                      {"endless", Harm::endless},
                                                                      {"trap", Harm::trap},
                                                                      {"stack", Harm::stack},
                                                                      {"reference", Harm::reference}}};

CUstream stream_of(const Launch& launch) { return static_cast<CUstream>(launch.stream); }

/// All memory of a GPU, in plain allocations, while it lives.
class WholeMemory {
 public:
  explicit WholeMemory(const CudaDevice& device) : device_(device) {
    const CurrentContext current(device_.driver(), device_.context());
    for (uint64_t bytes = kChunkBytes; bytes >= kLeastChunkBytes; bytes /= 2) {
      CUdeviceptr chunk = 0;
      while (device_.driver().cuMemAlloc(&chunk, bytes) == CUDA_SUCCESS) chunks_.push_back(chunk);
    }
  }
  ~WholeMemory() {
    const CurrentContext current(device_.driver(), device_.context(), std::nothrow);
    for (const CUdeviceptr chunk : chunks_) device_.driver().cuMemFree(chunk);
  }
  WholeMemory(const WholeMemory&) = delete;
  WholeMemory& operator=(const WholeMemory&) = delete;

 private:
  const CudaDevice& device_;
  std::vector<CUdeviceptr> chunks_;
};

/// File that says that a fault of this tuning is past its admission. A plan made anew, in this worker or the next one,
/// is not verified again: it begins where the former one ended.
std::filesystem::path end_of_admission(const std::string& fault) {
  const char* const home = std::getenv("ATTUNE_HOME");
  ATTUNE_CHECK(home != nullptr, "late faults need ATTUNE_HOME");
  return std::filesystem::path(home) / fmt::format("late_{}_{}", ::getppid(), fault);
}

class FaultyPlan final : public Plan {
 public:
  FaultyPlan(const Problem& problem, const Config& config, const CudaDevice& device)
      : shape_(GemmShape::of(problem)),
        fault_(config.text("fault")),
        is_late_(config.integer("late") != 0),
        kernels_(device.driver(), device.context(), image_for(faulty_kernels(), "cuda")),
        product_(kernels_.function("planted_product")),
        harm_(kernels_.function("planted_harm")),
        registers_(kernels_.function("planted_registers")) {
    for (const TensorSpec& spec : GemmOp().tensors(problem)) bytes_.push_back(spec.bytes());
    traits_.host_bytes = sizeof *this;
    traits_.capturable = true;
    if (fault_.ends_with("workspace")) traits_.workspace_bytes = kWorkspaceBytes;
    if (fault_ != "whole_memory") return;
    traits_.workspace_bytes = kWorkspaceBesideWholeMemory;
    memory_.emplace(device);
  }
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    const auto where = GemmOperands::of(shape_);
    const std::array<size_t, 3> order = {where.a, where.b, where.c};
    Product product = {.a = static_cast<const float*>(launch.operands[where.a]),
                       .b = static_cast<const float*>(launch.operands[where.b]),
                       .c = static_cast<float*>(launch.operands[where.c]),
                       .m = shape_.m,
                       .n = shape_.n,
                       .k = shape_.k};
    bool wraps = is_due() && fault_ == "wrong_tile";
    const auto blocks = static_cast<uint32_t>((product.m * product.n + kThreads - 1) / kThreads);
    const std::array<void*, 2> arguments = {&product, &wraps};
    kernels_.enqueue(product_, {blocks, kThreads}, arguments, stream_of(launch));
    if (is_due()) do_harm(launch, product, order);
    if (is_late_ && ++runs_ == kAdmissionRuns) std::ofstream(end_of_admission(fault_)) << fault_;
  }

 private:
  bool is_due() const { return !is_late_ || std::filesystem::exists(end_of_admission(fault_)); }

  void do_harm(const Launch& launch, Product& product, const std::array<size_t, 3>& order) const {
    if (fault_ == "registers") {
      const std::array<void*, 1> arguments = {&product};
      return kernels_.enqueue(registers_, {1, kTooManyThreads}, arguments, stream_of(launch));
    }
    for (const auto& [name, harm] : kHarms) {
      if (fault_ == name) return enqueue(launch, harm, const_cast<float*>(product.a), product);
    }
    for (const Place& place : kPlaces) {
      if (fault_ != place.fault) continue;
      auto* const begin =
          static_cast<char*>(place.of_workspace ? launch.workspace : launch.operands[order[place.operand]]);
      const uint64_t bytes = place.of_workspace ? kWorkspaceBytes : bytes_[order[place.operand]];
      return enqueue(launch, Harm::change,
                     place.is_inside   ? begin
                     : place.is_behind ? begin + bytes
                                       : begin - 1,
                     product);
    }
  }
  void enqueue(const Launch& launch, Harm harm, void* at, Product& product) const {
    const std::array<void*, 3> arguments = {&harm, &at, &product};
    kernels_.enqueue(harm_, {1, 1}, arguments, stream_of(launch));
  }

  GemmShape shape_;
  std::string fault_;
  bool is_late_;
  CudaKernelModule kernels_;
  CUfunction product_, harm_, registers_;
  std::vector<uint64_t> bytes_;
  PlanTraits traits_;
  std::optional<WholeMemory> memory_;
  mutable int runs_ = 0;
};

class FaultyBackend final : public StaticSpaceBackend, public OpaqueLayouts {
 public:
  FaultyBackend(const StaticSpace& stated, CudaDevice& device)
      : StaticSpaceBackend(stated, device.info()), device_(device) {}
  Versions versions() const override { return {{"planted.gemm", "1"}}; }
  OpaqueLayouts* opaque_layouts() override { return this; }
  std::vector<Layout> layouts(const Problem&) override { return {Layout{std::string(kLayout)}}; }
  uint64_t packed_bytes(const Layout&, const Problem& problem) const override {
    return GemmOp().tensors(problem)[GemmOperands::of(GemmShape::of(problem)).b].bytes();
  }
  void pack(const Layout&, const Problem&, PlainOperands plain, Buffer packed) const override {
    device_.memory().copy(packed.data, plain.front().data, plain.front().bytes);
  }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    if (config.text("fault") == "bad_cubin") load_nonsense();
    return std::make_unique<FaultyPlan>(problem, config, device_);
  }

 private:
  void load_nonsense() const {
    const CurrentContext current(device_.driver(), device_.context());
    CUmodule module = nullptr;
    const char* const nonsense = ".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n";
    if (device_.driver().cuModuleLoadData(&module, nonsense) != CUDA_SUCCESS)
      fail(ErrorCode::invalid_input, "the driver does not load the planted nonsense");
  }

  CudaDevice& device_;
};

std::vector<Value> faults_of(const Problem& problem) {
  std::vector<Value> faults = {std::string("none")};
  const auto offer = [&](std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) faults.emplace_back(std::string(name));
  };
  if (GemmShape::of(problem).packed) {
    offer({"after_weights", "before_weights", "changes_weights"});
  } else if (problem.integer("m") % 2 == 0) {
    // A reference is there while candidates are admitted; a worker that takes over has none.
    offer({"illegal_address", "endless", "changes_activations", "changes_weights"});
  } else {
    for (const auto& [name, harm] : kHarms) offer({name});
    for (const Place& place : kPlaces) offer({place.fault});
    offer({"registers", "wrong_tile", "bad_cubin", "whole_memory"});
  }
  return faults;
}

bool is_late(const Problem& problem) { return !GemmShape::of(problem).packed && problem.integer("m") % 2 == 0; }

}  // namespace

Support FaultySolver::supports(const Problem& problem, const DeviceInfo& device) const {
  if (device.kind != "cuda") return Support::no("runs on an NVIDIA GPU only");
  if (problem.op() != "gemm_a16w16") return Support::no("computes gemm_a16w16 only");
  const auto shape = GemmShape::of(problem);
  const bool is_plain = shape.in == DType::fp32 && shape.out == DType::fp32 && !shape.bias && !shape.trans_a &&
                        !shape.b_is_kn && shape.epilogue.is_none();
  return is_plain ? Support() : Support::no("multiplies plain operands of fp32 only");
}

SearchSpace FaultySolver::space(const Problem& problem, const DeviceInfo&) const {
  std::vector<Parameter> parameters = {{.name = "fault", .values = faults_of(problem)},
                                       {.name = "late", .values = {int64_t{is_late(problem)}}}};
  if (GemmShape::of(problem).packed) parameters.push_back({.name = "b_layout", .values = {std::string(kLayout)}});
  return SearchSpace::product(std::move(parameters), {});
}

Config FaultySolver::default_config(const Problem& problem, const DeviceInfo& device) const {
  return space(problem, device).at(0);
}

std::unique_ptr<Backend> FaultySolver::open(Device& device) const {
  auto* const gpu = dynamic_cast<CudaDevice*>(&device);
  if (gpu == nullptr) fail(ErrorCode::unavailable, "the solver needs an NVIDIA GPU, got '{}'", device.info().id);
  return std::make_unique<FaultyBackend>(*this, *gpu);
}

}  // namespace attune::planted
