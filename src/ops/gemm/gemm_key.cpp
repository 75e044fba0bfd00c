// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_key.h"

#include <array>

#include "base/error.h"
#include "base/text.h"
#include "ops/family.h"

namespace attune {
namespace {

/// The field of an attribute; none: GemmKey has no field for it.
struct FieldName {
  std::string_view attribute;
  GemmField field;
};
constexpr std::array<FieldName, 12> kFieldNames = {{{"m", GemmField::m},
                                                    {"n", GemmField::n},
                                                    {"k", GemmField::k},
                                                    {"batch", GemmField::batch},
                                                    {"dtype", GemmField::in},
                                                    {"q_dtype_w", GemmField::in},
                                                    {"outdtype", GemmField::out},
                                                    {"bias", GemmField::bias},
                                                    {"scale_ab", GemmField::scale_ab},
                                                    {"bpreshuffle", GemmField::bpreshuffle},
                                                    {"trans_a", GemmField::trans_a},
                                                    {"trans_b", GemmField::trans_b}}};

void set(GemmKey& key, GemmField field, int64_t value) {
  const auto flag = [&](uint8_t mask, bool is_set) {
    key.flags = static_cast<uint8_t>(is_set ? key.flags | mask : key.flags & ~mask);
  };
  switch (field) {
    case GemmField::m:
      key.m = value;
      break;
    case GemmField::n:
      key.n = value;
      break;
    case GemmField::k:
      key.k = value;
      break;
    case GemmField::batch:
      key.batch = value;
      break;
    case GemmField::in:
      key.in = static_cast<DType>(value);
      break;
    case GemmField::out:
      key.out = static_cast<DType>(value);
      break;
    case GemmField::bias:
      flag(GemmKey::bias, value != 0);
      break;
    case GemmField::scale_ab:
      flag(GemmKey::scale_ab, value != 0);
      break;
    case GemmField::bpreshuffle:
      flag(GemmKey::bpreshuffle, value != 0);
      break;
    case GemmField::trans_a:
      flag(GemmKey::trans_a, value != 0);
      break;
    case GemmField::trans_b:
      flag(GemmKey::b_is_kn, value == 0);
      break;
  }
}

}  // namespace

Key checked_key(const GemmKey& from) {
  Key key;
  if (to_key(from, key)) return key;
  for (const FamilySpec& family : families()) {
    if (family.number == from.op)
      fail(ErrorCode::invalid_input, "{} does not support this batch, bias or order of operands: batch={} flags={}",
           family.op, from.batch, from.flags);
  }
  fail(ErrorCode::invalid_input, "unknown op number: {}", static_cast<int>(from.op));
}

std::optional<GemmKey> to_gemm_key(const Key& key) noexcept {
  for (const FamilySpec& family : families()) {
    if (family.number != key.op() || key.size() > family.key.size()) continue;
    GemmKey made{.op = key.op()};
    for (size_t i = 0; i < key.size(); ++i) {
      for (const FieldName& name : kFieldNames) {
        if (name.attribute == family.key[i].name) set(made, name.field, key[i]);
      }
    }
    Key again;
    if (to_key(made, again) && again == key) return made;
  }
  return std::nullopt;
}

}  // namespace attune
