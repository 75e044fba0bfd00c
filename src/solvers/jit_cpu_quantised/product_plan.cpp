// SPDX-License-Identifier: MIT
#include "solvers/jit_cpu_quantised/product_plan.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "solver/module/openmp_team.h"
#include "solvers/jit_cpu/workspace.h"
#include "tensor/narrow_float.h"

namespace attune::jit_cpu_quantised {
namespace {

using jit_cpu::at;
using jit_cpu::WorkspaceLayout;

/// Elements of K whose sum an int32 holds in any case, 2^14 each, in whole vectors.
constexpr int64_t kMaxPart = 131'008;
constexpr int64_t kMaxRows = 1024;          // Rows of a that are copied at a time; the sums of a chunk have as many.
constexpr int64_t kSumBytes = 64 * 1024;    // Sums of a dot kernel's chunk, which stay in the second cache.
constexpr int64_t kManyUnitsPerThread = 4;  // Columns are divided among the threads if each has so many units.

constexpr int kOffsetOfB = 12;  // Of doubled e2m1 in a panel.

/// Sums of the two doubled e2m1 of a byte.
constexpr std::array<int8_t, 256> kPairs = [] {
  constexpr std::array<int, 8> kDoubled = {0, 1, 2, 3, 4, 6, 8, 12};
  const auto value = [&](size_t code) { return (code & 8) != 0 ? -kDoubled[code & 7] : kDoubled[code & 7]; };
  std::array<int8_t, 256> sums{};
  for (size_t code = 0; code < sums.size(); ++code)
    sums[code] = static_cast<int8_t>(value(code & 15) + value(code >> 4));
  return sums;
}();

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// One thread of a team.
struct Member {
  int index, count;
  Range share(int64_t size) const { return {size * index / count, size * (index + 1) / count}; }
};

class ProductPlan final : public Plan {
 public:
  ProductPlan(const QuantisedGemm& shape, const ProductLoops& loops, ProductFunctions functions)
      : shape_(shape), where_(QuantisedOperands::of(shape)), loops_(loops), functions_(std::move(functions)) {
    const ProductSpec& spec = loops.spec;
    padded_k_ = ceil_div(shape.k, spec.step()) * spec.step();
    part_k_ = shape.in == DType::int8 ? kMaxPart : padded_k_;
    parts_ = ceil_div(shape.k, part_k_);
    row_bytes_ = ceil_div(shape.k * bits(shape.in), 8);
    packed_step_ = ceil_div(shape.k, kPackedK) * kPackedK / 8 * kPackedRow;
    rows_ = ceil_div(std::min(shape.m, kMaxRows), spec.rows) * spec.rows;
    k_block_ = std::min(loops.k_block > 0 ? loops.k_block : shape.k, part_k_);
    const int64_t tiles = kSumBytes / (4 * rows_ * spec.columns());
    chunk_ = spec.columns() * (spec.kernel != Kernel::dot ? 1 : std::clamp<int64_t>(tiles, 1, spec.unit.lanes()));
    panel_bytes_ = spec.kernel == Kernel::tile ? chunk_ * std::min(padded_k_, k_block_round()) * element_bytes() : 0;
    WorkspaceLayout space;
    a_ = space.add<std::byte>(rows_ * padded_k_ * element_bytes());
    excess_ = space.add<uint32_t>(rows_ * parts_);
    sums_ = space.add<int32_t>(loops.threads * rows_ * chunk_);
    if (parts_ > 1) wide_ = space.add<int64_t>(loops.threads * rows_ * chunk_);
    panels_ = space.add<std::byte>(loops.threads * panel_bytes_);
    if (spec.group != 0 && !is_dot()) {
      // pack_scales writes four groups at a time.
      groups_ = ceil_div(ceil_div(padded_k_, spec.group), 4) * 4;
      a_groups_ = space.add<float>(2 * rows_ * groups_);
      b_groups_ = space.add<float>(loops.threads * chunk_ * groups_);
    }
    traits_.workspace_bytes = space.bytes();
    // Sums are exact or run in one order, and each element is finished in the same way.
    traits_.states = Requirement::batch_invariant;
    traits_.host_bytes = sizeof *this;  // The loader opens a kernel's file once for any number of plans.
  }

  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    const Call call(*this, launch);
    if (loops_.threads > 1) {
      if (const OpenmpTeam team(loops_.threads); team.size() > 1) {
#pragma omp parallel num_threads(loops_.threads)
        work(call, {omp_get_thread_num(), omp_get_num_threads()});
        return;
      }
    }
    work(call, {0, 1});
  }

 private:
  /// The operands of one run.
  struct Call {
    const std::byte *a, *b, *a_scale, *b_scale;
    const std::byte* bias;
    std::byte* c;
    std::byte* workspace;
    Call(const ProductPlan& plan, const Launch& launch) {
      const auto operand = [&](size_t index) { return static_cast<std::byte*>(launch.operands[index]); };
      const QuantisedOperands& where = plan.where_;
      a = operand(where.a);
      b = operand(where.b);
      a_scale = operand(where.a_scale);
      b_scale = operand(where.b_scale);
      bias = plan.shape_.bias ? operand(where.bias) : nullptr;
      c = operand(where.c);
      workspace = static_cast<std::byte*>(launch.workspace);
    }
  };
  /// What a thread computes of the rows that are copied: columns, and whole blocks of rows.
  struct Task {
    int thread;
    int64_t first_row;  ///< Of the copied rows, in C.
    Range rows, columns;
  };

  int64_t element_bytes() const { return loops_.spec.element_bytes(); }
  int64_t k_block_round() const { return ceil_div(k_block_, loops_.spec.step()) * loops_.spec.step(); }
  int64_t bytes_of(int64_t elements) const { return elements * bits(shape_.in) / 8; }
  bool is_dot() const { return loops_.spec.kernel == Kernel::dot; }
  int32_t* sums(const Call& call, int thread) const {
    return at<int32_t>(call.workspace, sums_) + thread * rows_ * chunk_;
  }
  int64_t* wide(const Call& call, int thread) const {
    return parts_ > 1 ? at<int64_t>(call.workspace, wide_) + thread * rows_ * chunk_ : nullptr;
  }
  std::byte* panels(const Call& call, int thread) const {
    return at<std::byte>(call.workspace, panels_) + thread * panel_bytes_;
  }
  const uint32_t* excess(const Call& call, int64_t part) const {
    return at<uint32_t>(call.workspace, excess_) + part * rows_;
  }

  void work(const Call& call, Member member) const {
    const int64_t height = loops_.spec.rows, width = loops_.spec.columns();
    for (int64_t first = 0; first < shape_.m; first += rows_) {
      const int64_t rows = std::min(rows_, shape_.m - first);
      if (first > 0 && member.count > 1) {
#pragma omp barrier
      }
      const Range copied = member.share(rows);
      for (int64_t row = copied.begin; row < copied.end; ++row) copy(call, first, row);
      if (member.count > 1) {
#pragma omp barrier
      }
      const int64_t blocks = ceil_div(rows, height), units = ceil_div(shape_.n, width);
      const bool by_columns = units >= blocks || units >= kManyUnitsPerThread * member.count;
      const Range some = member.share(by_columns ? units : blocks);
      Task task{member.index, first, {0, rows}, {0, shape_.n}};
      if (by_columns)
        task.columns = {some.begin * width, std::min(some.end * width, shape_.n)};
      else
        task.rows = {some.begin * height, std::min(some.end * height, rows)};
      multiply(call, task);
    }
  }

  /// Copies a row of a into its block.
  void copy(const Call& call, int64_t first, int64_t row) const {
    const ProductSpec& spec = loops_.spec;
    const int64_t height = spec.rows, unit = is_dot() ? spec.step() : spec.in_lane();
    std::byte* to =
        at<std::byte>(call.workspace, a_) + (row / height * height * padded_k_ + row % height * unit) * element_bytes();
    auto* too_much = at<uint32_t>(call.workspace, excess_) + row;
    for (int64_t part = 0; part < parts_; ++part) {
      const int64_t k = part * part_k_;
      too_much[part * rows_] =
          functions_.copy_row(call.a + (first + row) * row_bytes_ + bytes_of(k), std::min(part_k_, shape_.k - k),
                              to + k * height * element_bytes(), height * unit);
    }
    if (spec.is_dot_of_e2m1())
      copy_scales(call, first + row, to);
    else if (spec.group != 0)
      copy_groups(call, first + row, row);
  }

  /// Copies the scales of a row of a to its vectors in a dot kernel's copy, where each 128 bits belong to a group.
  void copy_scales(const Call& call, int64_t from, std::byte* to) const {
    const ProductSpec& spec = loops_.spec;
    const int64_t existing = ceil_div(shape_.k, spec.group), of_vector = spec.unit.lanes() / 4,
                  vector = int64_t{16} * of_vector, step = int64_t{4} * vector * spec.rows;
    const auto* codes = reinterpret_cast<const uint8_t*>(call.a_scale) + from * existing;
    for (int64_t g = 0; g < padded_k_ / spec.group; ++g) {
      const float scale = g < existing ? decode_e8m0(codes[g]) / 4 : 0;  // Both operands are doubled.
      const std::array<float, 4> four = {scale, scale, scale, scale};
      std::memcpy(to + g / of_vector * step + 3 * vector + g % of_vector * 16, four.data(), sizeof four);
    }
  }

  /// Copies the scales of a row of a. For e2m1 a group's sums start at −12·Σa, since b's bytes have an offset.
  void copy_groups(const Call& call, int64_t from, int64_t row) const {
    const int64_t height = loops_.spec.rows, depth = loops_.spec.group, existing = ceil_div(shape_.k, depth);
    float* to = at<float>(call.workspace, a_groups_) + row / height * height * 2 * groups_ + row % height;
    for (int64_t g = 0; g < groups_; ++g, to += 2 * height) {
      to[0] = to[height] = 0;
      if (g >= existing) continue;
      if (shape_.scale == DType::fp32) {
        *to = reinterpret_cast<const float*>(call.a_scale)[from * existing + g];
        continue;
      }
      *to = decode_e8m0(static_cast<uint8_t>(call.a_scale[from * existing + g])) / 4;  // Both are doubled.
      const int64_t k = g * depth;
      const int start = start_of_sum(call.a + from * row_bytes_ + k / 2, std::min(depth, shape_.k - k));
      std::memcpy(to + height, &start, sizeof start);
    }
  }
  int start_of_sum(const std::byte* a, int64_t count) const {
    int sum = 0;
    for (int64_t i = 0; i < count / 2; ++i) sum += kPairs[static_cast<uint8_t>(a[i])];
    if (count % 2 != 0) sum += kPairs[static_cast<uint8_t>(a[count / 2]) & 15];
    return -kOffsetOfB * sum;
  }
  /// Writes the scales of a chunk of columns as vectors across columns.
  void pack_groups(const Call& call, int thread, int64_t first) const {
    const int64_t lanes = loops_.spec.unit.lanes(), depth = loops_.spec.group, existing = ceil_div(shape_.k, depth);
    float* panel = b_groups(call, thread);
    for (int64_t n = first; n < first + chunk_; n += lanes, panel += lanes * groups_) {
      const int64_t from = std::min(n, shape_.n - 1);
      if (shape_.scale != DType::fp32) {
        const PackScalesArguments pack{.scales = reinterpret_cast<const uint8_t*>(call.b_scale) + from * existing,
                                       .step = existing,
                                       .columns = std::min(lanes, shape_.n - from),
                                       .groups = existing,
                                       .panel = panel};
        functions_.pack_scales(&pack);
        continue;
      }
      // A block of 128 rows of b holds whole panels.
      const auto* scales = reinterpret_cast<const float*>(call.b_scale) + from / shape_.b_scales.rows * existing;
      for (int64_t g = 0; g < existing; ++g) std::fill_n(panel + g * lanes, lanes, scales[g]);
    }
  }
  float* b_groups(const Call& call, int thread) const {
    return at<float>(call.workspace, b_groups_) + thread * chunk_ * groups_;
  }

  void multiply(const Call& call, const Task& task) const {
    for (int64_t n = task.columns.begin; n < task.columns.end; n += chunk_) {
      const Range columns{n, std::min(n + chunk_, task.columns.end)};
      if (loops_.spec.group != 0 && !is_dot()) pack_groups(call, task.thread, n);
      for (int64_t part = 0; part < parts_; ++part) {
        const Range all{part * part_k_, std::min((part + 1) * part_k_, shape_.k)};
        for (int64_t k = all.begin; k < all.end; k += k_block_) {
          const Range block{k, std::min(k + k_block_, all.end)};
          if (loops_.spec.kernel == Kernel::stream)
            stream_panels(call, task, columns, block);
          else if (is_dot())
            multiply_in_place(call, task, columns, block, k > all.begin);
          else
            multiply_panels(call, task, columns, block, k > all.begin);
        }
        if (parts_ > 1) widen(call, task, part);
      }
      finish(call, task, columns);
    }
  }

  /// The arguments that all blocks of rows share.
  ProductArguments arguments(const Call& call, const Task& task, const Range& k, bool adds) const {
    ProductArguments to = {};
    to.k = k.size();
    to.is_short = shape_.k < loops_.spec.step();
    to.sums_step = chunk_;
    to.adds = adds;
    if (loops_.spec.group != 0 && !is_dot()) {
      to.b_groups = b_groups(call, task.thread) + k.begin / loops_.spec.group * loops_.spec.unit.lanes();
      to.b_groups_step = groups_ * loops_.spec.unit.lanes();
    }
    return to;
  }
  void multiply_rows(const Call& call, const Task& task, int64_t k, int64_t column, ProductArguments& to) const {
    const std::byte* a = at<const std::byte>(call.workspace, a_);
    for (int64_t row = task.rows.begin; row < task.rows.end; row += loops_.spec.rows) {
      to.a = a + (row * padded_k_ + k * loops_.spec.rows) * element_bytes();
      to.sums = sums(call, task.thread) + (row - task.rows.begin) * chunk_ + column;
      if (loops_.spec.group != 0 && !is_dot()) {
        const int64_t group = k / loops_.spec.group;
        to.a_groups = at<const float>(call.workspace, a_groups_) + 2 * (row * groups_ + group * loops_.spec.rows);
      }
      functions_.product(&to);
    }
  }

  void multiply_in_place(const Call& call, const Task& task, const Range& columns, const Range& k, bool adds) const {
    ProductArguments to = arguments(call, task, k, adds);
    to.b_step = row_bytes_;
    to.b_groups_step = loops_.spec.group != 0 ? ceil_div(shape_.k, loops_.spec.group) : 0;
    for (int64_t n = columns.begin; n < columns.end; n += loops_.spec.width) {
      to.b = call.b + n * row_bytes_ + bytes_of(k.begin);
      to.b_groups = call.b_scale + n * to.b_groups_step;
      to.columns = std::min<int64_t>(loops_.spec.width, shape_.n - n);
      multiply_rows(call, task, k.begin, n - columns.begin, to);
    }
  }

  /// Where a column's panel of packed b begins, at element k.
  const std::byte* packed_panel(const Call& call, int64_t column, int64_t k) const {
    return call.b + column / kPackedColumns * packed_step_ + k / 8 * kPackedRow;
  }

  /// Multiplies prepacked panels. Missing ones repeat the last one.
  void stream_panels(const Call& call, const Task& task, const Range& columns, const Range& k) const {
    const int64_t step = loops_.spec.step();
    ProductArguments to = arguments(call, task, k, false);
    to.k = ceil_div(to.k, step) * step;
    to.b = packed_panel(call, columns.begin, k.begin);
    to.b_step = packed_step_;
    to.columns = ceil_div(shape_.n - columns.begin, kPackedColumns);
    multiply_rows(call, task, k.begin, 0, to);
  }

  /// Panels of columns that do not exist repeat the last one.
  void multiply_panels(const Call& call, const Task& task, const Range& columns, const Range& k, bool adds) const {
    const int64_t lanes = loops_.spec.unit.lanes(), step = loops_.spec.step();
    ProductArguments to = arguments(call, task, k, adds);
    to.k = ceil_div(to.k, step) * step;
    to.b_step = to.k * lanes * element_bytes();
    std::byte* panel = panels(call, task.thread);
    to.b = panel;
    for (int64_t n = columns.begin; n < columns.begin + chunk_; n += lanes, panel += to.b_step) {
      const int64_t from = std::min(n, shape_.n - 1);
      const PackArguments pack{.b = loops_.spec.is_packed ? packed_panel(call, from, k.begin)
                                                          : call.b + from * row_bytes_ + bytes_of(k.begin),
                               .b_step = row_bytes_,
                               .columns = std::min(lanes, shape_.n - from),
                               .k = loops_.spec.is_packed ? to.k : k.size(),
                               .is_short = to.is_short,
                               .panel = panel};
      functions_.pack(&pack);
    }
    multiply_rows(call, task, k.begin, 0, to);
  }

  /// Adds the sums of a part of K to the exact ones.
  void widen(const Call& call, const Task& task, int64_t part) const {
    const int32_t* from = sums(call, task.thread);
    int64_t* to = wide(call, task.thread);
    for (int64_t row = 0; row < task.rows.size(); ++row) {
      const uint32_t too_much = excess(call, part)[task.rows.begin + row];
      for (int64_t i = row * chunk_; i < (row + 1) * chunk_; ++i) {
        const auto sum = static_cast<int32_t>(static_cast<uint32_t>(from[i]) - too_much);
        to[i] = part == 0 ? sum : to[i] + sum;
      }
    }
  }

  void finish(const Call& call, const Task& task, const Range& columns) const {
    const int64_t row = task.first_row + task.rows.begin, n = columns.begin, out_bytes = bits(shape_.out) / 8;
    const bool each_row = shape_.a_scales.rows != 0, each_column = shape_.b_scales.rows != 0;
    const FinishArguments arguments{.sums = sums(call, task.thread),
                                    .wide = wide(call, task.thread),
                                    .sums_step = chunk_,
                                    .excess = excess(call, 0) + task.rows.begin,
                                    .a_scale = reinterpret_cast<const float*>(call.a_scale) + (each_row ? row : 0),
                                    .a_scale_step = each_row,
                                    .b_scale = reinterpret_cast<const float*>(call.b_scale) + (each_column ? n : 0),
                                    .b_scale_step = each_column,
                                    .bias = call.bias != nullptr ? call.bias + n * out_bytes : nullptr,
                                    .c = call.c + (row * shape_.n + n) * out_bytes,
                                    .c_step = shape_.n,
                                    .rows = task.rows.size(),
                                    .columns = columns.size()};
    functions_.finish(&arguments);
  }

  QuantisedGemm shape_;
  QuantisedOperands where_;
  ProductLoops loops_;
  ProductFunctions functions_;
  PlanTraits traits_;
  int64_t padded_k_;
  int64_t part_k_, parts_;   ///< Elements of K that one sum holds.
  int64_t row_bytes_;        ///< Of a and b.
  int64_t packed_step_ = 0;  ///< Bytes between panels of packed b.
  int64_t groups_ = 0;       ///< Scales of a row.
  int64_t rows_;             ///< Rows of a in the workspace, in whole blocks.
  int64_t k_block_;          ///< Elements of K in one call of the kernel, at most.
  int64_t chunk_;            ///< Columns whose sums a thread keeps.
  int64_t panel_bytes_;      ///< Of a thread's panels.
  uint64_t a_ = 0, excess_ = 0, sums_ = 0, wide_ = 0, panels_ = 0, a_groups_ = 0,
           b_groups_ = 0;  ///< Offsets in the workspace.
};

}  // namespace

ProductFunctions::ProductFunctions(const ProductSpec& spec, const std::filesystem::path& file)
    : library(file),
      product(library.function<Product>("product")),
      copy_row(library.function<CopyRow>("copy_row")),
      finish(library.function<Finish>("finish")),
      pack(spec.kernel == Kernel::tile ? library.function<Pack>("pack") : nullptr),
      pack_scales(spec.packs_scales() ? library.function<PackScales>("pack_scales") : nullptr) {}

std::unique_ptr<Plan> make_product_plan(const QuantisedGemm& shape, const ProductLoops& loops,
                                        ProductFunctions functions) {
  return std::make_unique<ProductPlan>(shape, loops, std::move(functions));
}

}  // namespace attune::jit_cpu_quantised
