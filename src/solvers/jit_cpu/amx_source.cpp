// SPDX-License-Identifier: MIT
// Text of the AMX tile kernel: bf16 products in the processor's tile registers. The instructions are written as
// assembly because the compiler's intrinsics are macros with the same assembly, and because GCC 12 declares only 8 of
// the 64 bytes that loading a configuration reads.
#include <fmt/format.h>

#include "solvers/jit_cpu/kernel_arguments.h"
#include "solvers/jit_cpu/kernel_source.h"

namespace attune::jit_cpu {
namespace {

constexpr int kTile = 16;       // Rows of a tile, and columns of fp32.
constexpr int kAmxStep = 32;    // Elements of K that one instruction multiplies.
constexpr int kTileBytes = 64;  // Size of a tile's row.
constexpr int kMaxTiles = 8;

class AmxText : public TextWriter {
 public:
  explicit AmxText(const TileSpec& spec) : spec_(spec) {}

  std::string text() {
    text_ = preamble(spec_.unit, DType::bf16, spec_.out) + transpose_text(spec_.unit.lanes) + kArgumentsText;
    add("struct tile_config {{ unsigned char palette, start, reserved[14]; unsigned short bytes[16]; unsigned char "
        "rows[16]; }};\n");
    add("void tile(const struct tile_args* t) {{\n");
    configure();
    begin();
    add("  const char* row = t->row;\n  const char* panel = t->panel;\n");
    add("  const long row_bytes = 2 * t->row_step, panel_bytes = 2 * t->panel_step;\n");
    add("  for (long k = t->k; k >= {0}; k -= {0}, row += {1}, panel += {2}) {{\n", kAmxStep, kTileBytes,
        kTile * kTileBytes);
    if (spec_.prefetch > 0) {
      add("    for (int r = 0; r < {}; ++r) __builtin_prefetch(row + r * row_bytes + {});\n", spec_.tile_rows(),
          2 * spec_.prefetch);
    }
    step("row_bytes");
    add("  }}\n");
    // The last steps of K are read from a copy that is padded with zeros.
    add("  if (t->tail) {{\n    row = t->tail;\n");
    step(std::to_string(kTileBytes));
    add("  }}\n");
    finish();
    store_tile_text(*this, spec_);
    add("}}\n");
    return std::move(text_);
  }

 private:
  int sum(int r, int w) const { return r * spec_.vectors + w; }
  int row_tile(int r) const { return spec_.rows * spec_.vectors + r; }
  int panel_tile() const { return row_tile(spec_.rows); }

  void configure() {
    add("  static const struct tile_config config = {{.palette = 1, .bytes = {{");
    for (int i = 0; i < kMaxTiles; ++i) add("{}{}", i ? "," : "", kTileBytes);
    add("}}, .rows = {{");
    for (int i = 0; i < kMaxTiles; ++i) add("{}{}", i ? "," : "", kTile);
    add("}}}};\n  asm volatile(\"ldtilecfg %0\" :: \"m\"(config));\n");
  }

  void each_sum(const char* instruction) {
    for (int r = 0; r < spec_.rows; ++r) {
      for (int w = 0; w < spec_.vectors; ++w) {
        add("    asm volatile(\"{}\" :: \"r\"(t->partial + {}), \"r\"({}L) : \"memory\");\n",
            fmt::format(fmt::runtime(instruction), sum(r, w)), r * kTile * spec_.tile_columns() + w * kTile,
            4L * spec_.tile_columns());
      }
    }
  }

  void begin() {
    add("  if (t->first) {{\n");
    for (int i = 0; i < spec_.rows * spec_.vectors; ++i) add("    asm volatile(\"tilezero %%tmm{}\" ::);\n", i);
    add("  }} else {{\n");
    each_sum("tileloadd (%0,%1,1), %%tmm{}");
    add("  }}\n");
  }

  /// Loads the row tiles first, then multiplies each panel's tile with all of them.
  void step(const std::string& row_bytes) {
    for (int r = 0; r < spec_.rows; ++r) {
      add("    asm volatile(\"tileloadd (%0,%1,1), %%tmm{}\" :: \"r\"(row + {} * {}), \"r\"((long){}) : \"memory\");\n",
          row_tile(r), r * kTile, row_bytes, row_bytes);
    }
    for (int w = 0; w < spec_.vectors; ++w) {
      add("    asm volatile(\"tileloadd (%0,%1,1), %%tmm{}\" :: \"r\"(panel + {} * panel_bytes), \"r\"({}L) : "
          "\"memory\");\n",
          panel_tile(), w, kTileBytes);
      for (int r = 0; r < spec_.rows; ++r)
        add("    asm volatile(\"tdpbf16ps %%tmm{}, %%tmm{}, %%tmm{}\" ::);\n", panel_tile(), row_tile(r), sum(r, w));
    }
  }

  void finish() {
    add("  float sums[{}] __attribute__((aligned(64)));\n", spec_.tile_rows() * spec_.tile_columns());
    add("  float* to = t->last ? sums : t->partial;\n");
    for (int r = 0; r < spec_.rows; ++r) {
      for (int w = 0; w < spec_.vectors; ++w) {
        add("  asm volatile(\"tilestored %%tmm{}, (%0,%1,1)\" :: \"r\"(to + {}), \"r\"({}L) : \"memory\");\n",
            sum(r, w), r * kTile * spec_.tile_columns() + w * kTile, 4L * spec_.tile_columns());
      }
    }
    add("  asm volatile(\"tilerelease\" ::);\n  if (!t->last) return;\n");
  }

  TileSpec spec_;
};

}  // namespace

CompileTask amx_task(const TileSpec& spec) {
  return kernel_task(AmxText(spec).text(), spec.unit, InstructionSet::amx_bf16, {"tile"});
}

}  // namespace attune::jit_cpu
