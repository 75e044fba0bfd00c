// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/locations.h"
#include "compile/compile_pool.h"
#include "core/candidate.h"
#include "device/devices.h"
#include "device/host_bytes.h"
#include "ops/op.h"
#include "search/prune.h"
#include "solver/registry.h"
#include "solver/weight_packing.h"
#include "tensor/convert.h"
#include "tensor/rounding.h"
#include "testing/built_helper.h"

namespace attune {

/// A solver of this process, opened on a device, whose results are compared with the op's reference. For the tests of
/// these folders, which reach modules only this way.
class OpenedSolver {
 public:
  explicit OpenedSolver(std::string_view id, std::string_view device = "cpu:0")
      : OpenedSolver(id, open_device(device)) {}
  OpenedSolver(std::string_view id, std::unique_ptr<Device> device) : device_(std::move(device)) {
    for (const SolverEntry& entry : registry().entries()) {
      if (entry.id != id) continue;
      if (entry.solver) backend_ = entry.solver->open(*device_);
      unavailable_ = entry.unavailable;
      solver_ = entry.solver;
    }
  }
  ~OpenedSolver() {
    for (const Buffer& buffer : buffers_) device_->memory().release(buffer);
  }
  OpenedSolver(const OpenedSolver&) = delete;
  OpenedSolver& operator=(const OpenedSolver&) = delete;

  const std::string& unavailable() const { return unavailable_; }  ///< Empty when it can be used.
  const Solver& solver() const { return *solver_; }
  Backend& backend() { return *backend_; }
  Device& device() { return *device_; }

  Problem problem(const std::string& text) const {
    return op_of(Problem::parse(text)).normalise(Problem::parse(text), device_->info());
  }

  /// The configs of a problem that no rule rejects.
  std::vector<Config> configs(const std::string& text) {
    const SearchSpace space = backend_->space(problem(text));
    std::vector<Config> all;
    for (const uint64_t index : prune(space, problem(text), device_->info(), 0).allowed) all.push_back(space.at(index));
    return all;
  }

  /// Sets the inputs of a problem, in Op::tensors() order.
  using Fill = std::function<void(const HostTensors& operands)>;

  /// Computes a problem over an output of NaNs; returns the output.
  std::vector<float> computed(const std::string& text, const std::string& config, const Fill& fill) {
    const Problem normal = problem(text);
    Operands operands = allocated(normal);
    fill(operands.tensors());
    return computed(normal, Config::parse(config), operands);
  }

  /// Computes a problem on normal data; returns a description of the first wrong element, or empty.
  std::string wrong(const std::string& text, const std::string& config) {
    const Problem normal = problem(text);
    const Op& op = op_of(normal);
    Operands operands = allocated(normal);
    op.fill(normal, Distribution::normal, 7, operands.tensors());
    const std::vector<float> got = computed(normal, Config::parse(config), operands);
    const DType dtype = op.tensors(normal).back().dtype;
    const Reference want = whole_reference(op, normal, Path::naive, operands.tensors());
    for (size_t i = 0; i < got.size(); ++i) {
      const Rounding& rounding = Rounding::of(dtype);
      const double bound = op.tolerance(normal).max_relative * want.scales[i] +
                           2 * rounding.unit * std::abs(want.values[i]) + rounding.step;
      if (std::abs(got[i] - want.values[i]) <= bound) continue;
      const bool overflows = std::abs(want.values[i]) > rounding.largest;
      if (overflows && std::isinf(got[i]) && (got[i] > 0) == (want.values[i] > 0)) continue;
      return fmt::format("{} {}: element {} is {}, expected {}", normal.key(), config, i, got[i], want.values[i]);
    }
    return {};
  }

  /// Returns the error with which a config is rejected; empty if it is accepted.
  std::string refusal(const std::string& text, const std::string& config) {
    try {
      const auto binaries = compiled(problem(text), Config::parse(config));
      backend_->prepare(problem(text), Config::parse(config), {binaries});
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

 private:
  /// Operands in the device's memory and their bytes on the host.
  struct Operands {
    std::vector<Buffer> areas;
    std::vector<HostBytes> bytes;
    HostTensors tensors() {
      HostTensors tensors;
      for (HostBytes& one : bytes) tensors.operands.push_back(one.bytes());
      return tensors;
    }
  };

  Operands allocated(const Problem& normal) {
    Operands operands;
    for (const TensorSpec& spec : op_of(normal).tensors(normal)) {
      operands.areas.push_back(allocate(spec.bytes()));
      operands.bytes.emplace_back(device_->memory(), operands.areas.back());
    }
    return operands;
  }

  std::vector<float> computed(const Problem& normal, const Config& config, Operands& operands) {
    const auto specs = op_of(normal).tensors(normal);
    for (HostBytes& one : operands.bytes) one.store();
    std::vector<void*> addresses;
    for (const Buffer& area : operands.areas) addresses.push_back(area.data);
    pack(normal, config, operands.areas, addresses);
    const auto binaries = compiled(normal, config);
    const auto plan = backend_->prepare(normal, config, {binaries});
    const Buffer workspace = allocate(plan->traits().workspace_bytes);
    if (const uint64_t zeroed = plan->traits().zeroed_bytes; zeroed > 0)
      device_->memory().fill(workspace.part(0, zeroed), {0, 1});
    plan->run({.operands = addresses, .workspace = workspace.data});
    const HostBytes output(device_->memory(), operands.areas.back());
    std::vector<float> got(static_cast<size_t>(specs.back().elements()));
    to_float(specs.back().dtype, output.bytes().data(), got);
    return got;
  }

  /// Binaries of a config's tasks, in the kernel cache. Throws unavailable when a task does not compile.
  std::vector<Binary> compiled(const Problem& normal, const Config& config) {
    const auto tasks = solver_->compile_tasks(normal, config, device_->info());
    if (tasks.empty()) return {};
    std::vector<Binary> binaries;
    for (const CompileResult& one : pool_.compile(tasks)) {
      if (!one.outcome.ok()) fail(ErrorCode::unavailable, "{}", one.outcome.detail);
      binaries.push_back(*one.binary);
    }
    return binaries;
  }

  /// Has `addresses` name the packed operands in the config's layout.
  void pack(const Problem& normal, const Config& config, std::span<const Buffer> plain, std::vector<void*>& addresses) {
    const Layout layout{layout_of(config)};
    if (layout.name == kPlainLayout) return;
    const WeightPacking packing = packing_of(layout, normal, *backend_, *device_);
    const Buffer to = allocate(packing.bytes);
    std::vector<Buffer> set;
    for (const WeightPacking::Part& part : packing.parts) {
      set.push_back(plain[part.operand]);
      addresses[part.operand] = to.part(part.offset, 0).data;
    }
    packing.pack(set, to);
  }

  /// Allocates memory filled with NaNs.
  Buffer allocate(uint64_t bytes) {
    const Buffer block = device_->memory().allocate(std::max<uint64_t>(bytes, 64), 64);
    buffers_.push_back(block);
    device_->memory().fill(block, {0xff, 1});
    return block.part(0, bytes);
  }

  KernelCache cache_{{cache_location().path}, uint64_t{1} << 30};
  CompilePool pool_{cache_, with_built_helpers()};
  std::unique_ptr<Device> device_;
  std::unique_ptr<Backend> backend_;
  const Solver* solver_ = nullptr;
  std::string unavailable_ = "this build has no such solver";
  std::vector<Buffer> buffers_;
};

}  // namespace attune
