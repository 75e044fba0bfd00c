// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/locations.h"
#include "compile/compile_pool.h"
#include "device/devices.h"
#include "ops/op.h"
#include "search/prune.h"
#include "solver/registry.h"
#include "tensor/convert.h"
#include "tensor/rounding.h"

namespace attune {

/// A solver of this process, opened on a device, whose results are compared with the op's reference. For the tests of
/// these folders, which reach modules only this way.
class OpenedSolver {
 public:
  explicit OpenedSolver(std::string_view id, std::string_view device = "cpu:0") : device_(open_device(device)) {
    for (const SolverEntry& entry : registry().entries()) {
      if (entry.id != id) continue;
      if (entry.solver) backend_ = entry.solver->open(*device_);
      unavailable_ = entry.unavailable;
      solver_ = entry.solver;
    }
  }
  ~OpenedSolver() {
    for (const Buffer& buffer : buffers_) device_->release(buffer);
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
    const HostTensors host = allocated(normal);
    fill(host);
    return computed(normal, Config::parse(config), host);
  }

  /// Computes a problem on normal data; returns a description of the first wrong element, or empty.
  std::string wrong(const std::string& text, const std::string& config) {
    const Problem normal = problem(text);
    const Op& op = op_of(normal);
    const HostTensors host = allocated(normal);
    op.fill(normal, Distribution::normal, 7, host);
    const std::vector<float> got = computed(normal, Config::parse(config), host);
    const DType dtype = op.tensors(normal).back().dtype;
    Reference want{Reference::Numbers(got.size()), Reference::Numbers(got.size())};
    op.reference(normal, Path::naive, {0, op.output_rows(normal)}, host, want);
    for (size_t i = 0; i < got.size(); ++i) {
      const double bound =
          op.tolerance(normal).max_relative * want.scales[i] + 2 * Rounding::of(dtype).unit * std::abs(want.values[i]);
      if (std::abs(got[i] - want.values[i]) <= bound) continue;
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
  HostTensors allocated(const Problem& normal) {
    HostTensors host;
    for (const TensorSpec& spec : op_of(normal).tensors(normal))
      host.operands.emplace_back(static_cast<std::byte*>(allocate(spec.bytes())), spec.bytes());
    return host;
  }

  std::vector<float> computed(const Problem& normal, const Config& config, const HostTensors& host) {
    const auto specs = op_of(normal).tensors(normal);
    std::vector<void*> operands;
    for (const std::span<std::byte> one : host.operands) operands.push_back(one.data());
    operands[1] = packed(normal, config, specs[1], host.operands[1]);
    const auto binaries = compiled(normal, config);
    const auto plan = backend_->prepare(normal, config, {binaries});
    void* workspace = allocate(plan->traits().workspace_bytes);
    plan->run({.operands = operands, .workspace = workspace});
    std::vector<float> got(static_cast<size_t>(specs.back().elements()));
    to_float(specs.back().dtype, host.operands.back().data(), got);
    return got;
  }

  /// Binaries of a config's tasks, in the kernel cache. Throws unavailable when a task does not compile.
  std::vector<Binary> compiled(const Problem& normal, const Config& config) {
    const auto tasks = solver_->compile_tasks(normal, config, device_->info());
    if (tasks.empty()) return {};
    KernelCache cache({cache_location().path}, uint64_t{1} << 30);
    std::vector<Binary> binaries;
    for (const CompileResult& one : CompilePool(cache).compile(tasks)) {
      if (!one.outcome.ok()) fail(ErrorCode::unavailable, "{}", one.outcome.detail);
      binaries.push_back(*one.binary);
    }
    return binaries;
  }

  /// The weights in the config's layout.
  void* packed(const Problem& normal, const Config& config, const TensorSpec& weights, std::span<std::byte> plain) {
    const Layout layout{config.has("b_layout") ? config.text("b_layout") : "plain"};
    if (layout.name == "plain") return plain.data();
    const bool named = find_named_layout(layout.name) != nullptr;
    const uint64_t bytes = named ? packed_bytes(layout, weights) : backend_->packed_bytes(layout, normal);
    void* to = allocate(bytes);
    if (named)
      pack(layout, weights, plain, {static_cast<std::byte*>(to), bytes});
    else
      backend_->pack(layout, normal, std::array<std::span<const std::byte>, 1>{plain}, {to, bytes});
    return to;
  }

  /// Allocates memory filled with NaNs.
  void* allocate(uint64_t bytes) {
    buffers_.push_back(device_->allocate(std::max<uint64_t>(bytes, 64), 64));
    std::memset(buffers_.back().data, 0xff, bytes);
    return buffers_.back().data;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Backend> backend_;
  const Solver* solver_ = nullptr;
  std::string unavailable_ = "this build has no such solver";
  std::vector<Buffer> buffers_;
};

}  // namespace attune
