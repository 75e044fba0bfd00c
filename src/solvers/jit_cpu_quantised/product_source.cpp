// SPDX-License-Identifier: MIT
// The text that all kernels share: loads, the product of bytes, the copy of a, and the pass that scales.
#include "solvers/jit_cpu_quantised/product_source.h"

#include <fmt/format.h>

#include "solvers/jit_cpu_quantised/product_arguments.h"

namespace attune::jit_cpu_quantised {
namespace {

/// Instructions are written in assembly: builtins need compiler options, and their types changed between compilers.
std::string products_text(const ByteUnit& unit) {
  const int bytes = 4 * unit.lanes();
  std::string text = fmt::format(
      "enum {{ kStep = {0} }};\n"
      "typedef unsigned vi __attribute__((vector_size({1})));\n"
      "typedef unsigned viu __attribute__((vector_size({1}), aligned(1), may_alias));\n"
      "typedef int vs __attribute__((vector_size({1})));\n",
      unit.step(), bytes);
  if (unit.vnni) {
    // vpdpbusd takes unsigned bytes times signed ones: b + 128, which is b with its sign bit flipped, times a.
    text += fmt::format(
        "typedef signed char a_t;\n"
        "static inline vi load_b(const signed char* p) {{ return *(const viu*)p ^ 0x80808080u; }}\n"
        "#define multiply_add(s, b, a) asm(\"{}vpdpbusd %2, %1, %0\" : \"+v\"(s) : \"v\"(b), \"v\"(a))\n",
        unit.lanes() == 16 ? "" : "%{vex%} ");
  } else {
    text += fmt::format(
        "typedef short a_t;\n"
        "typedef signed char vb __attribute__((vector_size({0}), aligned(1), may_alias));\n"
        "typedef short v16 __attribute__((vector_size({1})));\n"
        "static inline vi load_b(const signed char* p) {{ return (vi)__builtin_convertvector(*(const vb*)p, v16); }}\n"
        "#define multiply_add(s, b, a) do {{ vi p_; asm(\"vpmaddwd %2, %1, %0\" : \"=v\"(p_) : \"v\"(b), \"v\"(a)); "
        "s += p_; }} while (0)\n",
        unit.step(), bytes);
  }
  // The vector that ends with the row overlaps the one before, where the copy of a has zeros. A row that is shorter
  // than a vector must not be read beyond its ends.
  return text +
         "static inline vi load_rest(const signed char* b, long k, long is_short) {\n"
         "  if (!is_short) return load_b(b + k - kStep);\n"
         "  signed char rest[kStep] = {0};\n"
         "  for (long j = 0; j < k; ++j) rest[kStep - k + j] = b[j];\n"
         "  return load_b(rest);\n}\n";
}

/// Sums of a are found by the same instruction, since bytes of ones are unsigned.
std::string copy_text(const ProductSpec& spec) {
  const ByteUnit& unit = spec.unit;
  std::string text = unit.vnni ? "static inline vi copied(const signed char* p) { return *(const viu*)p; }\n"
                               : "static inline vi copied(const signed char* p) { return load_b(p); }\n";
  if (spec.kernel == Kernel::dot) {
    text +=
        "static inline void put_copy(a_t* to, vi x, long to_step) { *(viu*)to = x; }\n"
        "enum { kVectorSteps = 1 };\n";
  } else {
    text += fmt::format(
        "typedef int lane __attribute__((aligned(4), may_alias));\n"
        "static inline void put_copy(a_t* to, vi x, long to_step) {{\n"
        "  for (int l = 0; l < {0}; ++l) *(lane*)(to + l * to_step) = (int)x[l];\n}}\n"
        "enum {{ kVectorSteps = {0} }};\n",
        unit.lanes());
  }
  text +=
      "unsigned copy_row(const signed char* from, long k, void* to_, long to_step) {\n"
      "  a_t* to = to_;\n  vi all = {0};\n  long i = 0;\n"
      "  for (; i + kStep <= k; i += kStep, to += kVectorSteps * to_step) {\n"
      "    const vi x = copied(from + i);\n    put_copy(to, x, to_step);\n    add_up(all, x);\n  }\n"
      "  if (i < k) {\n    signed char rest[kStep] = {0};\n"
      "    for (long j = i; j < k; ++j) rest[kStep - k + j] = from[j];\n"
      "    const vi x = copied(rest);\n    put_copy(to, x, to_step);\n    add_up(all, x);\n  }\n";
  if (!unit.vnni) return "#define add_up(s, x) (void)(x)\n" + text + "  return 0;\n}\n";
  return "#define add_up(s, x) multiply_add(s, (vi){0} + 0x01010101u, x)\n" + text +
         fmt::format("  unsigned sum = 0;\n  for (int l = 0; l < {}; ++l) sum += all[l];\n  return 128 * sum;\n}}\n",
                     unit.lanes());
}

/// Vectors and single elements are computed by the same operations in the same order, so that an element's bits do not
/// depend on its place.
std::string finish_text(const ByteUnit& unit) {
  return fmt::format(
      "typedef int si __attribute__((vector_size({1}), aligned(4), may_alias));\n"
      "void finish(const struct finish_args* t) {{\n"
      "  const in_t* bias = t->bias;\n"
      "  for (long r = 0; r < t->rows; ++r) {{\n"
      "    const int* sums = t->sums + r * t->sums_step;\n"
      "    const long* wide = t->wide ? t->wide + r * t->sums_step : 0;\n"
      "    out_t* c = (out_t*)t->c + r * t->c_step;\n"
      "    const float a_scale = t->a_scale[r * t->a_scale_step];\n"
      "    long x = 0;\n"
      "    if (!wide) {{\n"
      "      const vi excess = (vi){{0}} + t->excess[r];\n"
      "      for (; x + {0} <= t->columns; x += {0}) {{\n"
      "        vf y = __builtin_convertvector((vs)((vi)*(const si*)(sums + x) - excess), vf) * a_scale;\n"
      "        if (t->b_scale_step)\n          y *= *(const vu*)(t->b_scale + x);\n"
      "        else\n          y *= *t->b_scale;\n"
      "        if (bias) y += load(bias + x);\n"
      "        put(c + x, y);\n      }}\n    }}\n"
      "    for (; x < t->columns; ++x) {{\n"
      "      float y = wide ? (float)wide[x] : (float)(int)((unsigned)sums[x] - t->excess[r]);\n"
      "      y = y * a_scale * t->b_scale[x * t->b_scale_step];\n"
      "      if (bias) y += widen(bias[x]);\n"
      "      c[x] = narrow(y);\n    }}\n  }}\n}}\n",
      unit.lanes(), 4 * unit.lanes());
}

/// Sums of floats need no conversion; sums of groups are scaled already.
std::string finish_float_text(const ProductSpec& spec) {
  const char* scaled = spec.group != 0 ? "" : " * a_scale * t->b_scale[x * t->b_scale_step]";
  return fmt::format(
      "void finish(const struct finish_args* t) {{\n"
      "  const in_t* bias = t->bias;\n"
      "  for (long r = 0; r < t->rows; ++r) {{\n"
      "    const number* sums = (const number*)t->sums + r * t->sums_step;\n"
      "    out_t* c = (out_t*)t->c + r * t->c_step;\n"
      "    const float a_scale = {0};\n    (void)a_scale;\n"
      "    long x = 0;\n"
      "    for (; x + {1} <= t->columns; x += {1}) {{\n"
      "      vf y = *(const vu*)(sums + x);\n"
      "      {2}\n"
      "      if (bias) y += load(bias + x);\n"
      "      put(c + x, y);\n    }}\n"
      "    for (; x < t->columns; ++x) {{\n"
      "      float y = sums[x]{3};\n"
      "      if (bias) y += widen(bias[x]);\n"
      "      c[x] = narrow(y);\n    }}\n  }}\n}}\n",
      spec.group != 0 ? "1" : "t->a_scale[r * t->a_scale_step]", spec.unit.lanes(),
      spec.group != 0 ? ""
                      : "y *= a_scale; if (t->b_scale_step) y *= *(const vu*)(t->b_scale + x); else y *= *t->b_scale;",
      scaled);
}

/// What the kernel requires beyond the level of its vectors.
std::optional<InstructionSet> extension_of(const ProductSpec& spec) {
  if (spec.engine == Engine::bf16) return InstructionSet::avx512_bf16;
  return spec.engine == Engine::bytes && spec.unit.vnni ? std::optional(InstructionSet::avx512_vnni) : std::nullopt;
}

std::string int8_text(const ProductSpec& spec) {
  return kArgumentsText + products_text(spec.unit) + (spec.kernel == Kernel::dot ? dot_text(spec) : tile_text(spec)) +
         copy_text(spec) + finish_text(spec.unit);
}

}  // namespace

ByteUnit ByteUnit::of(const DeviceInfo& device) {
  const VectorUnit vectors = VectorUnit::of(device);
  const auto wanted = vectors.lanes == 16 ? InstructionSet::avx512_vnni : InstructionSet::avx_vnni;
  return {vectors, device.instruction_sets().has(wanted)};
}

CompileTask product_task(const ProductSpec& spec) {
  const ByteUnit& unit = spec.unit;
  std::string source = jit_cpu::preamble(unit.vectors, spec.out, spec.out) +
                       (spec.in == DType::int8 ? int8_text(spec)
                                               : std::string(kArgumentsText) + kGroupArgumentsText + float_text(spec) +
                                                     finish_float_text(spec));
  std::vector<std::string> entries = {"product", "copy_row", "finish"};
  if (spec.kernel == Kernel::tile) entries.emplace_back("pack");
  if (spec.packs_scales()) entries.emplace_back("pack_scales");
  CompileTask task = jit_cpu::kernel_task(std::move(source), unit.vectors, extension_of(spec), std::move(entries));
  // The bias must not be fused with a scale in some places and not in others.
  task.options.emplace_back("-ffp-contract=off");
  return task;
}

}  // namespace attune::jit_cpu_quantised
