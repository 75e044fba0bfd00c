// SPDX-License-Identifier: MIT
#include "solvers/jit_cpu/kernel_text.h"

#include <fmt/format.h>

#include "base/error.h"

namespace attune::jit_cpu {
namespace {

std::string element(DType type) {
  switch (type) {
    case DType::fp32:
      return "float";
    case DType::bf16:
    case DType::fp16:
      return "unsigned short";
    default:
      fail(ErrorCode::unavailable, "generated kernels support fp32, bf16 and fp16, got {}", name(type));
  }
}

/// Text of widen() and load() for one stored type. GCC's conversion of a whole _Float16 vector goes through memory, so
/// fp16 uses the instruction's builtin.
std::string loads(int lanes, DType in) {
  if (in == DType::fp32) {
    return "static inline float widen(in_t x) { return x; }\n"
           "static inline vf load(const in_t* p) { return *(const vu*)p; }\n";
  }
  if (in == DType::bf16) {
    return fmt::format(
        "typedef unsigned short vh __attribute__((vector_size({0}), aligned(2), may_alias));\n"
        "typedef unsigned vw __attribute__((vector_size({1})));\n"
        "static inline float widen(in_t x) {{ union {{ unsigned i; float f; }} u = {{(unsigned)x << 16}}; return u.f; "
        "}}\n"
        "static inline vf load(const in_t* p) {{ return (vf)(__builtin_convertvector(*(const vh*)p, vw) << 16); }}\n",
        2 * lanes, 4 * lanes);
  }
  const bool wide = lanes == 16;
  return fmt::format(
      "typedef short vh __attribute__((vector_size({0}), aligned(2), may_alias));\n"
      "typedef short vl __attribute__((vector_size({0})));\n"
      "typedef short v8 __attribute__((vector_size(16)));\n"
      "typedef float f4 __attribute__((vector_size(16)));\n"
      "static inline float widen(in_t x) {{ v8 h = {{(short)x}}; return ((f4)__builtin_ia32_vcvtph2ps(h))[0]; }}\n"
      "static inline vf load(const in_t* p) {{ return (vf){1}; }}\n",
      2 * lanes,
      wide ? "__builtin_ia32_vcvtph2ps512_mask((vl)*(const vh*)p, (vf){0}, (unsigned short)-1, 4)"
           : "__builtin_ia32_vcvtph2ps256((vl)*(const vh*)p)");
}

/// Text of narrow() of one element, put() of a vector, put_some() of its first lanes.
std::string narrows(int lanes, DType out) {
  // A copy of constant size, for which the compiler generates suitable moves.
  const std::string some =
      "#define put_some(p, x, count) do { out_t some[" + std::to_string(lanes) +
      "] __attribute__((aligned(64))); put(some, x); __builtin_memcpy(p, some, (count) * sizeof(out_t)); } while (0)\n";
  if (out == DType::fp32) {
    return "static inline out_t narrow(float x) { return x; }\n"
           "static inline void put(out_t* p, vf x) { *(vu*)p = x; }\n" +
           some;
  }
  if (out == DType::bf16) {
    // Rounds to nearest even; a NaN keeps a set mantissa bit.
    return "static inline out_t narrow(float x) {\n"
           "  union { float f; unsigned i; } u = {x};\n"
           "  if (x != x) return (out_t)((u.i >> 16) | 64);\n"
           "  return (out_t)((u.i + 0x7fff + ((u.i >> 16) & 1)) >> 16);\n}\n" +
           fmt::format(
               "typedef unsigned short po __attribute__((vector_size({0}), aligned(2), may_alias));\n"
               "typedef unsigned pw __attribute__((vector_size({1})));\n"
               "static inline void put(out_t* p, vf x) {{\n"
               "  const pw i = (pw)x, nan = (pw)(x != x);\n"
               "  const pw r = (nan & ((i >> 16) | 64)) | (~nan & ((i + 0x7fff + ((i >> 16) & 1)) >> 16));\n"
               "  *(po*)p = __builtin_convertvector(r, po);\n}}\n",
               2 * lanes, 4 * lanes) +
           some;
  }
  const bool wide = lanes == 16;
  return fmt::format(
             "typedef short n8 __attribute__((vector_size(16)));\n"
             "typedef float n4 __attribute__((vector_size(16)));\n"
             "typedef short po __attribute__((vector_size({0}), aligned(2), may_alias));\n"
             "static inline out_t narrow(float x) {{ n4 f = {{x}}; return (out_t)((n8)__builtin_ia32_vcvtps2ph(f, "
             "0))[0]; "
             "}}\n"
             "static inline void put(out_t* p, vf x) {{ *(po*)p = (po){1}; }}\n",
             2 * lanes,
             wide ? "__builtin_ia32_vcvtps2ph512_mask(x, 0, (short __attribute__((vector_size(32)))){0}, (unsigned "
                    "short)-1)"
                  : "__builtin_ia32_vcvtps2ph256(x, 0)") +
         some;
}

template <typename Lane>
std::string indices(int lanes, Lane lane) {
  std::string text;
  for (int l = 0; l < lanes; ++l) text += fmt::format("{}{}", l ? "," : "", lane(l));
  return text;
}

}  // namespace

VectorUnit VectorUnit::of(const DeviceInfo& device) {
  const InstructionSets sets = device.instruction_sets();
  if (sets.has(InstructionSet::avx512)) return {16, 32, InstructionSets(4).gfx()};
  if (sets.has(InstructionSet::avx2)) return {8, 16, InstructionSets(3).gfx()};
  return {};
}

CompileTask kernel_task(std::string source, const VectorUnit& unit, std::optional<InstructionSet> extension,
                        std::vector<std::string> entries) {
  return {.compiler = "hostcc",
          .source = std::move(source),
          .arch = unit.level + std::string(extension ? InstructionSets::suffix(*extension) : ""),
          .options = {"-march=" + unit.level, "-O2", "-ffp-contract=fast"},
          .entries = std::move(entries)};
}

std::string preamble(const VectorUnit& unit, DType in, DType out) {
  const int bytes = 4 * unit.lanes;
  return fmt::format(
             "typedef {0} in_t;\ntypedef {1} out_t;\n"
             "typedef float vf __attribute__((vector_size({2})));\n"
             "typedef float vu __attribute__((vector_size({2}), aligned(4), may_alias));\n",
             element(in), element(out), bytes) +
         loads(unit.lanes, in) + narrows(unit.lanes, out);
}

// There are log2(lanes) stages, each mixing vectors `distance` apart.
std::string transpose_text(int lanes) {
  std::string text = "static inline void transpose(vf* v) {\n";
  for (int distance = 1; distance < lanes; distance *= 2) {
    // Lanes with the bit clear keep a's and get b's moved up; the others get a's moved down and keep b's.
    const std::string up = indices(lanes, [&](int l) { return l & distance ? lanes + l - distance : l; });
    const std::string down = indices(lanes, [&](int l) { return l & distance ? lanes + l : l + distance; });
    for (int i = 0; i < lanes; ++i) {
      if (i & distance) continue;
      text += fmt::format(
          "  {{ const vf a = v[{0}], b = v[{1}]; v[{0}] = __builtin_shufflevector(a, b, {2}); v[{1}] = "
          "__builtin_shufflevector(a, b, {3}); }}\n",
          i, i + distance, up, down);
    }
  }
  return text + "}\n";
}

std::string fold_text(const std::string& a, const std::string& b, int lanes, int distance) {
  const std::string own = indices(lanes, [&](int l) { return l & distance ? lanes + l : l; });
  const std::string other = indices(lanes, [&](int l) { return l & distance ? lanes + l - distance : l + distance; });
  return fmt::format("__builtin_shufflevector({0}, {1}, {2}) + __builtin_shufflevector({0}, {1}, {3})", a, b, own,
                     other);
}

}  // namespace attune::jit_cpu
