// SPDX-License-Identifier: MIT
#include "report/comparison_output.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace attune {

std::string ratio_text(const Comparison& comparison) {
  if (comparison.ratio == 0) return "unknown";
  return fmt::format("{:.3f}× [{:.3f}, {:.3f}]", comparison.ratio, comparison.interval.low, comparison.interval.high);
}

void add_comparison(nlohmann::ordered_json& object, const Comparison& comparison) {
  object["us"] = comparison.us;
  const bool is_known = comparison.ratio > 0;
  object["speedup"] = is_known ? nlohmann::ordered_json(comparison.ratio) : nullptr;
  object["interval"] = nullptr;
  if (is_known) object["interval"] = {comparison.interval.low, comparison.interval.high};
  object["clean_pairs"] = comparison.num_clean;
}

}  // namespace attune
