// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "attune/gemm.h"
#include "attune/key.h"

namespace attune {

/// A field of GemmKey.
enum class GemmField : uint8_t { m, n, k, batch, in, out, bias, scale_ab, bpreshuffle, trans_a, trans_b };

namespace gemm_key {

constexpr int64_t value(GemmField field, const GemmKey& key) noexcept {
  using enum GemmField;
  const auto flag = [&](GemmKey::Flag mask) { return (key.flags & mask) != 0 ? 1 : 0; };
  switch (field) {
    case m:
      return key.m;
    case n:
      return key.n;
    case k:
      return key.k;
    case batch:
      return key.batch;
    case in:
      return static_cast<int64_t>(key.in);
    case out:
      return static_cast<int64_t>(key.out);
    case bias:
      return flag(GemmKey::bias);
    case scale_ab:
      return flag(GemmKey::scale_ab);
    case bpreshuffle:
      return flag(GemmKey::bpreshuffle);
    case trans_a:
      return flag(GemmKey::trans_a);
    case trans_b:
      return 1 - flag(GemmKey::b_is_kn);
  }
  return 0;
}

/// The flag of a field; 0: it has none.
constexpr unsigned flag_of(GemmField field) noexcept {
  using enum GemmField;
  if (field == bias) return GemmKey::bias;
  if (field == scale_ab) return GemmKey::scale_ab;
  if (field == bpreshuffle) return GemmKey::bpreshuffle;
  if (field == trans_a) return GemmKey::trans_a;
  return field == trans_b ? unsigned{GemmKey::b_is_kn} : 0U;
}

template <GemmField... kFields>
struct RequiredFields {};
template <GemmField... kFields>
struct OptionalFields {};

/// Writes the fields in this order, without those at the end that have their defaults. Requires: the op has an
/// attribute for each flag.
template <GemmField... kRequired, GemmField... kOptional>
void fill(RequiredFields<kRequired...>, OptionalFields<kOptional...>, const GemmKey& from, Key& to) noexcept {
  size_t i = 0;
  ((to[i++] = value(kRequired, from)), ...);
  size_t size = i;
  if ((from.flags & (flag_of(kOptional) | ... | 0U)) != 0) {
    const GemmKey plain;
    ((to[i++] = value(kOptional, from), size = value(kOptional, from) != value(kOptional, plain) ? i : size), ...);
  }
  to.resize(from.op, size);
}

/// to_key() for any family, in the order of its attributes. About 10 ns.
bool key_of_family(const GemmKey& from, Key& to) noexcept;

}  // namespace gemm_key

/// Converts a typed key. Returns false for an op that is no matrix product, and for a batch, a bias or an order of
/// operands that the op has no attribute for: it would be ignored, and another product computed. About 1 ns for
/// gemm_a16w16, which frameworks call for each layer.
inline bool to_key(const GemmKey& from, Key& to) noexcept {
  using enum GemmField;
  if (from.op != OpId::gemm_a16w16) return gemm_key::key_of_family(from, to);
  if (from.batch != 1) return false;
  gemm_key::fill(gemm_key::RequiredFields<m, n, k, bias, in, out>(),
                 gemm_key::OptionalFields<scale_ab, bpreshuffle, trans_a, trans_b>(), from, to);
  return true;
}
/// Like above. Throws invalid_input, which names the op, if it returns false.
Key checked_key(const GemmKey& from);
/// Returns the typed key of a short key; nothing if it has values that GemmKey has no field for.
std::optional<GemmKey> to_gemm_key(const Key& key) noexcept;

}  // namespace attune
