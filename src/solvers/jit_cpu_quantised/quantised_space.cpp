// SPDX-License-Identifier: MIT
#include "solvers/jit_cpu_quantised/quantised_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/candidate.h"
#include "solver/thread_counts.h"

namespace attune::jit_cpu_quantised {
namespace {

constexpr int64_t kDotMaxRows = 64;        // With more rows, packing b costs less than folding sums.
constexpr int64_t kTileMinRows = 4;        // Below, packing b costs more than it gains.
constexpr int64_t kSmallWork = 8'000'000;  // Multiplications in the time that waking a thread takes.
/// Multiplications up to which a start runs on one thread, as in jit_cpu (docs/performance/one_thread.md).
constexpr int64_t kOneThreadWorkOfFewRows = 4'096, kOneThreadWork = 262'144;
constexpr int64_t kFewRows = 9;
constexpr int64_t kFloatDotMaxRows = 16;
constexpr int64_t kMaxDecodings = 8;  // Of a packed weight in one product.
constexpr int64_t kMxfp4DotRows = 2;  // Rows up to which a start of MXFP4 decodes b in place.
constexpr int64_t kMinFloatSums = 2;  // With fewer, each product waits for the one before.

constexpr std::array<std::string_view, 3> kPrefetches = {"off", "row", "tile"};

constexpr std::array<int64_t, 6> kWidths = {1, 2, 3, 4, 6, 8};

std::vector<Value> numbers(std::initializer_list<int64_t> values) { return {values.begin(), values.end()}; }

std::vector<Value> k_blocks(int64_t k, std::initializer_list<int64_t> all) {
  std::vector<Value> blocks = {int64_t{0}};
  for (const int64_t block : all) {
    if (block < k) blocks.emplace_back(block);
  }
  return blocks;
}

/// Whether the floats of a device are multiplied in pairs of bf16.
bool multiplies_bf16(const DeviceInfo& device) {
  return device.instruction_sets().has(InstructionSet::avx512_bf16) && ByteUnit::of(device).lanes() == 16;
}

/// Whether b can be decoded in place: e2m1, or fp8 with a scale for all of K.
bool has_float_dot(const QuantisedGemm& shape, const DeviceInfo& device) {
  if (shape.in == DType::e2m1) return true;
  return multiplies_bf16(device) && shape.a_scales.depth == 0 && shape.in != DType::int8;
}

std::vector<Parameter> float_parameters(const QuantisedGemm& shape, const DeviceInfo& device) {
  std::vector<Parameter> parameters = {
      {.name = "rows", .values = numbers({1, 2, 3, 4, 6, 8, 12}), .binding = Binding::compile_time},
      {.name = "width", .values = numbers({1, 2, 3, 4, 6, 8}), .binding = Binding::compile_time},
      {.name = "prefetch", .values = numbers({0, 512, 1024}), .binding = Binding::compile_time},
      {.name = "k_block", .values = k_blocks(shape.k, {256, 512, 1024, 2048})},
      {.name = "threads", .values = thread_counts(device.num_units)}};
  if (shape.packed) {
    parameters.insert(
        parameters.begin(),
        {{.name = "kernel", .values = {std::string("stream"), std::string("tile")}, .binding = Binding::compile_time},
         {.name = kLayoutParameter, .values = {std::string(kPackedLayout)}, .binding = Binding::compile_time}});
  } else if (has_float_dot(shape, device)) {
    parameters.insert(
        parameters.begin(),
        {.name = "kernel", .values = {std::string("dot"), std::string("tile")}, .binding = Binding::compile_time});
    parameters.push_back({.name = "unroll",
                          .values = numbers({1, 2}),
                          .binding = Binding::compile_time,
                          .active_if = "kernel == 'dot'"});
  }
  if (shape.in != DType::e2m1) {
    std::vector<Value> engines = {std::string("fp32")};
    if (multiplies_bf16(device)) engines.insert(engines.begin(), std::string("bf16"));
    parameters.insert(parameters.begin(), {.name = "engine", .values = engines, .binding = Binding::compile_time});
  }
  return parameters;
}

std::vector<Parameter> parameters_of(const QuantisedGemm& shape, const DeviceInfo& device) {
  if (shape.in != DType::int8) return float_parameters(shape, device);
  const std::string dot = "kernel == 'dot'";
  std::vector<Value> prefetches;
  for (const std::string_view one : kPrefetches) prefetches.emplace_back(std::string(one));
  return {
      {.name = "kernel", .values = {std::string("dot"), std::string("tile")}, .binding = Binding::compile_time},
      {.name = "rows", .values = numbers({1, 2, 3, 4, 6, 8, 12, 24}), .binding = Binding::compile_time},
      {.name = "width", .values = {kWidths.begin(), kWidths.end()}, .binding = Binding::compile_time},
      {.name = "unroll", .values = numbers({1, 2, 4}), .binding = Binding::compile_time, .active_if = dot},
      {.name = "prefetch", .values = prefetches, .binding = Binding::compile_time, .active_if = dot},
      {.name = "k_block", .values = k_blocks(shape.k, {1024, 2048, 4096})},
      {.name = "threads", .values = thread_counts(device.num_units)},
  };
}

/// What holds for every M: registers.
std::vector<Rule> register_rules(const QuantisedGemm& shape, const DeviceInfo& device) {
  const ByteUnit unit = ByteUnit::of(device);
  const int64_t registers = unit.vectors.registers;
  if (shape.packed) {
    return {{"registers", "kernel != 'tile' || rows * width + width + 2 <= 32",
             "the sums do not fit into the vector registers"},
            {"stream_registers", "kernel != 'stream' || 2 * rows * width + 2 * width + 4 <= 32",
             "the sums and decoded vectors do not fit into the vector registers"},
            {"sums", fmt::format("kernel != 'tile' || rows * width >= {}", kMinFloatSums),
             "sums enough for the latency of a product"},
            {"stream_k", "kernel != 'stream' || k_block == 0", "sums run along all of K"}};
  }
  if (has_float_dot(shape, device)) {
    const bool is_e2m1 = shape.in == DType::e2m1;
    // Of e2m1 the three vectors of each decoded row of b, and some constants.
    const std::string dot_registers =
        is_e2m1
            ? fmt::format("kernel != 'dot' || rows * width * unroll + 3 * (min(rows, 2) - 1) * (width - 1) + {} <= {}",
                          registers == 32 ? 12 : 6, registers)
            : "kernel != 'dot' || rows * width * unroll + 2 * min(rows, width) + 8 <= 32";
    std::vector<Rule> rules = {
        {"registers", fmt::format("kernel != 'tile' || rows * width + width + 2 <= {}", registers),
         "the sums do not fit into the vector registers"},
        {"sums", fmt::format("kernel != 'tile' || rows * width >= {}", kMinFloatSums),
         "sums enough for the latency of a product"},
        {"dot_registers", dot_registers, "the sums do not fit into the vector registers"},
        {"dot_k", "kernel != 'dot' || k_block == 0", "sums run along all of K"}};
    if (!is_e2m1) rules.push_back({"dot_engine", "kernel != 'dot' || engine == 'bf16'", "tables yield pairs of bf16"});
    return rules;
  }
  if (shape.in != DType::int8) {
    return {{"registers", fmt::format("rows * width + width + 2 <= {}", registers),
             "the sums do not fit into the vector registers"},
            {"sums", fmt::format("rows * width >= {}", kMinFloatSums), "sums enough for the latency of a product"}};
  }
  const int64_t others = unit.vnni ? 2 : 3;  // A streamed vector, the flipped bits, a product of int16.
  return {
      {"dot_registers",
       fmt::format("kernel != 'dot' || rows * width * unroll + min(rows, width) + {} <= {}", others, registers),
       "the sums do not fit into the vector registers"},
      {"dot_unroll", fmt::format("kernel != 'dot' || unroll == 1 || rows * width <= {}", registers / 4),
       "sums enough for the latency of a product"},
      {"tile_registers", fmt::format("kernel != 'tile' || rows * width + width + {} <= {}", others - 1, registers),
       "the sums do not fit into the vector registers"},
      {"tile_sums", fmt::format("kernel != 'tile' || rows * width >= {} && width <= 4", registers / 4),
       "three quarters of the registers would hold no sum"},
  };
}

/// The largest width that is offered and not above `there`.
int64_t largest_width(int64_t there) {
  int64_t best = 1;
  for (const int64_t width : kWidths) {
    if (width <= there) best = width;
  }
  return best;
}

}  // namespace

SearchSpace quantised_space(const QuantisedGemm& shape, const DeviceInfo& device) {
  std::vector<Rule> rules = register_rules(shape, device);
  std::vector<Rule> of_m = {
      {"rows", "rows == 1 || rows < 2 * problem.m", "half of the rows would be computed in vain"},
      {"threads_work",
       fmt::format("threads == device.num_units || problem.m * problem.n <= ceil_div({}, problem.k)", kSmallWork),
       "so large a product is never faster on fewer threads"}};
  if (shape.in != DType::int8) {
    rules.insert(rules.end(), of_m.begin(), of_m.end());
    if (shape.packed) {
      rules.push_back({"stream_rows", fmt::format("kernel != 'stream' || problem.m <= rows * {}", kMaxDecodings),
                       "b would be decoded too often"});
    } else if (has_float_dot(shape, device)) {
      rules.push_back({"dot_columns", "kernel != 'dot' || width == 1 || width < 2 * problem.n", "wider than b"});
      rules.push_back({"dot_rows", fmt::format("kernel != 'dot' || problem.m <= {}", kFloatDotMaxRows),
                       "b would be decoded too often"});
    }
    return SearchSpace::product(parameters_of(shape, device), std::move(rules));
  }
  const std::vector<Rule> of_bytes = {
      {"dot_columns", "kernel != 'dot' || width == 1 || width < 2 * problem.n", "wider than b"},
      {"dot_rows", fmt::format("kernel != 'dot' || problem.m <= {} || problem.n <= 16", kDotMaxRows),
       "so many rows of a would be read again for every few columns"},
      {"dot_reads", fmt::format("kernel != 'dot' || problem.m <= rows * {}", kDotMaxRows / 4),
       "b would be read from a cache too often"},
      {"tile_rows", fmt::format("kernel != 'tile' || problem.m >= {}", kTileMinRows),
       "packing b costs more than so few rows of a gain"}};
  of_m.insert(of_m.end() - 1, of_bytes.begin(), of_bytes.end());
  rules.insert(rules.end(), of_m.begin(), of_m.end());
  return SearchSpace::product(parameters_of(shape, device), std::move(rules));
}

SearchSpace quantised_invariant_space(const QuantisedGemm& shape, const DeviceInfo& device) {
  auto parameters = parameters_of(shape, device);
  parameters.back().values = numbers({device.num_units});
  return SearchSpace::product(std::move(parameters), register_rules(shape, device));
}

namespace {

Config float_start(const QuantisedGemm& shape, const DeviceInfo& device, int64_t threads) {
  const bool wide = ByteUnit::of(device).lanes() == 16;
  if (shape.packed && shape.m <= 16) {
    const int64_t rows = std::min<int64_t>(shape.m, 8);
    return Config({{"kernel", std::string("stream")},
                   {kLayoutParameter, std::string(kPackedLayout)},
                   {"rows", rows == 5 || rows == 7 ? rows + 1 : rows},
                   {"width", int64_t{rows <= 2   ? 4
                                     : rows <= 4 ? 2
                                                 : 1}},
                   {"prefetch", int64_t{1024}},
                   {"k_block", int64_t{0}},
                   {"threads", threads}});
  }
  if (shape.in == DType::e2m1 && shape.m <= kMxfp4DotRows && !shape.packed) {
    // One row of b at a time is what memory delivers fastest.
    return Config({{"kernel", std::string("dot")},
                   {"rows", shape.m},
                   {"width", int64_t{1}},
                   {"unroll", int64_t{2}},
                   {"prefetch", int64_t{1024}},
                   {"k_block", int64_t{0}},
                   {"threads", threads}});
  }
  if (has_float_dot(shape, device) && shape.in != DType::e2m1 && shape.m <= 2) {
    return Config({{"kernel", std::string("dot")},
                   {"engine", std::string("bf16")},
                   {"rows", shape.m},
                   {"width", largest_width(std::min<int64_t>(4, shape.n))},
                   {"unroll", int64_t{1}},
                   {"prefetch", int64_t{512}},
                   {"k_block", int64_t{0}},
                   {"threads", threads}});
  }
  const int64_t rows = shape.m < 5 ? shape.m : shape.m == 8 && wide ? 8 : 6;
  const int64_t width = wide ? (rows == 8 ? 3 : 4) : rows < 3 ? 4 : rows == 3 ? 3 : rows == 4 ? 2 : 1;
  std::vector<std::pair<std::string, Value>> values = {{"rows", rows},
                                                       {"width", width},
                                                       {"prefetch", int64_t{512}},
                                                       {"k_block", int64_t{shape.k > 512 ? 512 : 0}},
                                                       {"threads", threads}};
  if (shape.packed) values.emplace_back(kLayoutParameter, std::string(kPackedLayout));
  if (has_float_dot(shape, device) || shape.packed) values.emplace_back("kernel", std::string("tile"));
  if (shape.in != DType::e2m1) values.emplace_back("engine", std::string(multiplies_bf16(device) ? "bf16" : "fp32"));
  return Config(std::move(values));
}

}  // namespace

Config quantised_start(const QuantisedGemm& shape, const DeviceInfo& device) {
  const bool wide = ByteUnit::of(device).lanes() == 16;
  const int64_t max_work = shape.m < kFewRows ? kOneThreadWorkOfFewRows : kOneThreadWork;
  const int64_t threads = shape.m * shape.n <= max_work / shape.k ? 1 : device.num_units;
  if (shape.in != DType::int8) return float_start(shape, device, threads);
  if (shape.m < kFewRows) {
    // About as many sums as the registers hold, in blocks that repeat few rows of a.
    const int64_t rows = !wide                          ? std::min<int64_t>(shape.m, 2)
                         : shape.m == 5 || shape.m == 6 ? 3
                                                        : std::min<int64_t>(shape.m, 4);
    const int64_t width = !wide ? 4 : rows <= 2 ? 8 : 6;
    return Config({{"kernel", std::string("dot")},
                   {"rows", rows},
                   {"width", largest_width(std::min(width, shape.n))},
                   {"unroll", int64_t{1}},
                   {"prefetch", std::string("off")},
                   {"k_block", int64_t{0}},
                   {"threads", threads}});
  }
  return Config({{"kernel", std::string("tile")},
                 {"rows", int64_t{wide ? 12 : 6}},
                 {"width", int64_t{2}},
                 {"k_block", int64_t{shape.k > 4096 ? 4096 : 0}},
                 {"threads", threads}});
}

namespace {

Kernel kernel_of(const Config& config) {
  if (!config.has("kernel")) return Kernel::tile;
  const auto& name = config.text("kernel");
  return name == "dot" ? Kernel::dot : name == "stream" ? Kernel::stream : Kernel::tile;
}

}  // namespace

ProductLoops product_loops(const QuantisedGemm& shape, const Config& config, const DeviceInfo& device) {
  ProductLoops loops;
  loops.spec = {.unit = ByteUnit::of(device),
                .in = shape.in,
                .out = shape.out,
                .group = static_cast<int>(shape.a_scales.depth),
                .kernel = kernel_of(config),
                .rows = static_cast<int>(config.integer("rows")),
                .width = static_cast<int>(config.integer("width")),
                .is_packed = shape.packed};
  loops.k_block = config.integer("k_block");
  loops.threads = static_cast<int>(config.integer("threads"));
  if (shape.in != DType::int8 && shape.in != DType::e2m1)
    loops.spec.engine = config.text("engine") == "bf16" ? Engine::bf16 : Engine::fp32;
  if (shape.in != DType::int8) loops.spec.ahead = static_cast<int>(config.integer("prefetch"));
  if (loops.spec.kernel != Kernel::dot) return loops;
  loops.spec.unroll = static_cast<int>(config.integer("unroll"));
  if (shape.in != DType::int8) return loops;
  const auto prefetch = std::find(kPrefetches.begin(), kPrefetches.end(), config.text("prefetch"));
  loops.spec.prefetch = static_cast<Prefetch>(prefetch - kPrefetches.begin());
  return loops;
}

}  // namespace attune::jit_cpu_quantised
