// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "attune/gemm.h"
#include "dispatch/table/key_codes.h"

namespace attune {

/// The layouts of some weights' copies. A dispatcher has one object for each set and never frees it; two sets are equal
/// if their addresses are.
struct LayoutSet {
  static constexpr size_t kMax = 8;
  std::vector<std::string> names;
  std::vector<int64_t> codes;  ///< Codes of the layouts, in the order of `names`.
  int64_t code = 0;            ///< Code of the whole set, for answers; never 0, which means plain operands.

  /// Returns the group keys of a problem's rows, one for each layout.
  std::vector<GroupKey> group_keys(const KeyCodes& own, const GemmKey& key) const {
    const KeyCodes::Codes values = own.codes(key);
    std::vector<GroupKey> all;
    for (const int64_t one : codes) all.push_back(own.group_key(values, one));
    return all;
  }
};

/// A lookup request: a problem, the layouts of its weights if they are packed ahead, and the thread limit.
struct LookupRequest {
  GemmKey key;
  const LayoutSet* layouts = nullptr;  ///< Null: the weights are a plain operand.
  int64_t units = 0;                   ///< Units of the device under the thread limit of the call.

  ProblemKey hash(const KeyCodes& codes) const noexcept {
    return layouts == nullptr ? codes.hash(key) : codes.group_key(codes.codes(key), layouts->code).with_m(key.m);
  }
};

}  // namespace attune
