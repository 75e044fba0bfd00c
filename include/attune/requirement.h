// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>

#include "attune/export.h"

namespace attune {

/// Requirement of the results of a kernel, beyond being correct. Each level includes those before it.
///   deterministic: the same operands give the same bits in every launch, in every process and however the threads are
///     scheduled, on one machine with one thread limit;
///   batch_invariant: besides, a row of the result does not depend on M nor on its place among the rows.
enum class Requirement : uint8_t { none, deterministic, batch_invariant };

/// The form in options and tables: `` (empty), `deterministic`, `batch-invariant`.
ATTUNE_API std::string_view text(Requirement requirement) noexcept;
/// Inverse of text(). Throws invalid_input with a sentence that names the words.
ATTUNE_API Requirement parse_requirement(std::string_view text);

/// Whether what is stated suffices for what is required.
constexpr bool meets(Requirement stated, Requirement required) noexcept { return stated >= required; }

}  // namespace attune
