// SPDX-License-Identifier: MIT
#include "solvers/triton/gemm_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/cuda/cuda_info.h"

namespace attune::triton {
namespace {

constexpr int64_t kMaxRegisters = 128;            // For sums, and for operands: beyond, kernels spill (measured).
constexpr int64_t kSharedBytesOfCuda = 99 << 10;  // Of the smallest GPU since 8.0, if the device does not report it.
constexpr int64_t kSharedBytesOfAmd = 64 << 10;
constexpr int64_t kLeastOfWarp = 16 * 16;       // Elements of C.
constexpr int64_t kManyTiles = 2;               // Per multiprocessor: then parts of K only cost.
constexpr int64_t kManyParts = 8;               // Programs per multiprocessor that parts may make.
constexpr int64_t kMaxPrograms = 1 << 30;       // Kernels count them in 32 bits.
constexpr int64_t kMaxSumBytes = 64 << 20;      // Of the parts' sums; each stream of a plan has its own.
constexpr int kCapabilityOfGroupProducts = 90;  // The first whose products of four warps read shared memory.
constexpr const char* kTiles = "ceil_div(problem.m, BLOCK_SIZE_M) * ceil_div(problem.n, BLOCK_SIZE_N)";

int64_t shared_bytes_of(const DeviceInfo& device) {
  const auto found = device.facts.find("shared_bytes");
  if (found != device.facts.end() && found->second > 0) return found->second;
  return is_amd(device) ? kSharedBytesOfAmd : kSharedBytesOfCuda;
}

/// No rule has one threshold for all configs: the limits of padding, groups and parts lie elsewhere for long steps,
/// wide tiles and many warps. So few configs come or go between neighbouring sizes, and the sets of those differ
/// little.
std::vector<Rule> attune_rules(const GemmShape& shape, const DeviceInfo& device) {
  const auto bytes = static_cast<int64_t>(bits(shape.in)) / 8;
  const int64_t units = std::max<int64_t>(device.num_units, 1), warp = is_amd(device) ? 64 : 32;
  const bool has_group_products =
      !is_amd(device) && bytes == 2 && compute_capability(device.gfx) >= kCapabilityOfGroupProducts;
  // Triton keeps a stage more where the products read shared memory.
  const std::string stages =
      has_group_products ? "max(1, num_stages - 1 + (BLOCK_SIZE_M >= 64 && num_warps >= 4))" : "max(1, num_stages - 1)";
  const std::string amount =
      std::string("256 + BLOCK_SIZE_K + 4 * num_warps") + (is_amd(device) ? " + 2 * matrix_instr_nonkdim" : "");
  std::vector<Rule> rules = {
      {"rows", fmt::format("BLOCK_SIZE_M == 16 || BLOCK_SIZE_M * ({} + BLOCK_SIZE_N / 8) < 1024 * problem.m", amount),
       "half of the tile's rows or more would be padding, or three quarters in a short step"},
      {"columns",
       fmt::format("BLOCK_SIZE_N == 16 || BLOCK_SIZE_N * ({} + BLOCK_SIZE_M / 8) < 1024 * problem.n", amount),
       "half of the tile's columns or more would be padding, or three quarters in a short step"},
      {"depth", "BLOCK_SIZE_K == 16 || BLOCK_SIZE_K * (256 + BLOCK_SIZE_N) < 1024 * problem.k",
       "half of a step of K or more would be padding, or three quarters of a narrow tile's"},
      {"warps", fmt::format("BLOCK_SIZE_M * BLOCK_SIZE_N >= {} * num_warps", kLeastOfWarp),
       "a warp would compute less than 16×16 elements of C"},
      {"sums", fmt::format("BLOCK_SIZE_M * BLOCK_SIZE_N <= {} * num_warps", kMaxRegisters * warp),
       "the sums do not fit into 128 registers of a thread"},
      {"operands",
       fmt::format("(BLOCK_SIZE_M + BLOCK_SIZE_N) * BLOCK_SIZE_K * {} <= {} * num_warps", bytes,
                   kMaxRegisters * warp * 4),
       "a step of the operands does not fit into 128 registers of a thread"},
      {"shared",
       fmt::format("{} * (BLOCK_SIZE_M + BLOCK_SIZE_N) * BLOCK_SIZE_K * {} <= {}", stages, bytes,
                   shared_bytes_of(device)),
       "the stages do not fit into a block's shared memory"},
      {"stages", "num_stages <= 2 || (num_stages - 1) * BLOCK_SIZE_K * SPLIT_K <= problem.k", "stages would be empty"},
      {"group", "GROUP_SIZE_M == 1 || GROUP_SIZE_M * BLOCK_SIZE_M * (512 + BLOCK_SIZE_N) < 1024 * problem.m",
       "there are too few rows of tiles"},
      {"parts",
       fmt::format("SPLIT_K == 1 || (problem.k >= (64 + BLOCK_SIZE_K) * SPLIT_K && {} < {} && {} * SPLIT_K < {})",
                   kTiles, kManyTiles * units, kTiles, kManyParts * units),
       "the tiles are enough for the GPU, or the parts of K would be too short or too many"},
      {"part_sums", fmt::format("SPLIT_K == 1 || SPLIT_K * problem.m * problem.n <= {}", kMaxSumBytes / 4),
       "the sums of the parts take more than 64 MiB"},
      {"work",
       fmt::format(
           "(BLOCK_SIZE_M == 16 && BLOCK_SIZE_N == 16) || {} * SPLIT_K * 8 >= min({}, ceil_div(problem.m, 16) * "
           "ceil_div(problem.n, 16))",
           kTiles, units),
       "most multiprocessors would have nothing to do"}};
  if (is_amd(device))
    rules.push_back({"instruction",
                     "matrix_instr_nonkdim == 16 || (BLOCK_SIZE_M >= matrix_instr_nonkdim && BLOCK_SIZE_N >= "
                     "matrix_instr_nonkdim)",
                     "the tile is smaller than the matrix instruction's"});
  return rules;
}

/// The rules of the script in the words of its code (ROCm/triton, tune_gemm.py, 3.4). On NVIDIA GPUs, for which it was
/// not written, its instructions have 16 rows.
std::vector<Rule> script_rules(const GemmShape& shape, const DeviceInfo& device) {
  const auto bytes = static_cast<int64_t>(bits(shape.in)) / 8;
  const int64_t shared = shared_bytes_of(device);
  const std::string rows = is_amd(device) ? "matrix_instr_nonkdim" : "16";
  const std::string is_small = "problem.m < 2048 || problem.n < 2048 || ";
  std::vector<Rule> rules;
  if (is_amd(device))
    rules.push_back({"instruction", "matrix_instr_nonkdim <= 16 || (problem.m >= 32 && problem.n >= 32)",
                     "fewer rows or columns than the matrix instruction's"});
  for (Rule& rule : std::vector<Rule>{
           {"tile", fmt::format("BLOCK_SIZE_M >= {0} && BLOCK_SIZE_N >= {0}", rows),
            "the tile is smaller than the matrix instruction's"},
           {"few_rows", fmt::format("problem.m > {0} || BLOCK_SIZE_M == {0}", rows),
            "one instruction has all rows, so the tile has as many"},
           {"few_columns", fmt::format("problem.n > {0} || BLOCK_SIZE_N == {0}", rows),
            "one instruction has all columns, so the tile has as many"},
           {"rows", "BLOCK_SIZE_M == 16 || BLOCK_SIZE_M <= 2 * problem.m", "more than half of the rows are padding"},
           {"columns", "BLOCK_SIZE_N == 16 || BLOCK_SIZE_N <= 2 * problem.n",
            "more than half of the columns are padding"},
           {"parts", "SPLIT_K == 1 || ((problem.m < 64 || problem.n < 64) && problem.k > 1024)",
            "there are 64 rows and columns or more, or K is short"},
           {"whole_parts", "SPLIT_K == 1 || problem.k % (SPLIT_K * BLOCK_SIZE_K) == 0",
            "the parts of K are not whole steps"},
           {"group", "GROUP_SIZE_M == 1 || GROUP_SIZE_M * BLOCK_SIZE_M <= problem.m", "there are fewer rows of tiles"},
           {"shared",
            fmt::format("num_stages <= 1 && max(BLOCK_SIZE_M, BLOCK_SIZE_N) * BLOCK_SIZE_K * {0} <= {1} || num_stages "
                        "> 1 && (num_stages - 1) * (BLOCK_SIZE_M + BLOCK_SIZE_N) * BLOCK_SIZE_K * {0} <= {1}",
                        bytes, shared),
            "the stages do not fit into a block's shared memory, as the script counts it"},
           {"large", is_small + "BLOCK_SIZE_M >= 64 && BLOCK_SIZE_N >= 64 && BLOCK_SIZE_K >= 64 && num_warps >= 4",
            "the product is large, and the tile is small or has few warps"},
           {"whole_tiles", is_small + "problem.m % BLOCK_SIZE_M == 0 && problem.n % BLOCK_SIZE_N == 0",
            "the product is large, and tiles at its edges would be padded"}})
    rules.push_back(std::move(rule));
  return rules;
}

/// The script's version 2 had these as well.
std::vector<Rule> script_v2_rules(const GemmShape& shape, const DeviceInfo& device) {
  std::vector<Rule> rules = script_rules(shape, device);
  rules.push_back({"v2_shared", "2 * (BLOCK_SIZE_M + BLOCK_SIZE_N) * BLOCK_SIZE_K <= 65536",
                   "a step of the operands takes more than 64 KiB"});
  rules.push_back({"v2_step", "BLOCK_SIZE_K != 128 || (BLOCK_SIZE_M != 128 && BLOCK_SIZE_N != 128)",
                   "the tile and the step both have 128"});
  return rules;
}

}  // namespace

std::vector<Rule> launch_rules() {
  return {{"programs", fmt::format("{} * SPLIT_K <= {}", kTiles, kMaxPrograms), "a launch has at most 2^30 programs"}};
}

std::vector<RuleSet> rule_sets_of(const GemmShape& shape, const DeviceInfo& device) {
  return {{std::string(kAttuneRules), attune_rules(shape, device)},
          {std::string(kScriptRules), script_rules(shape, device)},
          {std::string(kScriptV2Rules), script_v2_rules(shape, device)}};
}

}  // namespace attune::triton
