// SPDX-License-Identifier: MIT
#include "cublaslt_algorithms.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "tensor/all_cores.h"

namespace attune {
namespace {

/// An attribute of an algorithm: its name in a config, and how the library holds it.
struct AttributeName {
  const char* name;
  cublasLtMatmulAlgoConfigAttributes_t attribute;
  size_t bytes;
};
constexpr AttributeName kTile{"tile", CUBLASLT_ALGO_CONFIG_TILE_ID, 4},
    kStages{"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, 4}, kSplitK{"splitk", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4},
    kReduction{"reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4},
    kSwizzle{"swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4},
    kCustom{"custom", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4}, kInner{"inner", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2},
    kCluster{"cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2};
constexpr std::array kSettable = {kTile, kStages, kSplitK, kReduction, kSwizzle, kCustom, kInner, kCluster};

constexpr std::array<uint32_t, 10> kSplits = {2, 3, 4, 5, 6, 8, 12, 16, 24, 32};
constexpr uint32_t kPromisedAlignment = 16;
constexpr int kMaxIds = 1024;
/// Of tile, stages and custom option. Of an algorithm with more, which has half a million and has accepted none yet
/// (13.1 on an H200), evenly spaced ones are tried, and none if a few of them are all refused.
constexpr uint64_t kMaxCombinations = 8192, kFewCombinations = 256;
/// Parts take from 1 µs to milliseconds.
constexpr int64_t kPartsAtOnce = 4;
constexpr cudaDataType_t kScale = CUDA_R_32F;

/// Calls one(i) for each i below `count`, on all cores.
using ForEach = std::function<void(size_t count, const std::function<void(size_t)>& one)>;

/// Enumerates what the library accepts, one attribute after another. The library's check computes on the host, and
/// different threads may ask it at the same time.
class Enumeration {
  using Found = std::vector<cublasLtMatmulAlgo_t>;

 public:
  Enumeration(const CublasltLibrary& library, cublasLtHandle_t handle, const CublasltMatmul& matmul)
      : library_(library), handle_(handle), matmul_(matmul) {}

  std::vector<cublasLtMatmulAlgo_t> run(const ForEach& for_each) const {
    std::array<int, kMaxIds> ids{};
    int count = 0;
    library_.check(library_.cublasLtMatmulAlgoGetIds(handle_, matmul_.compute_type(), kScale, matmul_.input_type(),
                                                     matmul_.input_type(), matmul_.output_type(), matmul_.output_type(),
                                                     kMaxIds, ids.data(), &count),
                   "list its algorithms");
    std::vector<Choices> all;
    for (int i = 0; i < count; ++i) {
      if (auto choices = choices_of(ids[static_cast<size_t>(i)])) all.push_back(std::move(*choices));
    }
    // Each part begins without knowledge of others, so the list does not depend on the number of cores.
    std::vector<Part> parts;
    for (const Choices& one : all) add_parts(one, std::min(one.combinations(), kFewCombinations), parts);
    for_each(parts.size(), [&](size_t i) { find(parts[i]); });
    std::vector<Part> more;
    for (const Choices& one : all) {
      const bool is_sampled = one.combinations() > kMaxCombinations;
      const bool has_any =
          std::ranges::any_of(parts, [&](const Part& part) { return part.choices == &one && !part.found.empty(); });
      if (is_sampled && has_any) add_parts(one, kMaxCombinations, more);
    }
    for_each(more.size(), [&](size_t i) { find(more[i]); });
    std::vector<cublasLtMatmulAlgo_t> found;
    for (const auto* some : {&parts, &more}) {
      for (const Part& part : *some) found.insert(found.end(), part.found.begin(), part.found.end());
    }
    return found;
  }

 private:
  template <typename Number>
  Number capability(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoCapAttributes_t name) const {
    Number value = 0;
    size_t written = 0;
    library_.cublasLtMatmulAlgoCapGetAttribute(&algorithm, name, &value, sizeof value, &written);
    return value;
  }
  /// A list of ids; one 0, which stands for undefined, where the algorithm has no choice.
  std::vector<uint32_t> listed(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoCapAttributes_t name) const {
    size_t bytes = 0;
    library_.cublasLtMatmulAlgoCapGetAttribute(&algorithm, name, nullptr, 0, &bytes);
    std::vector<uint32_t> values(bytes / sizeof(uint32_t));
    if (!values.empty()) library_.cublasLtMatmulAlgoCapGetAttribute(&algorithm, name, values.data(), bytes, &bytes);
    if (values.empty()) values.push_back(0);
    return values;
  }
  void set(cublasLtMatmulAlgo_t& algorithm, const AttributeName& attribute, uint32_t value) const {
    library_.cublasLtMatmulAlgoConfigSetAttribute(&algorithm, attribute.attribute, &value, attribute.bytes);
  }
  bool accepts(const cublasLtMatmulAlgo_t& algorithm) const {
    return matmul_.workspace_of(handle_, algorithm).has_value();
  }

  /// An algorithm and what can be chosen for it.
  struct Choices {
    cublasLtMatmulAlgo_t algorithm{};
    std::vector<uint32_t> tiles, stages;
    uint32_t max_custom = 0;
    uint64_t combinations() const { return tiles.size() * stages.size() * (max_custom + uint64_t{1}); }
  };
  /// Combinations that one call looks at: all custom options of one tile and number of stages, or a single one.
  struct Part {
    const Choices* choices;
    uint64_t begin, end;
    Found found{};
  };

  std::optional<Choices> choices_of(int id) const {
    Choices choices;
    cublasLtMatmulAlgo_t& algorithm = choices.algorithm;
    const cublasStatus_t status = library_.cublasLtMatmulAlgoInit(
        handle_, matmul_.compute_type(), kScale, matmul_.input_type(), matmul_.input_type(), matmul_.output_type(),
        matmul_.output_type(), id, &algorithm);
    if (status != CUBLAS_STATUS_SUCCESS) return std::nullopt;
    for (const auto operand : {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES,
                               CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES}) {
      if (capability<uint32_t>(algorithm, operand) > kPromisedAlignment) return std::nullopt;
    }
    choices.max_custom =
        static_cast<uint32_t>(std::max(0, capability<int32_t>(algorithm, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX)));
    choices.tiles = listed(algorithm, CUBLASLT_ALGO_CAP_TILE_IDS);
    choices.stages = listed(algorithm, CUBLASLT_ALGO_CAP_STAGES_IDS);
    return choices;
  }

  /// Adds parts with all combinations, or with `count` evenly spaced ones of more than kMaxCombinations.
  static void add_parts(const Choices& choices, uint64_t count, std::vector<Part>& parts) {
    const uint64_t combinations = choices.combinations(), options = choices.max_custom + uint64_t{1};
    if (combinations <= kMaxCombinations) {
      for (uint64_t begin = 0; begin < combinations; begin += options)
        parts.push_back({&choices, begin, begin + options});
    } else {
      for (uint64_t i = 0; i < count; ++i) {
        const uint64_t index = i * combinations / count;
        parts.push_back({&choices, index, index + 1});
      }
    }
  }

  void find(Part& part) const {
    const Choices& choices = *part.choices;
    const uint64_t options = choices.max_custom + uint64_t{1};
    cublasLtMatmulAlgo_t algorithm = choices.algorithm;
    std::vector<uint32_t> accepted;  // The clusters of the combinations before.
    for (uint64_t index = part.begin; index < part.end; ++index) {
      const uint64_t of_tile = index / options;
      set(algorithm, kTile, choices.tiles[of_tile / choices.stages.size()]);
      set(algorithm, kStages, choices.stages[of_tile % choices.stages.size()]);
      set(algorithm, kCustom, static_cast<uint32_t>(index % options));
      add_clusters(algorithm, accepted, part.found);
    }
  }

  /// The library's check accepts any value of an attribute that an algorithm does not read. Such names of one kernel
  /// are recognised by a value that no algorithm has.
  bool reads(cublasLtMatmulAlgo_t algorithm, const AttributeName& attribute) const {
    constexpr uint32_t kNoValue = 0x7fff;
    set(algorithm, attribute, kNoValue);
    return !accepts(algorithm);
  }

  /// `accepted`: the clusters that are accepted whatever the custom option is (13.1 on an H200: those of the first
  /// option are those of all); none: not known yet, and set here.
  void add_clusters(cublasLtMatmulAlgo_t algorithm, std::vector<uint32_t>& accepted, Found& found) const {
    set(algorithm, kCluster, CUBLASLT_CLUSTER_SHAPE_AUTO);
    if (accepts(algorithm)) {
      add_splits(algorithm, found);
      if (!reads(algorithm, kCluster)) return;
    }
    std::vector<uint32_t> tried = accepted;
    if (tried.empty()) {
      tried.resize(CUBLASLT_CLUSTER_SHAPE_END - CUBLASLT_CLUSTER_SHAPE_1x1x1);
      std::iota(tried.begin(), tried.end(), uint32_t{CUBLASLT_CLUSTER_SHAPE_1x1x1});
    }
    accepted.clear();
    for (const uint32_t cluster : tried) {
      set(algorithm, kCluster, cluster);
      if (!accepts(algorithm)) continue;
      accepted.push_back(cluster);
      add_splits(algorithm, found);
    }
  }

  void add_splits(cublasLtMatmulAlgo_t algorithm, Found& found) const {
    const auto max_swizzle = capability<uint32_t>(algorithm, CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT);
    const auto schemes = capability<uint32_t>(algorithm, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK);
    const bool splits = capability<int32_t>(algorithm, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT) != 0;
    for (uint32_t swizzle = 0; swizzle <= max_swizzle; ++swizzle) {
      set(algorithm, kSwizzle, swizzle);
      add(algorithm, found);
      if (!splits) continue;
      for (const uint32_t parts : kSplits) {
        // The check accepts more parts than K has elements, and algorithm 66 then adds all of K once for each part.
        if (int64_t{parts} > matmul_.shape().k) break;
        cublasLtMatmulAlgo_t split = algorithm;
        set(split, kSplitK, parts);
        for (const uint32_t scheme : {CUBLASLT_REDUCTION_SCHEME_INPLACE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE,
                                      CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE}) {
          if ((schemes & scheme) == 0 || !matmul_.accepts_reduction(static_cast<cublasLtReductionScheme_t>(scheme)))
            continue;
          set(split, kReduction, scheme);
          add(split, found);
        }
      }
    }
  }
  void add(const cublasLtMatmulAlgo_t& algorithm, Found& found) const {
    if (accepts(algorithm)) found.push_back(algorithm);
  }

  const CublasltLibrary& library_;
  cublasLtHandle_t handle_;
  const CublasltMatmul& matmul_;
};

}  // namespace

const std::vector<std::string>& attribute_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"algo"};
    for (const AttributeName& one : kSettable) all.emplace_back(one.name);
    return all;
  }();
  return names;
}

std::vector<int64_t> attributes_of(const CublasltLibrary& library, const cublasLtMatmulAlgo_t& algorithm) {
  std::vector<int64_t> values;
  const auto add = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, size_t bytes) {
    uint32_t value = 0;
    size_t written = 0;
    library.check(library.cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, bytes, &written),
                  "describe an algorithm");
    values.push_back(value);
  };
  add(CUBLASLT_ALGO_CONFIG_ID, 4);
  for (const AttributeName& one : kSettable) add(one.attribute, one.bytes);
  return values;
}

Config config_of(const CublasltLibrary& library, const cublasLtMatmulAlgo_t& algorithm) {
  const auto numbers = attributes_of(library, algorithm);
  std::vector<std::pair<std::string, Value>> values;
  for (size_t i = 0; i < numbers.size(); ++i) values.emplace_back(attribute_names()[i], numbers[i]);
  return Config(std::move(values));
}

cublasLtMatmulAlgo_t algorithm_of(const CublasltLibrary& library, cublasLtHandle_t handle, const CublasltMatmul& matmul,
                                  const Config& config) {
  cublasLtMatmulAlgo_t algorithm{};
  library.check(library.cublasLtMatmulAlgoInit(handle, matmul.compute_type(), kScale, matmul.input_type(),
                                               matmul.input_type(), matmul.output_type(), matmul.output_type(),
                                               static_cast<int>(config.integer("algo")), &algorithm),
                "find an algorithm");
  for (const AttributeName& one : kSettable) {
    const auto value = static_cast<uint32_t>(config.integer(one.name));
    library.check(library.cublasLtMatmulAlgoConfigSetAttribute(&algorithm, one.attribute, &value, one.bytes),
                  "set an attribute of an algorithm");
  }
  return algorithm;
}

std::vector<cublasLtMatmulAlgo_t> algorithms(const CublasltLibrary& library, cublasLtHandle_t handle,
                                             const CublasltMatmul& matmul,
                                             const std::function<std::shared_ptr<void>()>& enter) {
  const auto for_each = [&](size_t count, const std::function<void(size_t)>& one) {
    const auto some = [&](int64_t begin, int64_t end) {
      const auto entered = enter();
      for (int64_t i = begin; i < end; ++i) one(static_cast<size_t>(i));
    };
    over_all_cores(static_cast<int64_t>(count), kPartsAtOnce, some, [] { return false; });
  };
  return Enumeration(library, handle, matmul).run(for_each);
}

}  // namespace attune
