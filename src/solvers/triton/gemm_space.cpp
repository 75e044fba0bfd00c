// SPDX-License-Identifier: MIT
#include "solvers/triton/gemm_space.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "device/cuda/cuda_info.h"
#include "search/strategy/space_rules.h"

namespace attune::triton {
namespace {

constexpr int64_t kWarp = 32;
constexpr int64_t kMaxRegisters = 128;             // For sums, and for operands: beyond, kernels spill (measured).
constexpr int64_t kDefaultSharedBytes = 99 << 10;  // Of the smallest GPU since 8.0, if the device does not report it.
constexpr int64_t kLeastOfWarp = 16 * 16;          // Elements of C.
constexpr int64_t kLeastPart = 128;                // Elements of K.
constexpr int64_t kManyTiles = 2;                  // Per multiprocessor: then parts of K only cost.
constexpr int64_t kManyParts = 8;                  // Programs per multiprocessor that parts may make.
constexpr int64_t kMaxPrograms = 1 << 30;          // Kernels count them in 32 bits.
constexpr int64_t kMaxSumBytes = 64 << 20;         // Of the parts' sums; each stream of a plan has its own.
constexpr int kCapabilityOfGroupProducts = 90;     // The first whose products of four warps read shared memory.

struct Number {
  const char* name;
  int64_t GemmConfig::*member;
  Binding binding;
  std::vector<Value> values;
};

std::vector<Value> numbers(std::initializer_list<int64_t> values) { return {values.begin(), values.end()}; }

/// In the order of the script.
const std::vector<Number>& parameters() {
  const auto compile_time = Binding::compile_time, launch_time = Binding::launch_time;
  static const std::vector<Number>& all = *new std::vector<Number>{
      {"BLOCK_SIZE_M", &GemmConfig::block_m, compile_time, numbers({16, 32, 64, 128, 256})},
      {"BLOCK_SIZE_N", &GemmConfig::block_n, compile_time, numbers({16, 32, 64, 128, 256})},
      {"BLOCK_SIZE_K", &GemmConfig::block_k, compile_time, numbers({16, 32, 64, 128, 256})},
      {"GROUP_SIZE_M", &GemmConfig::group_m, launch_time, numbers({1, 2, 4, 8, 16, 32})},
      {"SPLIT_K", &GemmConfig::split_k, launch_time, numbers({1, 2, 4, 5, 6, 8, 10, 12, 16, 18, 24})},
      {"num_warps", &GemmConfig::num_warps, compile_time, numbers({1, 2, 4, 8})},
      {"num_stages", &GemmConfig::num_stages, compile_time, numbers({1, 2, 3, 4, 5})}};
  return all;
}

int64_t shared_bytes_of(const DeviceInfo& device) {
  const auto found = device.facts.find("shared_bytes");
  return found != device.facts.end() && found->second > 0 ? found->second : kDefaultSharedBytes;
}

int64_t num_units(const DeviceInfo& device) { return std::max<int64_t>(device.num_units, 1); }

std::vector<Rule> rules_of(const GemmShape& shape, const DeviceInfo& device) {
  const auto bytes = static_cast<int64_t>(bits(shape.in)) / 8;
  const int64_t units = num_units(device);
  const bool has_group_products = bytes == 2 && compute_capability(device.gfx) >= kCapabilityOfGroupProducts;
  const std::string tiles = "ceil_div(problem.m, BLOCK_SIZE_M) * ceil_div(problem.n, BLOCK_SIZE_N)";
  // Triton keeps a stage more where the products read shared memory.
  const std::string stages =
      has_group_products ? "max(1, num_stages - 1 + (BLOCK_SIZE_M >= 64 && num_warps >= 4))" : "max(1, num_stages - 1)";
  return {
      {"rows", "BLOCK_SIZE_M == 16 || BLOCK_SIZE_M < 2 * problem.m",
       "half of the tile's rows or more would be padding"},
      {"columns", "BLOCK_SIZE_N == 16 || BLOCK_SIZE_N < 2 * problem.n",
       "half of the tile's columns or more would be padding"},
      {"depth", "BLOCK_SIZE_K == 16 || BLOCK_SIZE_K < 2 * problem.k", "half of a step of K or more would be padding"},
      {"warps", fmt::format("BLOCK_SIZE_M * BLOCK_SIZE_N >= {} * num_warps", kLeastOfWarp),
       "a warp would compute less than 16×16 elements of C"},
      {"sums", fmt::format("BLOCK_SIZE_M * BLOCK_SIZE_N <= {} * num_warps", kMaxRegisters * kWarp),
       "the sums do not fit into 128 registers of a thread"},
      {"operands",
       fmt::format("(BLOCK_SIZE_M + BLOCK_SIZE_N) * BLOCK_SIZE_K * {} <= {} * num_warps", bytes,
                   kMaxRegisters * kWarp * 4),
       "a step of the operands does not fit into 128 registers of a thread"},
      {"shared",
       fmt::format("{} * (BLOCK_SIZE_M + BLOCK_SIZE_N) * BLOCK_SIZE_K * {} <= {}", stages, bytes,
                   shared_bytes_of(device)),
       "the stages do not fit into a block's shared memory"},
      {"stages", "num_stages <= 2 || (num_stages - 1) * BLOCK_SIZE_K * SPLIT_K < problem.k", "stages would be empty"},
      {"group", "GROUP_SIZE_M <= ceil_div(problem.m, BLOCK_SIZE_M)", "there are fewer rows of tiles"},
      {"parts",
       fmt::format("SPLIT_K == 1 || (problem.k >= {} * SPLIT_K && {} < {} && {} * SPLIT_K < {})", kLeastPart, tiles,
                   kManyTiles * units, tiles, kManyParts * units),
       "the tiles are enough for the GPU, or the parts of K would be too short or too many"},
      {"part_sums", fmt::format("SPLIT_K == 1 || SPLIT_K * problem.m * problem.n <= {}", kMaxSumBytes / 4),
       "the sums of the parts take more than 64 MiB"},
      {"work",
       fmt::format(
           "(BLOCK_SIZE_M == 16 && BLOCK_SIZE_N == 16) || {} * SPLIT_K * 8 >= min({}, ceil_div(problem.m, 16) * "
           "ceil_div(problem.n, 16))",
           tiles, units),
       "most multiprocessors would have nothing to do"},
      {"programs", fmt::format("{} * SPLIT_K <= {}", tiles, kMaxPrograms), "a launch has at most 2^30 programs"},
  };
}

/// Collects configs that the rules allow, each once.
class Starts {
 public:
  Starts(const Problem& problem, const DeviceInfo& device)
      : shape_(GemmShape::of(problem)),
        units_(num_units(device)),
        space_(gemm_space(shape_, device)),
        rules_(space_, problem, device) {}

  /// With as many rows of tiles in a group as there are, and the first number of parts that gives every multiprocessor
  /// a program, or the last one allowed.
  void add(GemmConfig config) {
    while (config.num_stages > 2 && !is_allowed(config)) --config.num_stages;
    for (const int64_t group : {8, 4, 2, 1}) {
      config.group_m = group;
      if (group <= num_pieces(shape_.m, config.block_m)) break;
    }
    const GemmConfig whole = config;
    if (!is_allowed(whole)) return;
    for (const int64_t parts : {2, 4, 8, 16}) {
      if (num_pieces(shape_.m, config.block_m) * num_pieces(shape_.n, config.block_n) * config.split_k >= units_) break;
      GemmConfig more = config;
      more.split_k = parts;
      if (is_allowed(more)) config = more;
    }
    if (const Config text = config.text(); std::ranges::find(found_, text) == found_.end()) found_.push_back(text);
  }
  std::vector<Config> take() { return std::move(found_); }

 private:
  bool is_allowed(const GemmConfig& config) const {
    const auto index = space_.index_of(config.text());
    return index && rules_.rejects(*index) == nullptr;
  }

  GemmShape shape_;
  int64_t units_;
  SearchSpace space_;
  SpaceRules rules_;
  std::vector<Config> found_;
};

}  // namespace

GemmConfig GemmConfig::of(const Config& config) {
  GemmConfig one;
  for (const Number& number : parameters()) {
    one.*number.member = config.integer(number.name);
    if (one.*number.member < 1)
      fail(ErrorCode::invalid_input, "{} must be 1 or more, got {}", number.name, one.*number.member);
  }
  return one;
}

Config GemmConfig::text() const {
  std::vector<std::pair<std::string, Value>> values;
  for (const Number& number : parameters()) values.emplace_back(number.name, this->*number.member);
  return Config(std::move(values));
}

Division::Division(const GemmShape& shape, const GemmConfig& config)
    : num_tiles(num_pieces(shape.m, config.block_m) * num_pieces(shape.n, config.block_n)),
      part_length(num_pieces(num_pieces(shape.k, config.block_k), config.split_k) * config.block_k),
      num_parts(num_pieces(shape.k, part_length)),
      masks_k(shape.k % config.block_k != 0) {}

SearchSpace gemm_space(const GemmShape& shape, const DeviceInfo& device) {
  std::vector<Parameter> all;
  for (const Number& number : parameters())
    all.push_back({.name = number.name, .values = number.values, .binding = number.binding});
  return SearchSpace::product(std::move(all), rules_of(shape, device));
}

std::vector<Config> gemm_starts(const Problem& problem, const DeviceInfo& device) {
  const auto shape = GemmShape::of(problem);
  Starts starts(problem, device);
  const auto add = [&](int64_t m, int64_t n, int64_t k, int64_t warps, int64_t stages) {
    starts.add({.block_m = m, .block_n = n, .block_k = k, .num_warps = warps, .num_stages = stages});
  };
  if (shape.in == DType::fp32) {
    if (shape.m > 32) add(64, 64, 32, 8, 3);
    if (shape.m > 16) add(32, 64, 32, 4, 3);
    add(16, 64, 32, 4, 4);
  } else {
    if (shape.m > 64) add(128, 256, 64, 8, 3);
    if (shape.m > 64) add(128, 128, 64, 4, 4);
    if (shape.m > 32) add(64, 256, 64, 4, 4);
    if (shape.m > 32) add(64, 128, 64, 4, 4);
    if (shape.m > 32) add(64, 64, 128, 4, 4);
    if (shape.m > 16) add(32, 64, 128, 4, 4);
    add(16, 64, 128, 4, 4);
    add(16, 32, 256, 4, 3);
    add(16, 128, 64, 4, 5);
  }
  add(16, 16, 32, 1, 3);
  add(16, 16, 16, 1, 1);  // For what is too small for all others.
  return starts.take();
}

}  // namespace attune::triton
