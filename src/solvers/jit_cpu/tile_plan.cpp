// SPDX-License-Identifier: MIT
#include "solvers/jit_cpu/tile_plan.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "solver/module/openmp_team.h"
#include "solvers/jit_cpu/workspace.h"

namespace attune::jit_cpu {
namespace {

constexpr int64_t kPackChunk = 256;  // Steps of K that one thread packs at a time.
constexpr int64_t kStep = 32;        // Steps of K of an AMX instruction; parts and blocks of K are multiples.

/// Part `index` of `count` of [0, size).
struct Range {
  int64_t begin, end;
  static Range part(int64_t size, int64_t index, int64_t count) {
    return {size * index / count, size * (index + 1) / count};
  }
};

class TilePlan final : public Plan {
 public:
  TilePlan(const GemmShape& shape, const TileLoops& loops, TileFunctions functions)
      : shape_(shape), loops_(loops), functions_(std::move(functions)) {
    const bool across_m = loops.spec.across == Across::m;
    row_extent_ = across_m ? shape.n : shape.m;
    panel_extent_ = across_m ? shape.m : shape.n;
    panels_ = ceil_div(panel_extent_, kPanel);
    group_panels_ = loops.spec.tile_columns() / kPanel;
    tiles_ = ceil_div(row_extent_, loops.spec.tile_rows());
    groups_ = ceil_div(panels_, group_panels_);
    k_block_ = loops.k_block > 0 ? std::min(loops.k_block, shape.k) : shape.k;
    tile_floats_ = int64_t{loops.spec.tile_rows()} * loops.spec.tile_columns();
    packed_k_ = is_amx() ? ceil_div(shape.k, kStep) * kStep : shape.k;
    WorkspaceLayout space;
    if (!loops.packed) packed_ = space.add<std::byte>(panels_ * kPanel * packed_k_ * panel_bytes());
    if (loops.copy)
      copies_ = space.add<float>(loops.packed ? row_extent_ * copy_step() : loops.threads * copy_floats());
    if (shape.k < packed_k_) tails_ = space.add<uint16_t>(loops.threads * tail_elements());
    if (keeps_partials()) partials_ = space.add<float>(num_partials() * tiles_ * groups_ * tile_floats_);
    if (shape.bias && shape.in != DType::fp32) bias_ = space.add<float>(shape.n + kPanel);
    traits_.workspace_bytes = space.bytes();
    traits_.states = stated();
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
  /// One thread of a team.
  struct Member {
    int index, count;
    Range share(int64_t size) const { return Range::part(size, index, count); }
  };
  /// The operands of one run.
  struct Call {
    const std::byte *rows, *panels;
    const std::byte* packed;  ///< The panels in their layout.
    std::byte* pack_to;       ///< Destination of the panels if the plan packs them.
    float *copies, *partials;
    uint16_t* tails;
    std::byte* c;
    const float* bias;
    Call(const TilePlan& plan, const Launch& launch) {
      const GemmShape& shape = plan.shape_;
      const auto where = GemmOperands::of(shape);
      const auto* a = static_cast<const std::byte*>(launch.operands[where.a]);
      const auto* b = static_cast<const std::byte*>(launch.operands[where.b]);
      const bool across_m = plan.loops_.spec.across == Across::m;
      rows = across_m ? b : a;
      panels = across_m ? a : b;
      c = static_cast<std::byte*>(launch.operands[where.c]);
      pack_to = at<std::byte>(launch.workspace, plan.packed_);
      packed = plan.loops_.packed ? b : pack_to;
      tails = at<uint16_t>(launch.workspace, plan.tails_);
      copies = at<float>(launch.workspace, plan.copies_);
      partials = at<float>(launch.workspace, plan.partials_);
      bias = nullptr;
      if (!shape.bias) return;
      bias = static_cast<const float*>(launch.operands[where.bias]);
      if (shape.in == DType::fp32) return;
      auto* wide = at<float>(launch.workspace, plan.bias_);
      plan.functions_.copy_rows(launch.operands[where.bias], 0, 1, shape.n, wide, 0);
      bias = wide;
    }
  };

  /// Each element is summed by one thread, in blocks of K that depend on the config alone. Parts of K are one for each
  /// thread that the team happens to have. Tiles of several rows are not for every M, and store whole tiles and parts
  /// of one by different code.
  Requirement stated() const {
    if (loops_.split == Split::k) return Requirement::none;
    const bool serves_every_m = loops_.spec.across == Across::n && loops_.spec.tile_rows() == 1 && !is_amx();
    return serves_every_m ? Requirement::batch_invariant : Requirement::deterministic;
  }
  static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
  /// Rows copied whole are a cache line apart beyond their length: at a power of two they would share few cache sets.
  int64_t copy_step() const {
    return loops_.packed ? (ceil_div(shape_.k, kPanel) + 1) * kPanel : ceil_div(k_block_, kPanel) * kPanel;
  }
  int64_t copy_floats() const { return loops_.spec.tile_rows() * copy_step(); }
  bool is_amx() const { return loops_.spec.engine == Engine::amx; }
  int64_t panel_bytes() const { return is_amx() ? 2 : bits(loops_.spec.panel) / 8; }
  int64_t tail_elements() const { return loops_.spec.tile_rows() * kStep; }
  /// Offset of a panel, at a step of K.
  int64_t panel_offset(int64_t panel, int64_t k) const { return (panel * packed_k_ + k) * kPanel * panel_bytes(); }
  bool keeps_partials() const { return k_block_ < shape_.k || loops_.split == Split::k; }
  int64_t num_partials() const { return loops_.split == Split::k ? loops_.threads : 1; }
  int64_t in_bytes() const { return bits(shape_.in) / 8; }
  int64_t out_bytes() const { return bits(shape_.out) / 8; }

  void work(const Call& call, Member member) const {
    if (loops_.packed)
      copy_all_rows(call, member);
    else
      pack(call, member);
    if (member.count > 1 && (!loops_.packed || loops_.copy)) {
#pragma omp barrier
    }
    const Range all_tiles{0, tiles_}, all_groups{0, groups_};
    switch (loops_.split) {
      case Split::rows:
        multiply(call, member.index, member.share(tiles_), all_groups, {0, shape_.k});
        break;
      case Split::panels:
        multiply(call, member.index, all_tiles, member.share(groups_), {0, shape_.k});
        break;
      case Split::k: {
        // Parts are whole steps, so that no thread reads half a cache line of another's.
        const Range part = member.share(ceil_div(shape_.k, kStep));
        multiply(call, member.index, all_tiles, all_groups, {part.begin * kStep, std::min(part.end * kStep, shape_.k)});
        if (member.count > 1) {
#pragma omp barrier
        }
        add_up(call, member);
      }
    }
  }

  /// Copies this thread's share of the rows, whole, since every panel reads them again.
  void copy_all_rows(const Call& call, Member member) const {
    if (!loops_.copy) return;
    const Range share = member.share(row_extent_);
    functions_.copy_rows(call.rows + share.begin * shape_.k * in_bytes(), shape_.k, share.end - share.begin, shape_.k,
                         call.copies + share.begin * copy_step(), copy_step());
  }

  /// Packs this thread's share of the panels, cut along K too: few panels are divided as evenly as many.
  void pack(const Call& call, Member member) const {
    const int64_t chunks = ceil_div(shape_.k, kPackChunk);
    const Range share = member.share(panels_ * chunks);
    const bool along_k = loops_.spec.across == Across::m ? !shape_.trans_a : !shape_.b_is_kn;
    const int64_t step = along_k ? shape_.k : panel_extent_;
    for (int64_t i = share.begin; i < share.end; ++i) {
      const int64_t panel = i / chunks, k = i % chunks * kPackChunk;
      const int64_t first = panel * kPanel;
      const std::byte* from = call.panels + (along_k ? first * step + k : k * step + first) * in_bytes();
      const int64_t extent = std::min<int64_t>(kPanel, panel_extent_ - first),
                    steps = std::min(kPackChunk, shape_.k - k);
      if (is_amx()) {
        const auto pair = along_k ? functions_.pair_rows : functions_.pair_columns;
        pair(from, step, extent, steps, call.pack_to + panel_offset(panel, k));
      } else {
        const auto pack = along_k ? functions_.pack_rows : functions_.pack_columns;
        pack(from, step, extent, steps, reinterpret_cast<float*>(call.pack_to + panel_offset(panel, k)));
      }
    }
  }

  void multiply(const Call& call, int thread, Range tiles, Range groups, Range k) const {
    const int64_t block = loops_.panel_block > 0 ? std::max<int64_t>(1, loops_.panel_block / group_panels_) : groups_;
    for (int64_t from = k.begin; from < k.end; from += k_block_) {
      const Range here{from, std::min(from + k_block_, k.end)};
      TileArguments arguments = {};
      arguments.first = from == k.begin;
      arguments.last = here.end == k.end && loops_.split != Split::k;
      arguments.k = here.end - here.begin;
      for (int64_t first = groups.begin; first < groups.end; first += block) {
        const Range some{first, std::min(first + block, groups.end)};
        if (loops_.order == Order::rows) {
          for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
            set_rows(call, thread, tile, here, arguments);
            for (int64_t group = some.begin; group < some.end; ++group)
              run_tile(call, thread, tile, group, here, arguments);
          }
        } else {
          for (int64_t group = some.begin; group < some.end; ++group) {
            for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
              set_rows(call, thread, tile, here, arguments);
              run_tile(call, thread, tile, group, here, arguments);
            }
          }
        }
      }
    }
  }

  /// Tiles at the edge are moved inwards: they recompute some rows and write only those that no other tile writes.
  int64_t first_row(int64_t tile) const {
    const int64_t rows = loops_.spec.tile_rows();
    return std::min(tile * rows, row_extent_ - rows);
  }
  int64_t first_panel(int64_t group) const { return std::min(group * group_panels_, panels_ - group_panels_); }

  void set_rows(const Call& call, int thread, int64_t tile, Range k, TileArguments& arguments) const {
    const std::byte* rows = call.rows + (first_row(tile) * shape_.k + k.begin) * in_bytes();
    if (!loops_.copy) {
      arguments.row = rows;
      arguments.row_step = shape_.k;
      if (is_amx()) arguments.tail = tail(call, thread, rows, k.end - k.begin);
      return;
    }
    if (loops_.packed) {
      arguments.row = call.copies + first_row(tile) * copy_step() + k.begin;
      arguments.row_step = copy_step();
      return;
    }
    float* copy = call.copies + thread * copy_floats();
    functions_.copy_rows(rows, shape_.k, loops_.spec.rows, k.end - k.begin, copy, copy_step());
    arguments.row = copy;
    arguments.row_step = copy_step();
  }

  /// The steps after the last whole one, padded with zeros: a tile cannot be loaded partially.
  const uint16_t* tail(const Call& call, int thread, const std::byte* rows, int64_t k) const {
    const int64_t rest = k % kStep;
    if (rest == 0) return nullptr;
    uint16_t* copy = call.tails + thread * tail_elements();
    for (int64_t r = 0; r < loops_.spec.tile_rows(); ++r) {
      std::memset(copy + r * kStep, 0, kStep * sizeof *copy);
      std::memcpy(copy + r * kStep, rows + (r * shape_.k + k - rest) * in_bytes(),
                  static_cast<size_t>(rest) * sizeof *copy);
    }
    return copy;
  }

  float* partial(const Call& call, int64_t copy, int64_t tile, int64_t group) const {
    return call.partials + ((copy * tiles_ + tile) * groups_ + group) * tile_floats_;
  }

  void run_tile(const Call& call, int thread, int64_t tile, int64_t group, Range k, TileArguments& arguments) const {
    arguments.panel = call.packed + panel_offset(first_panel(group), k.begin);
    arguments.panel_step = kPanel * packed_k_;
    if (keeps_partials()) arguments.partial = partial(call, loops_.split == Split::k ? thread : 0, tile, group);
    if (arguments.last) arguments.out = output(call, tile, group);
    functions_.tile(&arguments);
  }

  TileOutput output(const Call& call, int64_t tile, int64_t group) const {
    const int64_t row = first_row(tile), column = first_panel(group) * kPanel;
    TileOutput out = {};
    out.row_begin = tile * loops_.spec.tile_rows() - row;
    out.row_end = loops_.spec.tile_rows();
    out.column_begin = group * group_panels_ * kPanel - column;
    out.column_end = std::min<int64_t>(group_panels_ * kPanel, panel_extent_ - column);
    const bool across_m = loops_.spec.across == Across::m;
    out.c = call.c + (across_m ? column * shape_.n + row : row * shape_.n + column) * out_bytes();
    out.row_step = across_m ? 1 : shape_.n;
    out.column_step = across_m ? shape_.n : 1;
    if (call.bias != nullptr) out.bias = call.bias + (across_m ? row : column);
    return out;
  }

  /// Adds all threads' sums over parts of K. The tile kernel, called with zero steps of k, writes the result.
  void add_up(const Call& call, Member member) const {
    const Range share = member.share(tiles_ * groups_);
    TileArguments arguments = {};
    arguments.last = 1;
    arguments.row = call.rows;
    arguments.panel = call.packed;
    for (int64_t i = share.begin; i < share.end; ++i) {
      const int64_t tile = i / groups_, group = i % groups_;
      float* sum = partial(call, 0, tile, group);
      for (int64_t other = 1; other < member.count; ++other) {
        const float* more = partial(call, other, tile, group);
        for (int64_t x = 0; x < tile_floats_; ++x) sum[x] += more[x];
      }
      arguments.partial = sum;
      arguments.out = output(call, tile, group);
      functions_.tile(&arguments);
    }
  }

  GemmShape shape_;
  TileLoops loops_;
  TileFunctions functions_;
  PlanTraits traits_;
  int64_t row_extent_, panel_extent_, panels_, group_panels_, tiles_, groups_, k_block_, tile_floats_;
  int64_t packed_k_;                                                        ///< Steps of a packed panel.
  uint64_t packed_ = 0, copies_ = 0, tails_ = 0, partials_ = 0, bias_ = 0;  ///< Offsets in the workspace.
};

}  // namespace

TileFunctions::TileFunctions(Engine engine, const std::filesystem::path& tile_file,
                             const std::filesystem::path& pack_file)
    : tile_library(tile_file),
      pack_library(pack_file),
      tile(tile_library.function<TileKernel>("tile")),
      pack_rows(pack_library.function<PackRows>("pack_rows")),
      pack_columns(pack_library.function<PackColumns>("pack_columns")),
      copy_rows(pack_library.function<CopyRows>("copy_rows")),
      pair_rows(engine == Engine::amx ? pack_library.function<PairRows>("pair_rows") : nullptr),
      pair_columns(engine == Engine::amx ? pack_library.function<PairColumns>("pair_columns") : nullptr) {}

std::unique_ptr<Plan> make_tile_plan(const GemmShape& shape, const TileLoops& loops, TileFunctions functions) {
  return std::make_unique<TilePlan>(shape, loops, std::move(functions));
}

}  // namespace attune::jit_cpu
