// SPDX-License-Identifier: MIT
// Text of the dot kernel: products along K in vectors, folded at the end.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "solvers/jit_cpu_quantised/product_source.h"

namespace attune::jit_cpu_quantised {
namespace {

class DotProductText : public TextWriter {
 public:
  explicit DotProductText(const ProductSpec& spec) : spec_(spec) {}

  std::string text() {
    add("void product(const struct {}* t) {{\n  const long k = t->k, last = t->columns - 1;\n  long i = 0;\n"
        "  const a_t* a = t->a;\n",
        is_e2m1() ? "group_args" : "product_args");
    for (int c = 0; c < spec_.width; ++c) {
      add("  const signed char* b{0} = (const signed char*)t->b + ({0} < last ? {0} : last) * t->b_step;\n", c);
      if (is_e2m1())
        add("  const unsigned char* g{0} = (const unsigned char*)t->b_groups + ({0} < last ? {0} : last) * "
            "t->b_groups_step;\n",
            c);
    }
    for (int u = 0; u < spec_.unroll; ++u)
      each([&](int r, int c) { add("  {} {} = {{0}};\n", sum_type(), sum(r, c, u)); });
    loop(spec_.unroll);
    if (spec_.unroll > 1) loop(1);
    add("  if (i < k) {{\n");
    step(0, [this](int c) {
      return is_e2m1() ? fmt::format("load_rest(b{0} + (i >> 1), g{0} + (i >> 5), k - i)", c)
                       : fmt::format("load_rest(b{}, k, t->is_short)", c);
    });
    add("  }}\n");
    for (int u = 1; u < spec_.unroll; ++u)
      each([&](int r, int c) { add("  {} += {};\n", sum(r, c, 0), sum(r, c, u)); });
    fold();
    store();
    add("}}\n");
    return std::move(text_);
  }

 private:
  template <typename Visit>
  void each(Visit visit) {
    for (int r = 0; r < spec_.rows; ++r)
      for (int c = 0; c < spec_.width; ++c) visit(r, c);
  }
  static std::string sum(int r, int c, int u) { return fmt::format("s{}_{}_{}", r, c, u); }
  int step_size() const { return spec_.step(); }
  bool is_int8() const { return spec_.in == DType::int8; }
  bool is_e2m1() const { return spec_.in == DType::e2m1; }
  const char* type_of(bool is_a) const { return is_int8() ? "vi" : is_e2m1() && is_a ? "of_a" : "pair"; }
  const char* sum_type() const { return is_int8() ? "vi" : "vf"; }
  std::string a_at(int r, int u) const {
    const int at = (u * spec_.rows + r) * step_size();
    return is_int8() ? fmt::format("*(const viu*)(a + {})", at) : fmt::format("load_a(a + {})", at);
  }

  std::string b_at(int c, int u) const {
    return is_e2m1() ? fmt::format("b{} + ((i + {}) >> 1)", c, u * step_size())
                     : fmt::format("b{} + i + {}", c, u * step_size());
  }

  void loop(int unroll) {
    add("  for (; i + {0} <= k; i += {0}, a += {1}) {{\n", unroll * step_size(), unroll * step_size() * spec_.rows);
    for (int u = 0; u < unroll; ++u) {
      if (spec_.prefetch != Prefetch::off && u * step_size() % 64 == 0) {
        for (int c = 0; c < spec_.width; ++c) {
          const std::string ahead =
              spec_.prefetch == Prefetch::row ? "512" : fmt::format("{} * t->b_step", spec_.width);
          add("    __builtin_prefetch(b{} + i + {} + {});\n", c, u * step_size(), ahead);
        }
      }
      for (int c = 0; spec_.ahead != 0 && c < spec_.width; ++c)
        add("    __builtin_prefetch({} + {});\n", b_at(c, u), spec_.ahead);
      step(u, [&](int c) {
        return is_e2m1() ? fmt::format("load_b({}, g{} + ((i + {}) >> 5))", b_at(c, u), c, u * step_size())
                         : fmt::format("load_b({})", b_at(c, u));
      });
    }
    add("  }}\n");
  }

  /// The operand with fewer rows is held in registers, the other streams past it.
  template <typename Load>
  void step(int u, Load load_of_b) {
    // A decoded vector of e2m1 is used by all rows of a.
    const bool hold_a = is_e2m1() ? spec_.rows == 1 : spec_.rows <= spec_.width;
    const int held = hold_a ? spec_.rows : spec_.width, streamed = hold_a ? spec_.width : spec_.rows;
    add("    {{\n");
    for (int h = 0; h < held; ++h)
      add("      const {} h{} = {};\n", type_of(hold_a), h, hold_a ? a_at(h, u) : load_of_b(h));
    for (int s = 0; s < streamed; ++s) {
      add("      {{ const {} x = {};", type_of(!hold_a), hold_a ? load_of_b(s) : a_at(s, u));
      for (int h = 0; h < held; ++h) {
        if (hold_a)
          add(" multiply_add({}, x, h{});", sum(h, s, u), h);
        else
          add(" multiply_add({}, h{}, x);", sum(s, h, u), h);
      }
      add(" }}\n");
    }
    add("    }}\n");
  }

  /// Sums all lanes: pairs of vectors are folded into one, until lane l holds the sum of vector l.
  void fold() {
    const int lanes = spec_.unit.lanes(), count = spec_.rows * spec_.width, groups = (count + lanes - 1) / lanes;
    add("  {} sums[{}] __attribute__((aligned(64)));\n", is_int8() ? "unsigned" : "float", groups * lanes);
    for (int group = 0; group < groups; ++group) {
      std::vector<std::string> vectors;
      for (int i = group * lanes; i < std::min(count, (group + 1) * lanes); ++i)
        vectors.push_back(sum(i / spec_.width, i % spec_.width, 0));
      for (int distance = 1; distance < lanes; distance *= 2) {
        std::vector<std::string> folded;
        for (size_t i = 0; i < vectors.size(); i += 2) {
          folded.push_back(fmt::format("f{}_{}_{}", group, distance, i / 2));
          const std::string& other = i + 1 < vectors.size() ? vectors[i + 1] : vectors[i];
          add("  const {} {} = {};\n", sum_type(), folded.back(),
              jit_cpu::fold_text(vectors[i], other, lanes, distance));
        }
        vectors = folded;
      }
      add("  *({}*)(sums + {}) = {};\n", is_int8() ? "viu" : "vu", group * lanes, vectors.front());
    }
  }

  void store() {
    if (is_int8())
      add("  if (t->adds) {{\n    for (int r = 0; r < {0}; ++r)\n      for (int c = 0; c < {1}; ++c)\n"
          "        sums[r * {1} + c] += (unsigned)t->sums[r * t->sums_step + c];\n  }}\n",
          spec_.rows, spec_.width);
    for (int r = 0; r < spec_.rows; ++r)
      add("  __builtin_memcpy(t->sums + {0} * t->sums_step, sums + {1}, {2});\n", r, r * spec_.width, 4 * spec_.width);
  }

  ProductSpec spec_;
};

}  // namespace

std::string dot_text(const ProductSpec& spec) { return DotProductText(spec).text(); }

}  // namespace attune::jit_cpu_quantised
