// SPDX-License-Identifier: MIT
// Text of the dot kernel: products along K in vectors, folded at the end.
#include <fmt/format.h>

#include <vector>

#include "solvers/jit_cpu/kernel_arguments.h"
#include "solvers/jit_cpu/kernel_source.h"

namespace attune::jit_cpu {
namespace {

class DotText : public TextWriter {
 public:
  explicit DotText(const DotSpec& spec) : spec_(spec) {}

  std::string text() {
    text_ = preamble(spec_.unit, spec_.in, spec_.out) + kArgumentsText + products();
    add("void dot(const struct dot_args* t) {{\n  long i = 0;\n  const long k = t->k;\n");
    for (int r = 0; r < spec_.rows; ++r) add("  const x_t* x{0} = (const x_t*)t->x + {0} * t->x_step;\n", r);
    for (int c = 0; c < spec_.columns; ++c) add("  const in_t* w{0} = (const in_t*)t->w + {0} * t->w_step;\n", c);
    each([&](int r, int c) { add("  vf s{} = {{0}};\n", sum(r, c)); });
    loop();
    tail();
    fold();
    store();
    add("}}\n");
    return std::move(text_);
  }

 private:
  template <typename Visit>
  void each(Visit visit) {
    for (int r = 0; r < spec_.rows; ++r)
      for (int c = 0; c < spec_.columns; ++c) visit(r, c);
  }
  int sum(int r, int c) const { return r * spec_.columns + c; }

  /// `x_t`: an element of x in the plan's copy; `xv`: a vector of them; then a weight vector to match it, and their
  /// product.
  std::string products() const {
    if (!spec_.pairs) {
      return "typedef float x_t;\ntypedef vf xv;\n"
             "static inline xv load_x(const x_t* p) { return *(const vu*)p; }\n"
             "static inline xv load_w(const in_t* p) { return load(p); }\n"
             "static inline x_t rest_of(in_t w) { return widen(w); }\n"
             "#define add_product(s, a, b) s += (a) * (b)\n";
    }
    // The instruction is written in assembly: the builtin's vector type changed between compilers.
    return fmt::format(
        "typedef in_t x_t;\ntypedef unsigned short xv __attribute__((vector_size({0})));\n"
        "typedef unsigned short xu __attribute__((vector_size({0}), aligned(2), may_alias));\n"
        "static inline xv load_x(const x_t* p) {{ return *(const xu*)p; }}\n"
        "static inline xv load_w(const in_t* p) {{ return *(const xu*)p; }}\n"
        "static inline x_t rest_of(in_t w) {{ return w; }}\n"
        "#define add_product(s, a, b) asm(\"vdpbf16ps %2, %1, %0\" : \"+v\"(s) : \"v\"(a), \"v\"(b))\n",
        4 * spec_.unit.lanes);
  }

  /// The operand with fewer rows is held in registers, the other streams past it.
  void step(int ahead) {
    const int at = ahead * spec_.step();
    const bool hold_x = spec_.rows <= spec_.columns;
    if (hold_x) {
      for (int r = 0; r < spec_.rows; ++r) add("    const xv a{0}_{1} = load_x(x{0} + i + {2});\n", r, ahead, at);
      for (int c = 0; c < spec_.columns; ++c) {
        add("    {{ const xv b = load_w(w{} + i + {});", c, at);
        for (int r = 0; r < spec_.rows; ++r) add(" add_product(s{}, a{}_{}, b);", sum(r, c), r, ahead);
        add(" }}\n");
      }
      return;
    }
    for (int c = 0; c < spec_.columns; ++c) add("    const xv b{0}_{1} = load_w(w{0} + i + {2});\n", c, ahead, at);
    for (int r = 0; r < spec_.rows; ++r) {
      add("    {{ const xv a = load_x(x{} + i + {});", r, at);
      for (int c = 0; c < spec_.columns; ++c) add(" add_product(s{}, a, b{}_{});", sum(r, c), c, ahead);
      add(" }}\n");
    }
  }

  void loop() {
    add("  for (; i + {0} <= k; i += {0}) {{\n", spec_.unroll * spec_.step());
    if (spec_.prefetch > 0) {
      for (int c = 0; c < spec_.columns; ++c) add("    __builtin_prefetch(w{} + i + {});\n", c, spec_.prefetch);
    }
    for (int u = 0; u < spec_.unroll; ++u) step(u);
    add("  }}\n");
    if (spec_.unroll == 1) return;
    add("  for (; i + {0} <= k; i += {0}) {{\n", spec_.step());
    step(0);
    add("  }}\n");
  }

  /// The remainder of K: x is padded with zeros, but the weights are not, and no byte beyond them may be read.
  void tail() {
    add("  if (i < k) {{\n");
    for (int r = 0; r < spec_.rows; ++r) add("    const xv a{0} = load_x(x{0} + i);\n", r);
    for (int c = 0; c < spec_.columns; ++c) {
      add("    {{ x_t rest[{}] __attribute__((aligned(64))) = {{0}};\n"
          "      for (long j = i; j < k; ++j) rest[j - i] = rest_of(w{}[j]);\n      const xv b = load_x(rest);",
          spec_.step(), c);
      for (int r = 0; r < spec_.rows; ++r) add(" add_product(s{}, a{}, b);", sum(r, c), r);
      add(" }}\n");
    }
    add("  }}\n");
  }

  /// Sums all lanes: pairs of vectors are folded into one, until lane l holds the sum of vector l.
  void fold() {
    const int lanes = spec_.unit.lanes, count = spec_.rows * spec_.columns;
    const int groups = (count + lanes - 1) / lanes;
    add("  float sums[{}] __attribute__((aligned(64)));\n", groups * lanes);
    for (int group = 0; group < groups; ++group) {
      std::vector<std::string> vectors;
      for (int i = group * lanes; i < std::min(count, (group + 1) * lanes); ++i)
        vectors.push_back(fmt::format("s{}", i));
      for (int distance = 1; distance < lanes; distance *= 2) {
        std::vector<std::string> folded;
        for (size_t i = 0; i < vectors.size(); i += 2) {
          const std::string result = fmt::format("f{}_{}_{}", group, distance, i / 2);
          add("  const vf {} = {};\n", result,
              fold_text(vectors[i], i + 1 < vectors.size() ? vectors[i + 1] : "((vf){0})", lanes, distance));
          folded.push_back(result);
        }
        vectors = folded;
      }
      add("  *(vf*)(sums + {}) = {};\n", group * lanes, vectors.front());
    }
  }

  void store() {
    add("  const struct out_args* o = &t->out;\n"
        "  for (long r = o->row_begin; r < o->row_end; ++r) {{\n"
        "    out_t* c = (out_t*)o->c + r * o->row_step;\n"
        "    for (long x = o->column_begin; x < o->column_end; ++x)\n"
        "      c[x] = narrow(sums[r * {} + x] + (o->bias ? o->bias[x] : 0.0f));\n  }}\n",
        spec_.columns);
  }

  DotSpec spec_;
};

}  // namespace

CompileTask dot_task(const DotSpec& spec) {
  const auto extension = spec.pairs ? std::optional(InstructionSet::avx512_bf16) : std::nullopt;
  return kernel_task(DotText(spec).text(), spec.unit, extension, {"dot"});
}

}  // namespace attune::jit_cpu
