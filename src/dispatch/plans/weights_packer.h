// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attune/key.h"
#include "attune/weights.h"
#include "dispatch/plans/plan_maker.h"
#include "dispatch/table/key_codes.h"
#include "dispatch/table/row_index.h"
#include "dispatch/table/weights_layouts.h"

namespace attune {

/// Chooses the layouts that tables name for some weights, and how to pack them. Not thread-safe.
class WeightsPacker {
 public:
  struct PackingChoice {
    const LayoutSet* layouts = nullptr;
    std::vector<WeightPacking> packings;  ///< By layout. Opaque ones call a library: one thread at a time.
    uint64_t plain_bytes = 0;
  };
  /// `maker`: must outlive the packings. `key`: of packed weights; its M is ignored. Throws invalid_input for a
  /// key that is no problem; unavailable when no solver packs its weights or no copy is within the limit.
  PackingChoice choose(PlanMaker& maker, const KeyCodes& codes, const RowIndex& rows, const Key& key,
                       const PackOptions& options);

 private:
  /// A candidate layout for the weights, and the solver that packs it.
  struct Choice {
    std::string layout, solver;
    int64_t m = 1;  ///< M for which the solver offers the layout; a library's offer may depend on M.
    size_t num_rows = 0;
    double us = 0;  ///< Sum over all rows.
  };
  static std::vector<Choice> choices_of_rows(PlanMaker& maker, const KeyCodes& codes, const RowIndex& rows,
                                             const Key& key);
  static Choice choice_without_rows(PlanMaker& maker, const KeyCodes& codes, const Key& key);
  const LayoutSet& set_of(std::vector<std::string> names);

  std::map<std::vector<std::string>, std::unique_ptr<const LayoutSet>> sets_;  ///< Never freed: answers point to them.
};

}  // namespace attune
