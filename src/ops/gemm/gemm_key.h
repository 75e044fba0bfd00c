// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "attune/gemm.h"
#include "attune/key.h"

namespace attune {

/// A field of GemmKey.
enum class GemmField : uint8_t { m, n, k, batch, in, out, bias, scale_ab, bpreshuffle, trans_a, trans_b };

namespace gemm_key {

template <GemmField kField>
int64_t value(const GemmKey& key) noexcept {
  using enum GemmField;
  if constexpr (kField == m) return key.m;
  if constexpr (kField == n) return key.n;
  if constexpr (kField == k) return key.k;
  if constexpr (kField == batch) return key.batch;
  if constexpr (kField == in) return static_cast<int64_t>(key.in);
  if constexpr (kField == out) return static_cast<int64_t>(key.out);
  if constexpr (kField == bias) return (key.flags & GemmKey::bias) != 0;
  if constexpr (kField == scale_ab) return (key.flags & GemmKey::scale_ab) != 0;
  if constexpr (kField == bpreshuffle) return (key.flags & GemmKey::bpreshuffle) != 0;
  if constexpr (kField == trans_a) return (key.flags & GemmKey::trans_a) != 0;
  if constexpr (kField == trans_b) return (key.flags & GemmKey::b_is_kn) == 0;
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

/// Writes the fields in this order, without those at the end that have their defaults. Returns false if the key asks
/// for a batch, a bias or an order of operands that the op has no attribute for: it would be ignored, and another
/// product computed.
template <GemmField... kRequired, GemmField... kOptional>
bool fill(RequiredFields<kRequired...>, OptionalFields<kOptional...>, const GemmKey& from, Key& to) noexcept {
  using enum GemmField;
  constexpr auto has = [](GemmField field) { return ((kRequired == field) || ...) || ((kOptional == field) || ...); };
  constexpr auto unless = [](bool is_known, GemmKey::Flag flag) { return is_known ? 0U : static_cast<unsigned>(flag); };
  constexpr unsigned kUnknown = unless(has(bias), GemmKey::bias) | unless(has(trans_a), GemmKey::trans_a) |
                                unless(has(trans_b), GemmKey::b_is_kn);
  if ((from.flags & kUnknown) != 0 || (!has(batch) && from.batch != 1)) return false;
  size_t i = 0;
  ((to[i++] = value<kRequired>(from)), ...);
  size_t size = i;
  if ((from.flags & (flag_of(kOptional) | ... | 0U)) != 0) {
    const GemmKey plain;
    ((to[i++] = value<kOptional>(from), size = value<kOptional>(from) != value<kOptional>(plain) ? i : size), ...);
  }
  to.resize(from.op, size);
  return true;
}

}  // namespace gemm_key

/// Converts a typed key; a test compares the order of the fields with the schemas. Returns false for an op that is no
/// matrix product, and for a batch, a bias or an order of operands that the op does not have. About 1 ns.
inline bool to_key(const GemmKey& from, Key& to) noexcept {
  using enum GemmField;
  using gemm_key::OptionalFields, gemm_key::RequiredFields;
  switch (from.op) {
    case OpId::gemm_a16w16:
      return gemm_key::fill(RequiredFields<m, n, k, bias, in, out>(),
                            OptionalFields<scale_ab, bpreshuffle, trans_a, trans_b>(), from, to);
    case OpId::gemm_a8w8:
      return gemm_key::fill(RequiredFields<m, n, k, in, out>(), OptionalFields<bias>(), from, to);
    case OpId::gemm_a8w8_bpreshuffle:
      return gemm_key::fill(RequiredFields<m, n, k, in>(), OptionalFields<>(), from, to);
    case OpId::gemm_a8w8_blockscale:
      return gemm_key::fill(RequiredFields<m, n, k, in, out>(), OptionalFields<>(), from, to);
    case OpId::gemm_a4w4_blockscale:
      return gemm_key::fill(RequiredFields<m, n, k, out>(), OptionalFields<bpreshuffle>(), from, to);
    case OpId::gemm_a8w8_blockscale_bpreshuffle:
      return gemm_key::fill(RequiredFields<m, n, k>(), OptionalFields<>(), from, to);
    case OpId::batched_gemm_bf16:
    case OpId::batched_gemm_a8w8:
      return gemm_key::fill(RequiredFields<batch, m, n, k>(), OptionalFields<>(), from, to);
    default:
      return false;
  }
}
/// Like above. Throws invalid_input, which names the op, if it returns false.
Key checked_key(const GemmKey& from);
/// Returns the typed key of a short key; nothing if it has values that GemmKey has no field for.
std::optional<GemmKey> to_gemm_key(const Key& key) noexcept;

}  // namespace attune
