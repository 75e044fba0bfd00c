// SPDX-License-Identifier: MIT
#include "solvers/jit_cpu_conv/direct_source.h"

#include <fmt/format.h>

#include <iterator>
#include <string>

namespace attune::jit_cpu_conv {

int lanes_of(const DeviceInfo& device) {
  const InstructionSets sets = device.instruction_sets();
  if (sets.has(InstructionSet::avx512)) return 16;
  return sets.has(InstructionSet::avx2) ? 8 : 0;
}

CompileTask direct_task(const DirectSpec& spec) {
  const std::string level = InstructionSets(spec.lanes == 16 ? 4 : 3).gfx();
  std::string text = fmt::format(
      "typedef float vu __attribute__((vector_size({}), aligned(4), may_alias));\n"
      "struct args {{ const float* input; long plane; const long* offsets; long taps, inputs; const float* weights;"
      " float* output; long output_plane, first_channel, columns; }};\n"
      "void direct(const struct args* a) {{\n  const long step = a->inputs * a->taps;\n",
      spec.lanes * 4);
  const auto add = [&](fmt::string_view format, auto&&... values) {
    fmt::vformat_to(std::back_inserter(text), format, fmt::make_format_args(values...));
  };
  const auto each = [&](auto use) {
    for (int k = 0; k < spec.channels; ++k) {
      for (int v = 0; v < spec.vectors; ++v) use(k, v);
    }
  };
  each([&](int k, int v) { add("  vu s{}_{} = {{0}};\n", k, v); });
  add("  const float* w = a->weights;\n  for (long c = 0; c < a->inputs; ++c) {{\n"
      "    const float* plane = a->input + c * a->plane;\n    for (long t = 0; t < a->taps; ++t, ++w) {{\n"
      "      const float* at = plane + a->offsets[t];\n");
  for (int v = 0; v < spec.vectors; ++v) {
    const int offset = v * spec.lanes;
    add("      const vu x{} = *(const vu*)(at + {});\n", v, offset);
  }
  for (int k = 0; k < spec.channels; ++k) {
    add("      {{ const float b = w[{} * step];", k);
    for (int v = 0; v < spec.vectors; ++v) add(" s{}_{} += b * x{};", k, v, v);
    add(" }}\n");
  }
  const int columns = spec.columns();
  add("    }}\n  }}\n  if (a->columns == {}) {{\n", columns);
  each([&](int k, int v) {
    const int offset = v * spec.lanes;
    add("    if (a->first_channel <= {}) *(vu*)(a->output + {} * a->output_plane + {}) = s{}_{};\n", k, k, offset, k,
        v);
  });
  add("    return;\n  }}\n  float rest[{}];\n", columns);
  for (int k = 0; k < spec.channels; ++k) {
    add("  if (a->first_channel <= {}) {{\n", k);
    for (int v = 0; v < spec.vectors; ++v) {
      const int offset = v * spec.lanes;
      add("    *(vu*)(rest + {}) = s{}_{};\n", offset, k, v);
    }
    add("    for (long i = 0; i < a->columns; ++i) a->output[{} * a->output_plane + i] = rest[i];\n  }}\n", k);
  }
  add("}}\n");
  return {.compiler = "hostcc",
          .source = std::move(text),
          .arch = level,
          .options = {"-march=" + level, "-O2", "-ffp-contract=fast"},
          .entries = {"direct"}};
}

}  // namespace attune::jit_cpu_conv
