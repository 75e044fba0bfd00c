// SPDX-License-Identifier: MIT
#include "solvers/jit_cpu/gemm_space.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "core/candidate.h"
#include "solver/thread_counts.h"

namespace attune::jit_cpu {
namespace {

constexpr int64_t kDotMostRows = 24;       // With more rows, a tile kernel reads x less often.
constexpr int64_t kTileMLeast = 9;         // Below, most of a 16-wide panel would be padding.
constexpr int64_t kTileNLeast = 24;        // From here on, packing the weights inside the measured time can pay.
constexpr int64_t kMaxRows = 24;           // Maximum rows of a tile.
constexpr int64_t kManyPanels = 6;         // From here on, the start blocks K.
constexpr int kTileUnroll = 4;             // Measured: 1, 2 and 4 are equal where the sums fill the registers.
constexpr int64_t kSmallWork = 8'000'000;  // Multiplications a thread does while another is woken.
// Multiplications up to which a start runs on one thread. Measured (docs/performance/one_thread.md): a product
// of one row breaks even between 4,096 and 9,216, because it streams the weights, one of 16 rows between 262,144 and
// 589,824.
constexpr int64_t kOneThreadWorkOfFewRows = 4'096;  // Work of fewer rows than kTileMLeast.
constexpr int64_t kOneThreadWork = 262'144;
constexpr int64_t kSmallOutput = 128 * 1024;
constexpr int64_t kDefaultL2 = 1 << 20;  // Used if the device does not report it.

constexpr int64_t kLongSum = 1024;  // Steps of K in one sum; beyond, the start makes blocks, whose errors are smaller.
constexpr int64_t kFewRows = 64;    // Rows of x up to which prefetching packed weights is worth a try.
constexpr const char* kPanels = "host.k16.v1";      // Layouts of weights that these kernels read in place.
constexpr const char* kPairs = "host.vnni2x16.v1";  // Used with AMX.

constexpr int64_t kCounts[] = {1, 2, 3, 4, 6, 8, 12, 14, 24};  // Numbers of rows to try.

std::vector<Value> numbers(std::initializer_list<int64_t> values) { return {values.begin(), values.end()}; }

/// Steps of K between visits of a tile that are worth trying: blocks below K, and all of K.
std::vector<Value> k_blocks(int64_t k) {
  std::vector<Value> blocks = {int64_t{0}};
  for (const int64_t block : {256, 512, 1024}) {
    if (block < k) blocks.emplace_back(block);
  }
  return blocks;
}

/// The largest value of `rows` and `width` that does not exceed the available number.
int64_t largest_fitting(int64_t wanted, int64_t there) {
  int64_t best = 1;
  for (const int64_t value : kCounts) {
    if (value <= wanted && value <= there) best = value;
  }
  return best;
}

/// Whether the processor multiplies this product's bf16 in tile registers.
bool has_amx(const GemmShape& shape, const DeviceInfo& device) {
  return shape.in == DType::bf16 && VectorUnit::of(device).lanes == kPanel &&
         device.instruction_sets().has(InstructionSet::amx_bf16);
}

int64_t l2_bytes_of(const DeviceInfo& device) {
  const auto l2 = device.facts.find("l2_bytes");
  return l2 != device.facts.end() && l2->second > 0 ? l2->second : kDefaultL2;
}

/// Whether the processor has an instruction for pairs of this product's bf16.
bool has_pairs(const GemmShape& shape, const DeviceInfo& device) {
  return shape.in == DType::bf16 && VectorUnit::of(device).lanes == kPanel &&
         device.instruction_sets().has(InstructionSet::avx512_bf16);
}

std::vector<Rule> rules_of(const GemmShape& shape, const DeviceInfo& device) {
  const VectorUnit unit = VectorUnit::of(device);
  // A tile may have few sums if the operand has no more rows.
  const int64_t max_rows_m = largest_fitting(kMaxRows, shape.n), max_rows_n = largest_fitting(kMaxRows, shape.m);
  const int64_t l2_bytes = l2_bytes_of(device);
  const auto yes = [](bool condition) { return condition ? 1 : 0; };
  const int fp32 = yes(shape.in == DType::fp32);
  const std::string packed = shape.packed ? "(kernel == 'tile_n')" : "0";
  // Rows and columns of a tile, the operand extents along them, and whether AMX multiplies.
  const std::string amx = has_amx(shape, device) ? "(engine == 'amx')" : "0";
  const std::string tile_rows = fmt::format("rows * (1 + {} * {})", kPanel - 1, amx);
  const std::string tile_columns = fmt::format("width * ({0} + {1} * {2})", unit.lanes, kPanel - unit.lanes, amx);
  const std::string height = "((kernel == 'tile_m') * problem.n + (kernel == 'tile_n') * problem.m)";
  const std::string extent = "((kernel == 'tile_m') * problem.m + (kernel == 'tile_n') * problem.n)";
  const std::string column_bytes = fmt::format("(4 - 2 * ({} || {} && {} == 0))", amx, packed, fp32);
  const std::string steps = "(k_block + (k_block == 0) * problem.k)";
  return {
      {"dot_rows", fmt::format("kernel != 'dot' || problem.m <= {}", kDotMostRows),
       "so many rows of x would be read again for every few weights"},
      {"dot_layout", fmt::format("kernel != 'dot' || {}", yes(!shape.trans_a && !shape.b_is_kn)),
       "x and the weights must lie along K"},
      {"dot_registers", fmt::format("kernel != 'dot' || rows * width + min(rows, width) + 1 <= {}", unit.registers),
       "the sums do not fit into the vector registers"},
      {"dot_extent", "kernel != 'dot' || rows <= problem.m && width <= problem.n",
       "more rows of x or of the weights than there are"},
      {"tile_m_rows", fmt::format("kernel != 'tile_m' || problem.m >= {} || {} && problem.m > 1", kTileMLeast, amx),
       "most of a panel of x would be padding"},
      {"tile_m_layout", fmt::format("kernel != 'tile_m' || {}", yes(!shape.b_is_kn)), "the weights must lie along K"},
      {"tile_n_rows",
       fmt::format("kernel != 'tile_n' || problem.m >= {} || problem.n <= {} || {}", kTileNLeast, kPanel,
                   yes(shape.b_is_kn || shape.packed)),
       "packing the weights costs more than so few rows of x gain"},
      {"tile_n_layout", fmt::format("kernel != 'tile_n' || {}", yes(!shape.trans_a)), "x must lie along K"},
      {"tile_registers", fmt::format("kernel == 'dot' || {} || rows * width + width + 1 <= {}", amx, unit.registers),
       "the sums do not fit into the vector registers"},
      {"tile_sums",
       fmt::format("kernel == 'dot' || {} || rows * width >= {} || rows == (kernel == 'tile_m') * {} + (kernel == "
                   "'tile_n') * {}",
                   amx, unit.registers / 2, max_rows_m, max_rows_n),
       "half of the registers would hold no sum"},
      {"amx_tiles", fmt::format("kernel == 'dot' || !{} || rows * width + rows + 1 <= 8", amx),
       "there are eight tile registers"},
      {"tile_panels", fmt::format("kernel == 'dot' || {} || width % {} == 0", amx, kPanel / unit.lanes),
       "vectors must fill whole panels"},
      {"tile_height", fmt::format("kernel == 'dot' || {} <= {}", tile_rows, height), "more rows than there are"},
      {"tile_width", fmt::format("kernel == 'dot' || {} < {} + {}", tile_columns, extent, kPanel),
       "wider than the packed operand"},
      {"copy_type", fmt::format("copy == 1 || {} || {}", fp32, amx),
       "elements of 16 bits are widened when they are copied"},
      {"copy_amx", fmt::format("copy == 0 || !{}", amx), "AMX reads bf16 in place"},
      {"copy_use", fmt::format("copy == 0 || {} == 0 || kernel == 'tile_m' && problem.m >= 64", fp32),
       "the copied rows would be used too few times"},
      {"copy_prefetch", fmt::format("copy == 0 || prefetch == 0 || {}", packed),
       "copied rows are in the first cache already"},
      {"prefetch_packed", fmt::format("prefetch == 0 || !{} || problem.m <= {}", packed, kFewRows),
       "all rows of x but the first find the packed weights in a cache"},
      {"prefetch_x", fmt::format("prefetch == 0 || kernel != 'tile_n' || {} && !{}", packed, amx),
       "rows of x are in a cache already"},
      {"copy_order", fmt::format("copy == 0 || order == 'rows' || {}", packed),
       "a tile's rows would be copied for every panel"},
      {"k_block_cache",
       fmt::format("k_block != 0 || {} * {} * problem.k <= {} || {} && problem.m <= {}", tile_columns, column_bytes,
                   l2_bytes, packed, tile_rows),
       "a group of panels along all of K exceeds the second cache"},
      {"panel_block_cache",
       fmt::format("panel_block == 0 || {} * panel_block * {} * {} <= {}", steps, kPanel, column_bytes, l2_bytes),
       "a block of panels exceeds the second cache"},
      {"panel_block_size", fmt::format("panel_block == 0 || panel_block * {} < {}", kPanel, extent),
       "the block is no smaller than the whole"},
      {"panel_block_order", "panel_block == 0 || order == 'rows'", "panels in turn need no block of them"},
      {"order_panels", fmt::format("order == 'rows' || {} < {}", tile_columns, extent),
       "there is one group of panels only"},
      {"threads_work",
       fmt::format("threads == device.num_units || problem.m * problem.n <= ceil_div({}, problem.k)", kSmallWork),
       "so large a product is never faster on fewer threads"},
      {"split_k_output", fmt::format("split_k == 1 || problem.m * problem.n <= {}", kSmallOutput),
       "the output has parts enough for the threads"},
      {"split_k_threads", "split_k == 1 || split_k == threads", "the parts of K are one for each thread"},
      {"split_k_length", "split_k == 1 || problem.k >= 512 * split_k", "the parts of K would be too short"},
  };
}

/// Threads of a start.
int64_t start_threads(const GemmShape& shape, const DeviceInfo& device) {
  const int64_t max_work = shape.m < kTileMLeast ? kOneThreadWorkOfFewRows : kOneThreadWork;
  return shape.m * shape.n <= max_work / shape.k ? 1 : device.num_units;
}

/// Few panels: the group with the least padding, wide ones first, as they read the broadcast operand less often. Many:
/// two panels, which for a block of K stay in the L1 cache.
int64_t best_width(int64_t extent, const VectorUnit& unit) {
  const int64_t in_panel = kPanel / unit.lanes, panels = (extent + kPanel - 1) / kPanel;
  if (unit.lanes < kPanel) return in_panel;
  if (panels > kManyPanels) return 2;
  int64_t best = 1, min = panels + kManyPanels;
  for (const int64_t group : {4, 3, 2, 1}) {
    const int64_t padded = (panels + group - 1) / group * group;
    if (group <= panels && padded < min) {
      min = padded;
      best = group;
    }
  }
  return best;
}

int64_t best_rows(int64_t width, const VectorUnit& unit) {
  if (unit.lanes < kPanel) return 6;
  return width == 1 ? 24 : width == 2 ? 12 : width == 3 ? 8 : 6;
}

/// As many sums as the registers hold beside a row of panels, in tiles that repeat the fewest rows of x.
Config packed_start(const GemmShape& shape, const DeviceInfo& device) {
  const VectorUnit unit = VectorUnit::of(device);
  const int64_t panels = (shape.n + kPanel - 1) / kPanel, in_panel = kPanel / unit.lanes;
  const bool amx = has_amx(shape, device) && shape.m >= kPanel;
  int64_t rows = 1, width = in_panel, min = 2 * shape.m + 1;
  for (const int64_t tall : kCounts) {
    const int64_t all = (shape.m + tall - 1) / tall * tall;
    // Fewer rows per tile would read the panels more often.
    if (tall < std::min<int64_t>(6, (shape.m + 1) / 2) || tall > shape.m || all > min) continue;
    for (const int64_t wide : {1, 2, 3, 4, 6, 8}) {
      const bool fits = wide % in_panel == 0 && wide / in_panel <= panels && tall * wide <= kMaxRows &&
                        tall * wide + wide + 1 <= unit.registers;
      if (!fits || (tall * wide < unit.registers / 2 && tall != largest_fitting(kMaxRows, shape.m))) continue;
      rows = tall;
      width = wide;
      min = all;
    }
  }
  if (amx) {
    width = panels > 1 ? 2 : 1;
    rows = largest_fitting(width == 2 ? 2 : 3, shape.m / kPanel);
  }
  const int64_t tile_rows = amx ? rows * kPanel : rows, columns = width * (amx ? kPanel : unit.lanes);
  const int64_t column_bytes = shape.in == DType::fp32 ? 4 : 2;
  const bool long_sums = shape.m > kFewRows && shape.k > kLongSum;
  const bool whole_k = tile_rows >= shape.m || (!long_sums && columns * column_bytes * shape.k <= l2_bytes_of(device));
  std::vector<std::pair<std::string, Value>> values = {
      {"kernel", std::string("tile_n")},
      {kLayoutParameter, std::string(amx ? kPairs : kPanels)},
      {"rows", rows},
      {"width", width},
      {"prefetch", int64_t{shape.m <= kFewRows && !amx ? 128 : 0}},
      {"k_block", int64_t{whole_k ? 0 : 256}},
      {"panel_block", int64_t{0}},
      {"order", std::string(columns < shape.n ? "panels" : "rows")},
      {"copy", int64_t{shape.in != DType::fp32 && !amx}},
      {"threads", start_threads(shape, device)},
      {"split_k", int64_t{1}},
  };
  if (has_amx(shape, device)) values.emplace_back("engine", std::string(amx ? "amx" : "vectors"));
  return Config(std::move(values));
}

}  // namespace

SearchSpace gemm_space(const GemmShape& shape, const DeviceInfo& device) {
  const std::vector<Value> kernels = {std::string("tile_m"), std::string("tile_n"), std::string("dot")};
  const std::string tile = "kernel != 'dot'";
  std::vector<Value> parts = numbers({1});
  for (const Value& count : thread_counts(device.num_units)) {
    if (std::get<int64_t>(count) > 1) parts.push_back(count);
  }
  std::vector<Parameter> parameters = {
      {.name = "kernel", .values = kernels, .binding = Binding::compile_time},
      {.name = "rows", .values = numbers({1, 2, 3, 4, 6, 8, 12, 14, 24}), .binding = Binding::compile_time},
      {.name = "width", .values = numbers({1, 2, 3, 4, 6, 8}), .binding = Binding::compile_time},
      {.name = "unroll", .values = numbers({1, 4}), .binding = Binding::compile_time, .active_if = "kernel == 'dot'"},
      {.name = "prefetch", .values = numbers({0, 128}), .binding = Binding::compile_time},
      {.name = "k_block", .values = k_blocks(shape.k), .active_if = tile},
      {.name = "panel_block", .values = numbers({0, 8}), .active_if = tile},
      {.name = "order", .values = {std::string("rows"), std::string("panels")}, .active_if = tile},
      {.name = "copy", .values = numbers({0, 1}), .active_if = tile},
      {.name = "threads", .values = thread_counts(device.num_units)},
      {.name = "split_k", .values = parts, .active_if = tile},
  };
  auto rules = rules_of(shape, device);
  const bool amx = has_amx(shape, device);
  if (amx) {
    const std::vector<Value> engines = {std::string("amx"), std::string("vectors")};
    parameters.insert(parameters.begin() + 1,
                      {.name = "engine", .values = engines, .binding = Binding::compile_time, .active_if = tile});
  }
  if (shape.packed) {
    // The other kernels read plain weights, which need no name.
    std::vector<Value> layouts = {std::string(kPanels)};
    if (amx) layouts.insert(layouts.begin(), std::string(kPairs));
    parameters.insert(parameters.begin() + (amx ? 2 : 1), {.name = kLayoutParameter,
                                                           .values = layouts,
                                                           .binding = Binding::compile_time,
                                                           .active_if = "kernel == 'tile_n'"});
    if (amx) {
      rules.push_back({"packed_engine", fmt::format("(engine == 'amx') == (b_layout == '{}')", kPairs),
                       "AMX reads pairs, vectors single elements"});
    }
  }
  if (has_pairs(shape, device)) {
    parameters.push_back(
        {.name = "pairs", .values = numbers({1, 0}), .binding = Binding::compile_time, .active_if = "kernel == 'dot'"});
  }
  return SearchSpace::product(std::move(parameters), std::move(rules));
}

/// The values that serve every M with the same bits: one row in a tile, all threads, no parts of K.
SearchSpace gemm_invariant_space(const GemmShape& shape, const DeviceInfo& device) {
  if (shape.trans_a) return {};
  const Value dot = std::string("dot"), tile_n = std::string("tile_n");
  const std::map<std::string, std::vector<Value>> narrowed = {
      {"kernel", shape.b_is_kn  ? std::vector<Value>{tile_n}
                 : shape.packed ? std::vector<Value>{tile_n, dot}
                                : std::vector<Value>{dot}},
      {"engine", {std::string("vectors")}},
      {kLayoutParameter, {std::string(kPanels)}},
      {"rows", numbers({1})},
      {"panel_block", numbers({0})},
      {"threads", numbers({device.num_units})},
      {"split_k", numbers({1})},
  };
  const SearchSpace all = gemm_space(shape, device);
  std::vector<Parameter> parameters(all.parameters().begin(), all.parameters().end());
  for (Parameter& one : parameters) {
    if (const auto found = narrowed.find(one.name); found != narrowed.end()) one.values = found->second;
  }
  // The other rules state what is fast for an M, or hold for one row.
  constexpr std::string_view kForEveryM[] = {"dot_registers", "tile_registers", "tile_panels",   "tile_width",
                                             "copy_type",     "copy_use",       "copy_prefetch", "prefetch_x",
                                             "copy_order",    "order_panels"};
  std::vector<Rule> rules(all.rules().begin(), all.rules().end());
  std::erase_if(rules, [&](const Rule& rule) {
    return std::find(std::begin(kForEveryM), std::end(kForEveryM), rule.id) == std::end(kForEveryM);
  });
  rules.push_back({"dot_width", "kernel != 'dot' || width <= problem.n", "more rows of the weights than there are"});
  return SearchSpace::product(std::move(parameters), std::move(rules));
}

Config gemm_start(const GemmShape& shape, const DeviceInfo& device) {
  if (shape.packed) return packed_start(shape, device);
  const VectorUnit unit = VectorUnit::of(device);
  const bool along_k = !shape.trans_a && !shape.b_is_kn;
  const bool amx = has_amx(shape, device) && shape.m > 1 && (shape.b_is_kn ? shape.m : shape.n) >= kPanel;
  if (along_k && shape.m < kTileMLeast && !amx) {
    // Rows of x in a tile, and weights beside them: about 24 sums (12 with 16 registers).
    const int64_t rows = std::min<int64_t>(shape.m == 5 ? 3 : shape.m, unit.lanes == 16 ? 4 : 2);
    const int64_t width = rows == 3 || unit.lanes == 8 ? 4 : rows == 4 ? 6 : 8;
    std::vector<std::pair<std::string, Value>> values = {{"kernel", std::string("dot")},
                                                         {"rows", rows},
                                                         {"width", largest_fitting(width, shape.n)},
                                                         {"unroll", int64_t{1}},
                                                         {"prefetch", int64_t{128}},
                                                         {"threads", start_threads(shape, device)}};
    if (has_pairs(shape, device)) values.emplace_back("pairs", int64_t{1});
    return Config(std::move(values));
  }
  const bool many = shape.m > kManyPanels * kPanel;
  const bool across_m = !shape.b_is_kn && (!many || shape.trans_a);
  const int64_t extent = across_m ? shape.m : shape.n, height = across_m ? shape.n : shape.m;
  int64_t width = best_width(extent, unit), rows = largest_fitting(best_rows(width, unit), height);
  if (amx) {
    width = extent > kPanel ? 2 : 1;
    rows = largest_fitting(width == 2 ? 2 : 3, height / kPanel);
  }
  const bool needs_no_copy = shape.in == DType::fp32 || amx;
  std::vector<std::pair<std::string, Value>> values = {
      {"kernel", std::string(across_m ? "tile_m" : "tile_n")},
      {"rows", rows},
      {"width", width},
      {"prefetch", int64_t{0}},
      {"k_block", int64_t{many && shape.k > 256 ? 256 : 0}},
      {"panel_block", int64_t{0}},
      {"order", std::string(many && needs_no_copy && extent > kPanel * 4 ? "panels" : "rows")},
      {"copy", int64_t{!needs_no_copy}},
      {"threads", start_threads(shape, device)},
      {"split_k", int64_t{1}},
  };
  if (has_amx(shape, device)) values.emplace_back("engine", std::string(amx ? "amx" : "vectors"));
  return Config(std::move(values));
}

bool is_dot(const Config& config) { return config.text("kernel") == "dot"; }

DotSpec dot_spec(const GemmShape& shape, const Config& config, const DeviceInfo& device) {
  return {.unit = VectorUnit::of(device),
          .in = shape.in,
          .out = shape.out,
          .act = shape.epilogue.act,
          .rows = static_cast<int>(config.integer("rows")),
          .columns = static_cast<int>(config.integer("width")),
          .unroll = static_cast<int>(config.integer("unroll")),
          .prefetch = static_cast<int>(config.integer("prefetch")),
          .pairs = config.has("pairs") && config.integer("pairs") != 0};
}

TileLoops tile_loops(const GemmShape& shape, const Config& config, const DeviceInfo& device) {
  TileLoops loops;
  const bool amx = config.has("engine") && config.text("engine") == "amx";
  const bool packed = config.has(kLayoutParameter);
  loops.spec = {.unit = VectorUnit::of(device),
                .engine = amx ? Engine::amx : Engine::vectors,
                .across = config.text("kernel") == "tile_m" ? Across::m : Across::n,
                .panel = packed && !amx ? shape.in : DType::fp32,
                .out = shape.out,
                .act = shape.epilogue.act,
                .rows = static_cast<int>(config.integer("rows")),
                .vectors = static_cast<int>(config.integer("width")),
                .unroll = kTileUnroll,
                .prefetch = static_cast<int>(config.integer("prefetch"))};
  loops.k_block = config.integer("k_block");
  loops.panel_block = config.integer("panel_block");
  loops.order = config.text("order") == "rows" ? Order::rows : Order::panels;
  loops.copy = config.integer("copy") != 0;
  loops.packed = packed;
  loops.threads = static_cast<int>(config.integer("threads"));
  // Threads divide the operand with more pieces.
  const int64_t height = loops.spec.across == Across::m ? shape.n : shape.m;
  const int64_t extent = loops.spec.across == Across::m ? shape.m : shape.n;
  const int64_t tiles = height / loops.spec.tile_rows(), groups = extent / loops.spec.tile_columns();
  if (config.integer("split_k") > 1)
    loops.split = Split::k;
  else
    loops.split = tiles >= groups ? Split::rows : Split::panels;
  return loops;
}

std::vector<CompileTask> gemm_tasks(const GemmShape& shape, const Config& config, const DeviceInfo& device) {
  const CompileTask pack = pack_task(VectorUnit::of(device), shape.in);
  if (is_dot(config)) return {dot_task(dot_spec(shape, config, device)), pack};
  const TileSpec spec = tile_loops(shape, config, device).spec;
  return {spec.engine == Engine::amx ? amx_task(spec) : tile_task(spec), pack};
}

}  // namespace attune::jit_cpu
