// SPDX-License-Identifier: MIT
#include "solvers/jit_cpu_quantised/quantised_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "solver/thread_counts.h"

namespace attune::jit_cpu_quantised {
namespace {

constexpr int64_t kDotMaxRows = 64;        // With more rows, packing b costs less than folding sums.
constexpr int64_t kTileMinRows = 4;        // Below, packing b costs more than it gains.
constexpr int64_t kSmallWork = 8'000'000;  // Multiplications in the time that waking a thread takes.
/// Multiplications up to which a start runs on one thread, as in jit_cpu (docs/performance/one_thread.md).
constexpr int64_t kOneThreadWorkOfFewRows = 4'096, kOneThreadWork = 262'144;
constexpr int64_t kFewRows = 9;

constexpr std::array<std::string_view, 3> kPrefetches = {"off", "row", "tile"};

constexpr std::array<int64_t, 6> kWidths = {1, 2, 3, 4, 6, 8};

std::vector<Value> numbers(std::initializer_list<int64_t> values) { return {values.begin(), values.end()}; }

std::vector<Value> k_blocks(int64_t k) {
  std::vector<Value> blocks = {int64_t{0}};
  for (const int64_t block : {1024, 2048, 4096}) {
    if (block < k) blocks.emplace_back(block);
  }
  return blocks;
}

std::vector<Parameter> parameters_of(const QuantisedGemm& shape, const DeviceInfo& device) {
  const std::string dot = "kernel == 'dot'";
  std::vector<Value> prefetches;
  for (const std::string_view one : kPrefetches) prefetches.emplace_back(std::string(one));
  return {
      {.name = "kernel", .values = {std::string("dot"), std::string("tile")}, .binding = Binding::compile_time},
      {.name = "rows", .values = numbers({1, 2, 3, 4, 6, 8, 12, 24}), .binding = Binding::compile_time},
      {.name = "width", .values = {kWidths.begin(), kWidths.end()}, .binding = Binding::compile_time},
      {.name = "unroll", .values = numbers({1, 2, 4}), .binding = Binding::compile_time, .active_if = dot},
      {.name = "prefetch", .values = prefetches, .binding = Binding::compile_time, .active_if = dot},
      {.name = "k_block", .values = k_blocks(shape.k)},
      {.name = "threads", .values = thread_counts(device.num_units)},
  };
}

/// What holds for every M: registers.
std::vector<Rule> register_rules(const DeviceInfo& device) {
  const ByteUnit unit = ByteUnit::of(device);
  const int64_t registers = unit.vectors.registers;
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
  std::vector<Rule> rules = register_rules(device);
  const std::vector<Rule> of_m = {
      {"rows", "rows == 1 || rows < 2 * problem.m", "half of the rows would be computed in vain"},
      {"dot_columns", "kernel != 'dot' || width == 1 || width < 2 * problem.n", "wider than b"},
      {"dot_rows", fmt::format("kernel != 'dot' || problem.m <= {} || problem.n <= 16", kDotMaxRows),
       "so many rows of a would be read again for every few columns"},
      {"dot_reads", fmt::format("kernel != 'dot' || problem.m <= rows * {}", kDotMaxRows / 4),
       "b would be read from a cache too often"},
      {"tile_rows", fmt::format("kernel != 'tile' || problem.m >= {}", kTileMinRows),
       "packing b costs more than so few rows of a gain"},
      {"threads_work",
       fmt::format("threads == device.num_units || problem.m * problem.n <= ceil_div({}, problem.k)", kSmallWork),
       "so large a product is never faster on fewer threads"},
  };
  rules.insert(rules.end(), of_m.begin(), of_m.end());
  return SearchSpace::product(parameters_of(shape, device), std::move(rules));
}

SearchSpace quantised_invariant_space(const QuantisedGemm& shape, const DeviceInfo& device) {
  auto parameters = parameters_of(shape, device);
  parameters.back().values = numbers({device.num_units});
  return SearchSpace::product(std::move(parameters), register_rules(device));
}

Config quantised_start(const QuantisedGemm& shape, const DeviceInfo& device) {
  const bool wide = ByteUnit::of(device).lanes() == 16;
  const int64_t max_work = shape.m < kFewRows ? kOneThreadWorkOfFewRows : kOneThreadWork;
  const int64_t threads = shape.m * shape.n <= max_work / shape.k ? 1 : device.num_units;
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

ProductLoops product_loops(const QuantisedGemm& shape, const Config& config, const DeviceInfo& device) {
  ProductLoops loops;
  loops.spec = {.unit = ByteUnit::of(device),
                .out = shape.out,
                .kernel = config.text("kernel") == "dot" ? Kernel::dot : Kernel::tile,
                .rows = static_cast<int>(config.integer("rows")),
                .width = static_cast<int>(config.integer("width"))};
  loops.k_block = config.integer("k_block");
  loops.threads = static_cast<int>(config.integer("threads"));
  if (loops.spec.kernel == Kernel::tile) return loops;
  loops.spec.unroll = static_cast<int>(config.integer("unroll"));
  const auto prefetch = std::find(kPrefetches.begin(), kPrefetches.end(), config.text("prefetch"));
  loops.spec.prefetch = static_cast<Prefetch>(prefetch - kPrefetches.begin());
  return loops;
}

}  // namespace attune::jit_cpu_quantised
