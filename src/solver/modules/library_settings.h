// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string_view>

namespace attune {

/// Environment variables that select a library's instructions. Their effect is part of the versions that backends
/// report, so results under different values never mix.
std::span<const std::string_view> recorded_settings() noexcept;

/// Whether a variable is any other setting of OpenMP or of a solver's library, such as OMP_DYNAMIC or
/// OPENBLAS_NUM_THREADS. No result states it, so no library that is measured sees it.
bool is_unrecorded_setting(std::string_view variable) noexcept;

}  // namespace attune
