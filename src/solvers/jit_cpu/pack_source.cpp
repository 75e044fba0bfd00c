// SPDX-License-Identifier: MIT
// Text of the packing functions.
#include <fmt/format.h>

#include "solvers/jit_cpu/kernel_source.h"

namespace attune::jit_cpu {
namespace {

std::string pack_rows_text(int lanes) {
  // Packs blocks of lanes × lanes; the remainder is packed element by element.
  std::string text = fmt::format(
      "void pack_rows(const void* from, long step, long extent, long k, float* panel) {{\n"
      "  const in_t* src = from;\n"
      "  for (int half = 0; half < {0}; half += {1}) {{\n"
      "    const long there = extent - half < 0 ? 0 : extent - half < {1} ? extent - half : {1};\n"
      "    long i = 0;\n"
      "    if (there == {1}) {{\n"
      "      for (; i + {1} <= k; i += {1}) {{\n        vf v[{1}];\n",
      kPanel, lanes);
  for (int l = 0; l < lanes; ++l) text += fmt::format("        v[{0}] = load(src + (half + {0}) * step + i);\n", l);
  text += "        transpose(v);\n";
  for (int l = 0; l < lanes; ++l)
    text += fmt::format("        *(vu*)(panel + (i + {0}) * {1} + half) = v[{0}];\n", l, kPanel);
  text += fmt::format(
      "      }}\n    }}\n"
      "    for (; i < k; ++i)\n"
      "      for (int l = 0; l < {1}; ++l)\n"
      "        panel[i * {0} + half + l] = l < there ? widen(src[(half + l) * step + i]) : 0.0f;\n  }}\n}}\n",
      kPanel, lanes);
  return text;
}

std::string pack_columns_text(int lanes) {
  return fmt::format(
      "void pack_columns(const void* from, long step, long extent, long k, float* panel) {{\n"
      "  const in_t* src = from;\n"
      "  for (long i = 0; i < k; ++i, src += step, panel += {0}) {{\n"
      "    if (extent >= {0}) {{\n"
      "      for (int l = 0; l < {0}; l += {1}) *(vu*)(panel + l) = load(src + l);\n"
      "    }} else {{\n"
      "      for (int l = 0; l < {0}; ++l) panel[l] = l < extent ? widen(src[l]) : 0.0f;\n"
      "    }}\n  }}\n}}\n",
      kPanel, lanes);
}

std::string copy_rows_text(int lanes) {
  return fmt::format(
      "void copy_rows(const void* from, long step, long rows, long k, float* to, long to_step) {{\n"
      "  for (long r = 0; r < rows; ++r) {{\n"
      "    const in_t* src = (const in_t*)from + r * step;\n    float* dst = to + r * to_step;\n    long i = 0;\n"
      "    for (; i + {0} <= k; i += {0}) *(vu*)(dst + i) = load(src + i);\n"
      "    if (i < k) {{\n"
      "      *(vu*)(dst + i) = (vf){{0}};\n"
      "      for (; i < k; ++i) dst[i] = widen(src[i]);\n    }}\n  }}\n}}\n",
      lanes);
}

/// Panels of bf16 pairs for AMX: a pair is moved as one 32-bit lane, so rows are transposed like floats.
std::string pair_text() {
  std::string text =
      "typedef unsigned short pair_t;\n"
      "void pair_rows(const void* from, long step, long extent, long k, void* panel) {\n"
      "  const pair_t* src = from;\n  pair_t* dst = panel;\n  long i = 0;\n"
      "  if (extent >= 16) {\n    for (; i + 32 <= k; i += 32, dst += 512) {\n      vf v[16];\n";
  for (int l = 0; l < 16; ++l) text += fmt::format("      v[{0}] = *(const vu*)(src + {0} * step + i);\n", l);
  text += "      transpose(v);\n";
  for (int l = 0; l < 16; ++l) text += fmt::format("      *(vu*)(dst + {} * 32) = v[{}];\n", l, l);
  return text +
         "    }\n  }\n"
         "  for (; i < k; i += 2, dst += 32)\n    for (int l = 0; l < 16; ++l) {\n"
         "      dst[2 * l] = l < extent ? src[l * step + i] : 0;\n"
         "      dst[2 * l + 1] = l < extent && i + 1 < k ? src[l * step + i + 1] : 0;\n    }\n"
         "  for (; i % 32; i += 2, dst += 32) for (int l = 0; l < 32; ++l) dst[l] = 0;\n}\n"
         "void pair_columns(const void* from, long step, long extent, long k, void* panel) {\n"
         "  const pair_t* src = from;\n  pair_t* dst = panel;\n  long i = 0;\n"
         "  for (; i < k; i += 2, src += 2 * step, dst += 32)\n    for (int l = 0; l < 16; ++l) {\n"
         "      dst[2 * l] = l < extent ? src[l] : 0;\n"
         "      dst[2 * l + 1] = l < extent && i + 1 < k ? src[l + step] : 0;\n    }\n"
         "  for (; i % 32; i += 2, dst += 32) for (int l = 0; l < 32; ++l) dst[l] = 0;\n}\n";
}

}  // namespace

CompileTask pack_task(const VectorUnit& unit, DType in) {
  std::string source = preamble(unit, in, DType::fp32) + transpose_text(unit.lanes) + pack_rows_text(unit.lanes) +
                       pack_columns_text(unit.lanes) + copy_rows_text(unit.lanes);
  std::vector<std::string> entries = {"pack_rows", "pack_columns", "copy_rows"};
  if (unit.lanes == kPanel && in == DType::bf16) {
    source += pair_text();
    entries.insert(entries.end(), {"pair_rows", "pair_columns"});
  }
  return kernel_task(std::move(source), unit, std::nullopt, std::move(entries));
}

}  // namespace attune::jit_cpu
