// SPDX-License-Identifier: MIT
// Text of the tile kernel and its packing: lanes are columns of C, elements of a are broadcast.
#include <fmt/format.h>

#include "solvers/jit_cpu_quantised/product_source.h"

namespace attune::jit_cpu_quantised {
namespace {

constexpr int kUnroll = 4;  // Lanes of K in the loop's body. A vector of K has a multiple of it.

class TileProductText : public TextWriter {
 public:
  explicit TileProductText(const ProductSpec& spec) : spec_(spec) {}

  std::string text() {
    text_ = jit_cpu::transpose_text(lanes());
    pack();
    add("typedef unsigned word __attribute__((aligned(4), may_alias));\n"
        "void product(const struct product_args* t) {{\n  const word* a = t->a;\n");
    for (int v = 0; v < spec_.width; ++v) add("  const char* p{0} = (const char*)t->b + {0} * t->b_step;\n", v);
    each_sum([&](int r, int v) { add("  vi s{}_{} = {{0}};\n", r, v); });
    add("  for (long k = t->k; k > 0; k -= {}) {{\n", kUnroll * spec_.unit.in_lane());
    for (int u = 0; u < kUnroll; ++u) step(u);
    add("    a += {};\n", kUnroll * spec_.rows);
    for (int v = 0; v < spec_.width; ++v) add("    p{} += {};\n", v, kUnroll * 4 * lanes());
    add("  }}\n  if (t->adds) {{\n");
    each_sum([&](int r, int v) { add("    s{0}_{1} += {2};\n", r, v, place(r, v)); });
    add("  }}\n");
    each_sum([&](int r, int v) { add("  {2} = s{0}_{1};\n", r, v, place(r, v)); });
    add("}}\n");
    return std::move(text_);
  }

 private:
  int lanes() const { return spec_.unit.lanes(); }
  template <typename Visit>
  void each_sum(Visit visit) {
    for (int r = 0; r < spec_.rows; ++r)
      for (int v = 0; v < spec_.width; ++v) visit(r, v);
  }
  std::string place(int r, int v) const {
    return fmt::format("*(viu*)(t->sums + {} * t->sums_step + {})", r, v * lanes());
  }

  void step(int u) {
    add("    {{\n");
    for (int v = 0; v < spec_.width; ++v) add("      const vi b{0} = *(const vi*)(p{0} + {1});\n", v, u * 4 * lanes());
    for (int r = 0; r < spec_.rows; ++r) {
      add("      {{ const unsigned e = a[{}]; const vi x = {{e", u * spec_.rows + r);
      for (int l = 1; l < lanes(); ++l) add(",e");
      add("}};");
      for (int v = 0; v < spec_.width; ++v) add(" multiply_add(s{0}_{1}, b{1}, x);", r, v);
      add(" }}\n");
    }
    add("    }}\n");
  }

  /// Transposes squares of lanes in registers: vectors along K become vectors across columns.
  void pack() {
    add("static inline void put_square(vf* v, char* to) {{\n  transpose(v);\n"
        "  for (int l = 0; l < {0}; ++l) *(vf*)(to + l * {1}) = v[l];\n}}\n"
        "void pack(const struct pack_args* t) {{\n"
        "  const signed char* b[{0}];\n"
        "  for (long l = 0; l < {0}; ++l) b[l] = t->b + (l < t->columns ? l : t->columns - 1) * t->b_step;\n"
        "  char* to = t->panel;\n  const long k = t->k;\n  vf v[{0}];\n  long i = 0;\n"
        "  for (; i + kStep <= k; i += kStep, to += {2}) {{\n",
        lanes(), 4 * lanes(), 4 * lanes() * lanes());
    for (int l = 0; l < lanes(); ++l) add("    v[{0}] = (vf)load_b(b[{0}] + i);\n", l);
    add("    put_square(v, to);\n  }}\n  if (i < k) {{\n"
        "    for (int l = 0; l < {}; ++l) v[l] = (vf)load_rest(b[l], k, t->is_short);\n"
        "    put_square(v, to);\n  }}\n}}\n",
        lanes());
  }

  ProductSpec spec_;
};

}  // namespace

std::string tile_text(const ProductSpec& spec) { return TileProductText(spec).text(); }

}  // namespace attune::jit_cpu_quantised
