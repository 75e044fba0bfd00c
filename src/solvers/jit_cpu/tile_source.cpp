// SPDX-License-Identifier: MIT
// Text of the tile kernel. Every accumulator is a separate variable: GCC keeps these in registers, which it does not
// guarantee for arrays.
#include <fmt/format.h>

#include <algorithm>

#include "solvers/jit_cpu/kernel_arguments.h"
#include "solvers/jit_cpu/kernel_source.h"

namespace attune::jit_cpu {
namespace {

class TileText : public TextWriter {
 public:
  explicit TileText(const TileSpec& spec) : spec_(spec) {}

  std::string text() {
    text_ = preamble(spec_.unit, spec_.panel, spec_.out) + transpose_text(spec_.unit.lanes) + kArgumentsText;
    add("void tile(const struct tile_args* t) {{\n");
    declare();
    loop();
    // Blocks are summed separately, since the rounding errors of one long sum would grow with √K.
    add("  if (!t->first) {{\n");
    each_sum([&](int r, int v) { add("    s{0}_{1} += *(const vu*)(t->partial + {2});\n", r, v, offset(r, v)); });
    add("  }}\n");
    add("  if (!t->last) {{\n");
    each_sum([&](int r, int v) { add("    *(vu*)(t->partial + {}) = s{}_{};\n", offset(r, v), r, v); });
    add("    return;\n  }}\n");
    if (spec_.across == Across::n) store_whole();
    store_part();
    add("}}\n");
    return std::move(text_);
  }

 private:
  template <typename Visit>
  void each_sum(Visit visit) {
    for (int r = 0; r < spec_.rows; ++r)
      for (int v = 0; v < spec_.vectors; ++v) visit(r, v);
  }
  int lanes() const { return spec_.unit.lanes; }
  int offset(int r, int v) const { return (r * spec_.vectors + v) * lanes(); }
  int in_panel() const { return kPanel / lanes(); }  // vectors of one panel

  void declare() {
    for (int p = 0; p < spec_.vectors / in_panel(); ++p)
      add("  const in_t* p{0} = (const in_t*)t->panel + {0} * t->panel_step;\n", p);
    for (int r = 0; r < spec_.rows; ++r) add("  const float* r{0} = (const float*)t->row + {0} * t->row_step;\n", r);
    each_sum([&](int r, int v) { add("  vf s{}_{} = {{0}};\n", r, v); });
  }

  void step(int ahead) {
    add("    {{\n");
    for (int v = 0; v < spec_.vectors; ++v) {
      add("      const vf a{} = load(p{} + {});\n", v, v / in_panel(), ahead * kPanel + v % in_panel() * lanes());
    }
    for (int r = 0; r < spec_.rows; ++r) {
      add("      {{ const float x = r{}[{}]; const vf b = {{x", r, ahead);
      for (int l = 1; l < lanes(); ++l) add(",x");
      add("}};");
      for (int v = 0; v < spec_.vectors; ++v) add(" s{0}_{1} += b * a{1};", r, v);
      add(" }}\n");
    }
    add("    }}\n");
  }

  void advance(int steps) {
    for (int p = 0; p < spec_.vectors / in_panel(); ++p) add("    p{} += {};\n", p, steps * kPanel);
    for (int r = 0; r < spec_.rows; ++r) add("    r{} += {};\n", r, steps);
  }

  void loop() {
    add("  long k = t->k;\n  for (; k >= {0}; k -= {0}) {{\n", spec_.unroll);
    if (spec_.prefetch > 0 && spec_.across == Across::n) {
      // A cache line holds few steps of a panel, so there is one prefetch per line.
      const int line = 64 * 8 / bits(spec_.panel), steps = spec_.unroll * kPanel;
      for (int p = 0; p < spec_.vectors / in_panel(); ++p)
        for (int e = 0; e < steps; e += line)
          add("    __builtin_prefetch(p{} + {});\n", p, spec_.prefetch * kPanel + e);
    } else if (spec_.prefetch > 0) {
      for (int r = 0; r < spec_.rows; ++r) add("    __builtin_prefetch(r{} + {});\n", r, spec_.prefetch);
    }
    for (int u = 0; u < spec_.unroll; ++u) step(u);
    advance(spec_.unroll);
    add("  }}\n");
    if (spec_.unroll == 1) return;
    add("  for (; k > 0; --k) {{\n");
    step(0);
    advance(1);
    add("  }}\n");
  }

  /// Stores a whole tile across n: rows of C from the registers.
  void store_whole() {
    add("  const struct out_args* o = &t->out;\n");
    add("  if (o->row_begin == 0 && o->row_end == {} && o->column_begin == 0 && o->column_end == {}) {{\n", spec_.rows,
        spec_.vectors * lanes());
    add("    if (o->bias) {{\n");
    for (int v = 0; v < spec_.vectors; ++v) {
      add("      const vf b{} = *(const vu*)(o->bias + {});\n", v, v * lanes());
      for (int r = 0; r < spec_.rows; ++r) add("      s{0}_{1} += b{1};\n", r, v);
    }
    add("    }}\n    out_t* c = o->c;\n");
    for (int r = 0; r < spec_.rows; ++r) {
      for (int v = 0; v < spec_.vectors; ++v) {
        add("    put(c + {}, s{}_{});\n", v * lanes(), r, v);
      }
      if (r + 1 < spec_.rows) add("    c += o->row_step;\n");
    }
    add("    return;\n  }}\n");
  }

  /// Stores any part of a tile, through memory.
  void store_part() {
    add("  float sums[{}] __attribute__((aligned(64)));\n", spec_.rows * spec_.tile_columns());
    each_sum([&](int r, int v) { add("  *(vf*)(sums + {}) = s{}_{};\n", offset(r, v), r, v); });
    store_tile_text(*this, spec_);
  }

  TileSpec spec_;
};

}  // namespace

void store_tile_text(TextWriter& writer, const TileSpec& spec) {
  const int width = spec.tile_columns(), rows = spec.tile_rows(), lanes = spec.unit.lanes;
  writer.add("  const struct out_args* out = &t->out;\n");
  if (spec.across == Across::n) {
    // Whole vectors first, then the remainder at an edge.
    writer.add(
        "  for (long r = out->row_begin; r < out->row_end; ++r) {{\n"
        "    out_t* c = (out_t*)out->c + r * out->row_step;\n"
        "    const float* from = sums + r * {0};\n    long x = out->column_begin;\n"
        "    for (; x + {1} <= out->column_end; x += {1})\n"
        "      put(c + x, *(const vu*)(from + x) + (out->bias ? (vf)*(const vu*)(out->bias + x) : (vf){{0}}));\n"
        "    for (; x < out->column_end; ++x) c[x] = narrow(from[x] + (out->bias ? out->bias[x] : 0.0f));\n  }}\n",
        width, lanes);
    return;
  }
  // Columns of the tile are rows of C: squares are transposed in registers, after the bias is added.
  writer.add(
      "  if (out->bias) {{\n    for (int r = 0; r < {0}; ++r)\n"
      "      for (int x = 0; x < {1}; x += {2}) *(vu*)(sums + r * {1} + x) += out->bias[r];\n  }}\n",
      rows, width, lanes);
  writer.add(
      "  for (long x = 0; x < {0}; x += {1}) {{\n"
      "    out_t* c = (out_t*)out->c + x * out->column_step;\n"
      "    if (out->row_begin == 0 && x >= out->column_begin && x + {1} <= out->column_end) {{\n",
      width, lanes);
  for (int first = 0; first < rows; first += lanes) {
    const int count = std::min(lanes, rows - first);
    writer.add("      {{\n        vf v[{}];\n", lanes);
    for (int l = 0; l < lanes; ++l) {
      if (l < count)
        writer.add("        v[{}] = *(const vf*)(sums + {} + x);\n", l, (first + l) * width);
      else
        writer.add("        v[{}] = (vf){{0}};\n", l);
    }
    writer.add("        transpose(v);\n");
    for (int l = 0; l < lanes; ++l) {
      if (count == lanes)
        writer.add("        put(c + {0} * out->column_step + {1}, v[{0}]);\n", l, first);
      else
        writer.add("        put_some(c + {0} * out->column_step + {1}, v[{0}], {2});\n", l, first, count);
    }
    writer.add("      }}\n");
  }
  writer.add(
      "      continue;\n    }}\n"
      "    for (long l = 0; l < {0}; ++l) {{\n"
      "      if (x + l < out->column_begin || x + l >= out->column_end) continue;\n"
      "      for (long r = out->row_begin; r < out->row_end; ++r)\n"
      "        c[l * out->column_step + r] = narrow(sums[r * {1} + x + l]);\n    }}\n  }}\n",
      lanes, width);
}

CompileTask tile_task(const TileSpec& spec) {
  return kernel_task(TileText(spec).text(), spec.unit, std::nullopt, {"tile"});
}

}  // namespace attune::jit_cpu
