// SPDX-License-Identifier: MIT
#include "solver/modules/library_settings.h"

#include <algorithm>
#include <array>

namespace attune {
namespace {

constexpr std::array<std::string_view, 6> kRecorded = {"OPENBLAS_CORETYPE",       "BLIS_ARCH_TYPE",
                                                       "ONEDNN_MAX_CPU_ISA",      "DNNL_MAX_CPU_ISA",
                                                       "MKL_ENABLE_INSTRUCTIONS", "LIBXSMM_TARGET"};
constexpr std::array<std::string_view, 10> kPrefixes = {"OMP_",  "GOMP_", "KMP_",    "OPENBLAS_", "GOTO_",
                                                        "BLIS_", "MKL_",  "ONEDNN_", "DNNL_",     "LIBXSMM_"};

}  // namespace

std::span<const std::string_view> recorded_settings() noexcept { return kRecorded; }

bool is_unrecorded_setting(std::string_view variable) noexcept {
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return variable.starts_with(prefix); }) &&
         std::ranges::find(kRecorded, variable) == kRecorded.end();
}

}  // namespace attune
