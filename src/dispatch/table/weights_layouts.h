// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "attune/key.h"
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
  std::vector<GroupKey> group_keys(const KeyCodes& own, const Key& key) const {
    std::vector<GroupKey> all;
    for (const int64_t one : codes) all.push_back(own.group_key(key, one));
    return all;
  }
};

/// A lookup request: a problem, the layouts of its weights if they are packed ahead, and the thread limit.
struct LookupRequest {
  Key key;                             ///< Short.
  const LayoutSet* layouts = nullptr;  ///< Null: the weights are a plain operand.
  int64_t units = 0;                   ///< Units of the device under the thread limit of the call.

  ProblemKey hash(const KeyCodes& codes) const noexcept {
    return codes.hash(key, layouts == nullptr ? 0 : layouts->code);
  }
};

}  // namespace attune
