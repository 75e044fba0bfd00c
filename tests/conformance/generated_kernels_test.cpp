// SPDX-License-Identifier: MIT
// Verifies random configs of the generated kernels at random sizes, including odd and prime ones, with guard bands, and
// on a host runs them between inaccessible pages. ATTUNE_KERNEL_SAMPLES=300x40 tries 300 configs at 40 sizes each,
// ATTUNE_KERNEL_SEED=2 others than it does by default: processes side by side share the work by their seeds.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <ostream>

#include "base/error.h"
#include "base/locations.h"
#include "base/random.h"
#include "base/text.h"
#include "compile/compile_pool.h"
#include "compile/compiler.h"
#include "device/devices.h"
#include "measure/operands/packed_weights.h"
#include "measure/verification.h"
#include "ops/op.h"
#include "search/prune.h"
#include "search/weight_group.h"
#include "solver/registry.h"
#include "testing/built_helper.h"

namespace attune {
namespace {

/// Memory between two pages that fault when touched; `at_end` places it next to the second one.
class FencedBuffer {
 public:
  FencedBuffer(size_t bytes, bool at_end) : page_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))) {
    const size_t inner = (bytes + page_ - 1) / page_ * page_;
    size_ = inner + 2 * page_;
    base_ = ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* first = static_cast<std::byte*>(base_) + page_;
    ::mprotect(first, inner, PROT_READ | PROT_WRITE);
    constexpr size_t kAlignment = 64;  // The guaranteed alignment of operands.
    data_ = at_end ? first + (inner - bytes) / kAlignment * kAlignment : first;
  }
  ~FencedBuffer() { ::munmap(base_, size_); }
  FencedBuffer(const FencedBuffer&) = delete;
  FencedBuffer& operator=(const FencedBuffer&) = delete;
  std::byte* data() const { return data_; }

 private:
  size_t page_, size_ = 0;
  void* base_ = nullptr;
  std::byte* data_ = nullptr;
};

struct Samples {
  int configs = 24, sizes = 10;
  static Samples wanted() {
    Samples samples;
    if (const char* text = std::getenv("ATTUNE_KERNEL_SAMPLES")) {
      EXPECT_EQ(std::sscanf(text, "%dx%d", &samples.configs, &samples.sizes), 2) << text;
    }
    return samples;
  }
};

uint64_t seed_wanted() {
  constexpr uint64_t kDefault = 20;
  const char* const text = std::getenv("ATTUNE_KERNEL_SEED");
  if (text == nullptr) return kDefault;
  const auto number = parse_int(text);
  EXPECT_TRUE(number && *number >= 0) << text;
  return static_cast<uint64_t>(number.value_or(kDefault));
}

/// A solver that generates kernels, where it runs, and which kinds of products it computes.
struct GeneratingSolver {
  const char *id, *op, *device;
  std::vector<std::string> kinds;
  int64_t max_rows, max_columns, max_depth;
  int64_t depth_multiple;  ///< K is one in half of the draws.
};
/// GoogleTest prints a parameter by this.
void PrintTo(const GeneratingSolver& solver, std::ostream* out) { *out << solver.id; }

const GeneratingSolver kOnHost = {
    .id = "jit_cpu.gemm",
    .op = "gemm_a16w16",
    .device = "cpu:0",
    .kinds = {"dtype=fp32", "dtype=fp32 bias=1", "dtype=bf16", "dtype=bf16 outdtype=fp32 bias=1", "dtype=fp16",
              "dtype=fp32 trans_b=0", "dtype=fp32 trans_a=1", "dtype=bf16 trans_b=0", "dtype=fp32 bpreshuffle=1",
              "dtype=bf16 bias=1 bpreshuffle=1"},
    .max_rows = 200,
    .max_columns = 200,
    .max_depth = 1500,
    .depth_multiple = 1};
const GeneratingSolver kInt8AndFp8 = {
    .id = "jit_cpu.gemm_a8w8",
    .op = "gemm_a8w8",
    .device = "cpu:0",
    .kinds = {"q_dtype_w=int8", "q_dtype_w=e4m3fn", "q_dtype_w=int8 bias=1 outdtype=fp16", "q_dtype_w=e4m3fnuz bias=1",
              "q_dtype_w=int8 scale=tensor", "q_dtype_w=e4m3fn scale=tensor outdtype=fp16"},
    .max_rows = 200,
    .max_columns = 200,
    .max_depth = 1500,
    .depth_multiple = 1};
const GeneratingSolver kFp8Blocks = {
    .id = "jit_cpu.gemm_a8w8_blockscale",
    .op = "gemm_a8w8_blockscale",
    .device = "cpu:0",
    .kinds = {"q_dtype_w=e4m3fn", "q_dtype_w=e4m3fnuz", "q_dtype_w=e4m3fn outdtype=fp16"},
    .max_rows = 200,
    .max_columns = 400,
    .max_depth = 1500,
    .depth_multiple = 1};
const GeneratingSolver kMxfp4 = {
    .id = "jit_cpu.gemm_a4w4_blockscale",
    .op = "gemm_a4w4_blockscale",
    .device = "cpu:0",
    .kinds = {"outdtype=bf16", "bpreshuffle=1", "outdtype=fp16", "outdtype=fp16 bpreshuffle=1"},
    .max_rows = 200,
    .max_columns = 200,
    .max_depth = 1500,
    .depth_multiple = 1};
const GeneratingSolver kOnGpu = {
    .id = "jit_cuda.gemm",
    .op = "gemm_a16w16",
    .device = "cuda:0",
    .kinds = {"dtype=bf16", "dtype=bf16 bias=1", "dtype=fp16 outdtype=fp32 bias=1", "dtype=fp16", "dtype=fp32 bias=1",
              "dtype=bf16 outdtype=fp32", "dtype=bf16 bias=1 bpreshuffle=1", "dtype=fp16 bpreshuffle=1",
              "dtype=fp32 bpreshuffle=1"},
    .max_rows = 300,
    .max_columns = 1200,
    .max_depth = 9000,
    .depth_multiple = 8};

const GeneratingSolver kOnGpuByTriton = {
    .id = "triton.gemm",
    .op = "gemm_a16w16",
    .device = "cuda:0",
    .kinds = {"dtype=bf16", "dtype=bf16 bias=1", "dtype=fp16 outdtype=fp32 bias=1", "dtype=fp16 trans_b=0",
              "dtype=fp32 bias=1", "dtype=bf16 trans_a=1", "dtype=fp16 trans_a=1 trans_b=0 bias=1"},
    .max_rows = 300,
    .max_columns = 1200,
    .max_depth = 9000,
    .depth_multiple = 8};

class GeneratedKernels : public testing::TestWithParam<GeneratingSolver> {
 protected:
  void SetUp() override {
    solver_ = registry().find(GetParam().id);
    if (solver_ == nullptr) GTEST_SKIP() << GetParam().id << " is not in this build";
    if (list_devices(GetParam().device).empty())
      GTEST_SKIP() << "no NVIDIA GPU is here, on which alone " << GetParam().id << " runs";
    device_ = open_device(GetParam().device);
    if (!solver_->supports(problem_of(GetParam().kinds.front(), 1, 1, 1), device_->info()).yes)
      GTEST_SKIP() << GetParam().id << " does not support this processor";
    for (const SolverEntry& entry : registry().entries()) {
      if (entry.id != GetParam().id) continue;
      if (const std::string why = Registry::why_unavailable(entry); !why.empty()) GTEST_SKIP() << why;
    }
    backend_ = solver_->open(*device_);
  }

  Problem problem_of(const std::string& kind, int64_t m, int64_t n, int64_t k) const {
    const auto problem = Problem::parse(fmt::format("{} m={} n={} k={} {}", GetParam().op, m, n, k, kind));
    return op_of(problem).normalise(problem, device_->info());
  }
  /// Draws a size from 1 on a logarithmic scale, at least half of them odd.
  int64_t size(int64_t below) {
    const auto drawn = static_cast<int64_t>(std::exp(random_.uniform() * std::log(static_cast<double>(below))));
    return std::max<int64_t>(1, random_.below(2) == 0 ? drawn : drawn | 1);
  }
  Problem draw(const std::string& kind) {
    const GeneratingSolver& solver = GetParam();
    const int64_t m = size(solver.max_rows), n = size(solver.max_columns);
    const int64_t k = size(solver.max_depth), multiple = random_.below(2) == 0 ? 1 : solver.depth_multiple;
    return problem_of(kind, m, n, (k + multiple - 1) / multiple * multiple);
  }

  /// Draws a config that no rule excludes; returns nothing after many tries.
  std::optional<Config> draw_config(const Problem& problem) {
    const SearchSpace space = backend_->space(problem);
    for (int i = 0; i < 100'000; ++i) {
      const Config config = space.at(random_.below(space.size()));
      if (!why_outside(space, config, problem, device_->info())) return config;
    }
    return std::nullopt;
  }

  /// Whether the rules allow the config for a problem.
  bool takes(const Problem& problem, const Config& config) {
    if (const auto offered = backend_->offers(problem, config)) return *offered;
    return !why_outside(backend_->space(problem), config, problem, device_->info());
  }

  std::vector<Binary> compiled(const Problem& problem, const Config& config) {
    std::vector<Binary> binaries;
    for (const CompileResult& one : pool_.compile(solver_->compile_tasks(problem, config, device_->info()))) {
      EXPECT_TRUE(one.outcome.ok()) << config.key() << ": " << one.outcome.detail;
      if (one.binary) binaries.push_back(*one.binary);
    }
    return binaries;
  }

  /// Returns the packing for the layout that a config reads; nothing for plain weights.
  std::optional<WeightPacking> packing(const Problem& problem, const Config& config) {
    if (!config.has("b_layout")) return std::nullopt;
    return packing_of({layout_of(config)}, problem, *backend_, *device_);
  }

  void verify(const Problem& problem, const Config& config, const Plan& plan) {
    const Finding found = finding(problem, config, plan);
    EXPECT_EQ(found.status, Status::ok) << problem.key() << " " << config.key() << ": " << found.detail;
  }

  Finding finding(const Problem& problem, const Config& config, const Plan& plan) {
    ReferenceCache references(*device_, op_of(problem), problem, 3);
    std::optional<Rotation> plain;
    std::optional<PackedWeights> packed;
    if (const auto how = packing(problem, config)) {
      std::vector<Buffer> inputs;
      for (const GuardedBuffer& input : references.get(Distribution::normal).inputs) inputs.push_back(input.area());
      auto specs = op_of(problem).tensors(problem);
      specs.resize(inputs.size());
      plain.emplace(*device_, specs, size_rotation(specs, CachePolicy::warm, 0), inputs, 0);
      packed.emplace(*device_, specs, *plain, *how).prepare_check(references);
    }
    Verification verification(*device_, op_of(problem), problem, references);
    return verification.verify(plan.traits(), [&](const Launch& launch) { plan.run(launch); },
                               {.twice = true, .weights = packed ? &*packed : nullptr});
  }

  /// Runs a plan; an access outside an operand or the workspace crashes the test program.
  void run_between_fences(const Problem& problem, const Config& config, const Plan& plan) {
    const bool at_end = random_.below(3) > 0;
    std::vector<std::unique_ptr<FencedBuffer>> buffers;
    std::vector<void*> operands;
    const auto specs = op_of(problem).tensors(problem);
    const auto how = packing(problem, config);
    for (size_t i = 0; i < specs.size(); ++i) {
      const uint64_t bytes = how && specs[i].is_packed ? how->bytes : specs[i].bytes();
      buffers.push_back(std::make_unique<FencedBuffer>(bytes, at_end));
      operands.push_back(buffers.back()->data());
    }
    FencedBuffer workspace(plan.traits().workspace_bytes, at_end);
    plan.run({.operands = operands, .workspace = workspace.data()});
  }

  const Solver* solver_ = nullptr;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Backend> backend_;
  KernelCache cache_{{cache_location().path}, uint64_t{1} << 30};
  CompilePool pool_{cache_, with_built_helpers()};
  Random random_{seed_wanted()};
};

TEST_P(GeneratedKernels, RandomConfigsAreRightAtRandomSizes) {
  const std::vector<std::string>& kinds = GetParam().kinds;
  const Samples samples = Samples::wanted();
  struct Drawn {
    std::string kind;
    Problem first;
    Config config;
  };
  std::vector<Drawn> all;
  std::vector<CompileTask> tasks;
  const auto add_tasks = [&](const Problem& problem, const Config& config) {
    for (CompileTask& task : solver_->compile_tasks(problem, config, device_->info())) tasks.push_back(std::move(task));
  };
  for (int i = 0; i < samples.configs; ++i) {
    const std::string& kind = kinds[static_cast<size_t>(i) % kinds.size()];
    const Problem first = draw(kind);
    if (!solver_->supports(first, device_->info()).yes) continue;
    const auto config = draw_config(first);
    if (!config) continue;
    all.push_back({kind, first, *config});
    // A kernel may depend on what sizes are multiples of.
    for (const int64_t k : {GetParam().depth_multiple, GetParam().depth_multiple + 1})
      add_tasks(problem_of(kind, first.integer("m"), first.integer("n"), k), *config);
  }
  pool_.compile(tasks);                               // On all cores; compiled() finds them in the cache.
  std::map<std::string, std::pair<int, int>> counts;  // Configs and products, by the kind of kernel.
  for (const auto& [kind, first, config] : all) {
    auto& [num_configs, num_products] = counts[config.has("kernel") ? config.text("kernel") : "one kind"];
    ++num_configs;
    // The rules must allow the config at each size; some draws find none.
    for (int size = 0, tries = 0; size < samples.sizes && tries < 100 * samples.sizes; ++tries) {
      const Problem problem = size == 0 ? first : draw(kind);
      if (!solver_->supports(problem, device_->info()).yes || !takes(problem, config)) continue;
      const auto binaries = compiled(problem, config);
      const auto plan = backend_->prepare(problem, config, {binaries});
      verify(problem, config, *plan);
      if (device_->info().kind == "host") run_between_fences(problem, config, *plan);
      ++size;
      ++num_products;
    }
  }
  for (const auto& [kernel, of_kind] : counts)
    std::printf("%s: %d configs, %d products\n", kernel.c_str(), of_kind.first, of_kind.second);
  EXPECT_GT(static_cast<int>(all.size()), samples.configs / 2);
}

/// A change of a kernel's text that makes it wrong at some sizes.
struct TextFault {
  const char *name, *right, *wrong, *config, *problem, *solver = "jit_cuda.gemm";
};
constexpr const char* kTileOfParts =
    "kernel=tile;block_m=32;block_n=64;block_k=64;stages=4;m_warps=1;n_warps=4;group_m=1;split_k=4;reduce=block";
// Of so many tiles that parts of one run after another.
constexpr const char* kManyTilesOfParts =
    "kernel=tile;block_m=32;block_n=64;block_k=64;stages=4;m_warps=1;n_warps=4;group_m=1;split_k=3;reduce=block";
constexpr const char* kStream = "kernel=stream;rows=8;columns=16;warps=2;depth_warps=4;unroll=2;split_k=1";
// Of three rows of tiles in groups of two.
constexpr const char* kTritonTile =
    "BLOCK_SIZE_M=64;BLOCK_SIZE_N=64;BLOCK_SIZE_K=64;GROUP_SIZE_M=2;SPLIT_K=1;num_warps=4;num_stages=3";
constexpr const char* kTritonParts =
    "BLOCK_SIZE_M=64;BLOCK_SIZE_N=64;BLOCK_SIZE_K=64;GROUP_SIZE_M=1;SPLIT_K=4;num_warps=4;num_stages=3";
constexpr TextFault kTextFaults[] = {
    {"the end of K is dropped", "divided(tile.end - begin + kBlockK - 1, kBlockK)",
     "divided(tile.end - begin, kBlockK)", kTileOfParts, "m=20 n=700 k=4040 dtype=bf16"},
    {"columns of the last tile are those of the first", "return index < extent ? index : extent - 1;",
     "return index < extent / 32 * 32 ? index : index % 32;", kStream, "m=5 n=1001 k=4096 dtype=bf16"},
    // Not the last but one: the parts that it lacks are mostly written while it reads the others. The counter returns
    // to 0 when all have come: if the first block did it, each would be a first one, and the last would be right.
    {"the first block adds the parts",
     "static_cast<unsigned>(num_parts) - 1;\n    if (*flag != 0) product.counters[tile] = 0;",
     "0;\n    atomicCAS(product.counters + tile, static_cast<unsigned>(num_parts), 0u);", kManyTilesOfParts,
     "m=20 n=16384 k=4096 dtype=bf16"},
    {"nobody waits for a copy", "copies_done<kStages - 2>();", "", kTileOfParts, "m=20 n=700 k=4096 dtype=bf16"},
    {"a row ends in the next one", "vector.words[i] = left >= 4 ?", "vector.words[i] = true ?", kStream,
     "m=5 n=1001 k=4099 dtype=bf16"},
    {"half of the output is missing", "mask=(rows < m)[:, None] & (columns < n)[None, :])",
     "mask=(rows < m)[:, None] & (columns < n // 2)[None, :])", kTritonTile, "m=150 n=700 k=512 dtype=bf16",
     "triton.gemm"},
    {"the last step of K is missing", "range(k_begin, k_end, BLOCK_SIZE_K)",
     "range(k_begin, k_end - BLOCK_SIZE_K, BLOCK_SIZE_K)", kTritonTile, "m=150 n=700 k=8192 dtype=bf16", "triton.gemm"},
    {"two parts of K are swapped in B",
     "b_at = b + tl.minimum(columns, n - 1).to(tl.int64)[None, :] * k + (k_begin + steps)",
     "b_at = b + tl.minimum(columns, n - 1).to(tl.int64)[None, :] * k + ((part ^ 1) * k_of_part + steps)", kTritonParts,
     "m=150 n=700 k=8192 dtype=fp16", "triton.gemm"},
    {"the last group of tiles has rows as the others", "tl.minimum(tiles_m - first_m, group_size_m)", "group_size_m",
     kTritonTile, "m=150 n=700 k=512 dtype=bf16", "triton.gemm"},
};

std::vector<TextFault> faults_of(std::string_view solver) {
  std::vector<TextFault> faults;
  for (const TextFault& one : kTextFaults) {
    if (one.solver == solver) faults.push_back(one);
  }
  return faults;
}

/// What compiles the kernel that a fault is about, with the fault or without.
std::vector<CompileTask> tasks_of(const TextFault& fault, bool is_planted, const Solver& solver,
                                  const DeviceInfo& info) {
  const auto problem = Problem::parse(fmt::format("gemm_a16w16 {}", fault.problem));
  auto tasks = solver.compile_tasks(op_of(problem).normalise(problem, info), Config::parse(fault.config), info);
  std::string& source = tasks.front().source;
  const size_t at = source.find(fault.right);
  EXPECT_NE(at, std::string::npos) << fault.name;
  if (is_planted && at != std::string::npos) source.replace(at, std::strlen(fault.right), fault.wrong);
  return tasks;
}

/// The faults are those of texts for a GPU; jit_cpu's own tests plant theirs.
class GeneratedGpuKernels : public GeneratedKernels {};

TEST_P(GeneratedGpuKernels, AWrongTextIsFoundOut) {
  for (const TextFault& fault : faults_of(GetParam().id)) {
    const auto problem = Problem::parse(fmt::format("gemm_a16w16 {}", fault.problem));
    const Problem normal = op_of(problem).normalise(problem, device_->info());
    const auto tried = [&](bool is_wrong) {
      std::vector<Binary> binaries;
      for (const CompileResult& one : pool_.compile(tasks_of(fault, is_wrong, *solver_, device_->info()))) {
        EXPECT_TRUE(one.binary.has_value()) << fault.name << ": " << one.outcome.detail;
        if (!one.binary) return Status::compile_failed;
        binaries.push_back(*one.binary);
      }
      const Config config = Config::parse(fault.config);
      return finding(normal, config, *backend_->prepare(normal, config, {binaries})).status;
    };
    EXPECT_EQ(tried(false), Status::ok) << fault.name;
    EXPECT_EQ(tried(true), Status::wrong_result) << fault.name;
  }
}

// A fault that does not compile would show on a GPU alone, which most machines lack.
TEST(TextFaults, CompileWithoutAGpu) {
  const Solver* const solver = registry().find(kOnGpu.id);
  if (solver == nullptr) GTEST_SKIP() << kOnGpu.id << " is not in this build";
  const Compiler* const nvrtc = find_compiler("nvrtc");
  ASSERT_NE(nvrtc, nullptr);
  try {
    nvrtc->toolchain();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const DeviceInfo gpu = {
      .id = "cuda:0", .kind = "cuda", .gfx = "sm_90", .num_units = 132, .facts = {{"shared_bytes", 232448}}};
  for (const TextFault& fault : faults_of(kOnGpu.id)) {
    const LibraryOutput output = nvrtc->library()->compile(tasks_of(fault, true, *solver, gpu).front());
    EXPECT_TRUE(output.is_compiled) << fault.name << ": " << output.log;
  }
}

std::string name_of_solver(const testing::TestParamInfo<GeneratingSolver>& instance) {
  std::string name = instance.param.id;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(OnTheHost, GeneratedKernels, testing::Values(kOnHost, kInt8AndFp8, kFp8Blocks, kMxfp4),
                         name_of_solver);
INSTANTIATE_TEST_SUITE_P(OnAGpu, GeneratedKernels, testing::Values(kOnGpu, kOnGpuByTriton), name_of_solver);
INSTANTIATE_TEST_SUITE_P(OnAGpu, GeneratedGpuKernels, testing::Values(kOnGpu, kOnGpuByTriton), name_of_solver);

}  // namespace
}  // namespace attune
