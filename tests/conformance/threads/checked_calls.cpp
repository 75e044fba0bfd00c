// SPDX-License-Identifier: MIT
#include "checked_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "attune/dispatcher.h"
#include "base/error.h"
#include "base/file.h"
#include "base/locations.h"
#include "compile/compile_pool.h"
#include "device/devices.h"
#include "ops/op.h"
#include "process/temporary_folder.h"
#include "search/prune.h"
#include "solver/registry.h"
#include "solver/weight_packing.h"
#include "tensor/convert.h"
#include "tensor/rounding.h"
#include "testing/built_helper.h"

namespace attune {
namespace {

constexpr size_t kConfigs = 4;  // Per problem.
constexpr const char* kProblems[] = {
    "gemm_a16w16 m=4 n=96 k=64 dtype=fp32",
    "gemm_a16w16 m=4 n=96 k=64 dtype=bf16",
    "gemm_a16w16 m=1 n=160 k=96 dtype=fp32 bias=1",
    "gemm_a16w16 m=33 n=48 k=130 dtype=bf16 outdtype=fp32 bias=1",
    "gemm_a16w16 m=128 n=192 k=96 dtype=fp32 trans_b=0",  // OpenBLAS computes up to 10^6 products on one thread.
    "gemm_a16w16 m=4 n=96 k=64 dtype=fp32 bpreshuffle=1",
    "gemm_a16w16 m=64 n=96 k=128 dtype=bf16 bpreshuffle=1",
    "gemm_a8w8 m=4 n=96 k=64",
    "gemm_a8w8 m=33 n=192 k=130 bias=1 outdtype=fp16",
    "conv direction=fwd n=2 c=16 h=14 w=12 k=24 y=3 x=3 pad_h=1 pad_w=1",
    "conv direction=bwd_data n=2 c=16 h=14 w=12 k=24 y=3 x=3 layout=NHWC",
    "conv direction=bwd_weights n=2 c=16 h=14 w=12 k=24 y=3 x=3 stride_h=2 dtype=bf16",
};

/// The host with kTeam cores, whatever it has.
class WideHost final : public Device {
 public:
  WideHost() : host_(open_device("cpu:0")), info_(host_->info()) { info_.num_units = kTeam; }
  const DeviceInfo& info() const override { return info_; }
  double relative_clock() override { return host_->relative_clock(); }
  bool healthy() noexcept override { return host_->healthy(); }
  DeviceMemory& memory() override { return host_->memory(); }
  std::unique_ptr<Stream> open_stream() override { return host_->open_stream(); }
  double bandwidth_gbs(uint64_t bytes, Reading reading) override { return host_->bandwidth_gbs(bytes, reading); }

 private:
  std::unique_ptr<Device> host_;
  DeviceInfo info_;
};

/// Filled operands of a problem and what their product is.
class Operands {
 public:
  explicit Operands(const Problem& problem) : problem_(problem), op_(op_of(problem)), specs_(op_.tensors(problem)) {
    for (const TensorSpec& spec : specs_) {
      memory_.emplace_back(spec.bytes() + 128);
      const auto place = (reinterpret_cast<uintptr_t>(memory_.back().data()) + 63) / 64 * 64;
      host_.operands.emplace_back(reinterpret_cast<std::byte*>(place), spec.bytes());
    }
    HostTensors inputs = host_;
    op_.fill(problem, Distribution::normal, 7, inputs);
    want_ = whole_reference(op_, problem, Path::naive, host_);
    got_.resize(want_.values.size());
  }
  std::vector<void*> all() const {
    std::vector<void*> pointers;
    for (const auto& one : host_.operands) pointers.push_back(one.data());
    return pointers;
  }
  Buffer operand(size_t index) const { return {host_.operands[index].data(), host_.operands[index].size()}; }

  uint64_t wrong_after(const std::function<void()>& call) {
    const auto output = host_.operands.back();
    std::memset(output.data(), 0xff, output.size());  // NaNs
    call();
    const DType dtype = specs_.back().dtype;
    to_float(dtype, output.data(), got_);
    uint64_t wrong = 0;
    for (size_t i = 0; i < got_.size(); ++i) {
      const double bound = op_.tolerance(problem_).max_relative * want_.scales[i] +
                           2 * Rounding::of(dtype).unit * std::abs(want_.values[i]);
      if (!(std::abs(got_[i] - want_.values[i]) <= bound)) ++wrong;
    }
    return wrong;
  }

 private:
  Problem problem_;
  const Op& op_;
  std::vector<TensorSpec> specs_;
  std::vector<std::vector<std::byte>> memory_;
  HostTensors host_;
  Reference want_;
  std::vector<float> got_;
};

/// What all calls of the process share; never destroyed.
struct World {
  WideHost device;
  KernelCache cache{{cache_location().path}, uint64_t{1} << 30};
  CompilePool pool{cache, with_built_helpers()};
};
World& world() {
  static World& only = *new World;
  return only;
}

/// The default config and others that ask for a team, evenly spread.
std::vector<Config> chosen_configs(Backend& backend, const Problem& problem) {
  const SearchSpace space = backend.space(problem);
  std::vector<Config> with_teams, chosen = {backend.default_config(problem)};
  for (const uint64_t index : prune(space, problem, world().device.info(), 0, 2000).allowed) {
    Config config = space.at(index);
    if (config.has("threads") && config.integer("threads") > 1) with_teams.push_back(std::move(config));
  }
  const size_t max = std::min(kConfigs, with_teams.size());
  for (size_t i = 0; i < max; ++i) chosen.push_back(with_teams[max == 1 ? 0 : i * (with_teams.size() - 1) / (max - 1)]);
  return chosen;
}

/// Returns nothing where a kernel cannot be compiled for this processor, or no compiler can be started.
std::optional<std::vector<Binary>> compiled(const Solver& solver, const Problem& problem, const Config& config) {
  std::vector<Binary> binaries;
  const auto tasks = solver.compile_tasks(problem, config, world().device.info());
  if (tasks.empty()) return binaries;
  try {
    for (const CompileResult& one : world().pool.compile(tasks)) {
      if (!one.outcome.ok()) return std::nullopt;
      binaries.push_back(*one.binary);
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  return binaries;
}

/// A prepared plan with operands of its own.
struct PlanCall {
  PlanCall(const Problem& problem, const Config& config, Backend& backend, std::span<const Binary> binaries)
      : operands(problem), plan(backend.prepare(problem, config, {binaries, {}})), addresses(operands.all()) {
    DeviceMemory& memory = world().device.memory();
    const uint64_t bytes = plan->traits().workspace_bytes;
    workspace = memory.allocate(std::max<uint64_t>(bytes, 64), 64);
    std::memset(workspace.data, 0xff, workspace.bytes);
    if (const uint64_t zeroed = plan->traits().zeroed_bytes; zeroed > 0) std::memset(workspace.data, 0, zeroed);
    const Layout layout{layout_of(config)};
    if (layout.name == kPlainLayout) return;
    const WeightPacking packing = packing_of(layout, problem, backend, world().device);
    const Buffer to = memory.allocate(packing.bytes, 64), plain = operands.operand(1);
    packing.pack(std::span(&plain, 1), to);
    addresses[1] = to.data;
  }
  uint64_t operator()() {
    return operands.wrong_after([&] { plan->run({.operands = addresses, .workspace = workspace.data}); });
  }

  Operands operands;
  std::unique_ptr<Plan> plan;
  std::vector<void*> addresses;
  Buffer workspace;
};

Problem normalised(const std::string& text, const DeviceInfo& device) {
  return op_of(Problem::parse(text)).normalise(Problem::parse(text), device);
}

/// Whether a solver computes a problem itself. The parts of a composite have calls of their own.
bool computes(const Solver& solver, const Problem& problem, const DeviceInfo& device) {
  return solver.supports(problem, device).yes && solver.parts(problem, device).empty();
}

/// A row of a table of gemm_a16w16 for a problem, served by a solver's default; empty where it supports none.
std::string row_of(const Solver& solver, Device& device, const Problem& problem) {
  if (problem.op() != "gemm_a16w16" || !solver.supports(problem, device.info()).yes) return {};
  const auto backend = solver.open(device);
  const Versions versions = backend->versions();
  const auto own = versions.find(std::string(solver.id()));
  const Candidate candidate{std::string(solver.id()),
                            own != versions.end() ? own->second : std::string(solver.version()),
                            backend->default_config(problem)};
  const auto value = [&](const char* name) { return problem.integer_or(name, 0); };
  const auto type = [&](const char* name) { return torch_name(*parse_dtype(problem.text(name))); };
  return fmt::format("{},{},{},{},{},{},{},{},{},1,{},{}\n", device.info().gfx, device.info().num_units, value("m"),
                     value("n"), value("k"), value("bias") != 0 ? "True" : "False", type("dtype"), type("outdtype"),
                     value("bpreshuffle") != 0 ? "True" : "False", candidate.name(),
                     problem.integer_or("bpreshuffle", 0) != 0 ? layout_of(candidate.config) : "");
}

/// Adds calls of a dispatcher for the problems.
void add_served(Dispatcher& dispatcher, const std::vector<Problem>& problems, std::vector<CheckedCall>& calls) {
  for (const Problem& problem : problems) {
    auto operands = std::make_shared<Operands>(problem);
    const std::string key = problem.key();
    if (problem.integer_or("bpreshuffle", 0) == 0) {
      calls.emplace_back([&dispatcher, operands, key] {
        return operands->wrong_after([&] { dispatcher.run(dispatcher.key(key), operands->all()); });
      });
      continue;
    }
    const void* const plain = operands->operand(1).data;
    auto weights = std::make_shared<Weights>(dispatcher.pack_weights(dispatcher.key(key), std::span(&plain, 1)));
    calls.emplace_back([&dispatcher, operands, weights, key] {
      std::vector<void*> others = operands->all();
      others.erase(others.begin() + 1);
      return operands->wrong_after([&] { dispatcher.run(dispatcher.key(key), *weights, others); });
    });
  }
}

}  // namespace

bool supports_any(const Solver& solver, const DeviceInfo& device) {
  return std::ranges::any_of(kProblems,
                             [&](const char* text) { return computes(solver, normalised(text, device), device); });
}

std::vector<CheckedCall> plan_calls(const std::string& id) {
  const Solver* const solver = registry(HostProcess::application).find(id);
  if (solver == nullptr) fail(ErrorCode::unavailable, "this solver cannot be opened: {}", id);
  Device& device = world().device;
  std::vector<CheckedCall> calls;
  Backend* backend = nullptr;
  for (const char* text : kProblems) {
    const Problem problem = normalised(text, device.info());
    if (!computes(*solver, problem, device.info())) continue;
    if (backend == nullptr) backend = solver->open(device).release();
    for (const Config& config : chosen_configs(*backend, problem)) {
      if (const auto binaries = compiled(*solver, problem, config))
        calls.emplace_back(
            [call = std::make_shared<PlanCall>(problem, config, *backend, *binaries)] { return (*call)(); });
    }
  }
  return calls;
}

std::vector<CheckedCall> served_calls() {
  const auto device = open_device("cpu:0");
  std::vector<Problem> problems;
  for (const char* text : kProblems) problems.push_back(normalised(text, device->info()));
  std::vector<CheckedCall> calls;
  static const auto& folder = *new TemporaryFolder("attune_threads_");
  const auto add = [&](const std::string& rows, const std::vector<Problem>& served) {
    const auto table = folder.path() / fmt::format("{}.csv", calls.size());
    write_file_atomically(table, "gfx,cu_num,M,N,K,bias,dtype,outdtype,bpreshuffle,us,kernelName,layout\n" + rows);
    DispatcherOptions options{.compile_mode = CompileMode::blocking, .poll_interval = std::chrono::milliseconds(0)};
    options.tables["gemm_a16w16"] = {table};
    add_served(*new Dispatcher(options), served, calls);
  };
  add("", problems);
  for (const SolverEntry& entry : registry(HostProcess::application).entries()) {
    const Solver* const solver = registry(HostProcess::application).find(entry.id);
    std::string rows;
    std::vector<Problem> served;
    for (const Problem& problem : problems) {
      const std::string row = solver == nullptr ? std::string() : row_of(*solver, *device, problem);
      if (row.empty()) continue;
      rows += row;
      served.push_back(problem);
    }
    if (!served.empty()) add(rows, served);
  }
  return calls;
}

}  // namespace attune
