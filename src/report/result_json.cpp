// SPDX-License-Identifier: MIT
#include "report/result_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/comparison_output.h"

namespace attune {

std::string repeat_command(const Problem& problem, const Candidate& candidate, const std::string& device_flags) {
  const std::string config = candidate.config.key();
  return fmt::format("attune bench \"{}\" --solver {}{} {}", problem.key(), candidate.solver,
                     config.empty() ? "" : fmt::format(" --config \"{}\"", config), device_flags);
}

std::string decision_json(const Decision& decision, const std::string& device_flags) {
  using nlohmann::ordered_json;
  ordered_json tied = ordered_json::array(), finalists = ordered_json::array();
  for (const Candidate& candidate : decision.tied) tied.push_back(candidate.name());
  for (const Finalist& finalist : decision.finalists) {
    ordered_json one = {{"candidate", finalist.candidate.name()}, {"winner", finalist.candidate == decision.winner}};
    add_comparison(one, decision.has_default() ? finalist.comparison : without_ratio(finalist.comparison));
    if (!finalist.metadata.empty()) one["metadata"] = finalist.metadata;
    finalists.push_back(std::move(one));
  }
  ordered_json object = {{"problem", decision.problem.key()},
                         {"device", decision.device},
                         {"device_id", decision.device_id},
                         {"winner", decision.winner.name()},
                         {"default", nullptr},
                         {"default_us", nullptr},
                         {"verdict", name(decision.verdict)},
                         {"noisy", decision.noisy},
                         {"incomplete", decision.incomplete},
                         {"openings", decision.num_openings},
                         {"pause_cut", decision.pause_cut},
                         {"timing", name(decision.timing)},
                         {"err_ratio", decision.errors.mismatch_ratio},
                         {"max_relative_error", decision.errors.max_relative},
                         {"tied", tied},
                         {"finalists", finalists},
                         {"launches", decision.launches},
                         {"versions", decision.versions},
                         {"protocol", decision.protocol.measured_key() + " " + decision.protocol.searched_key()},
                         {"repeat", repeat_command(decision.problem, decision.winner, device_flags)}};
  if (decision.has_default()) {
    object["default"] = decision.baseline.name();
    object["default_us"] = decision.baseline_us;
  }
  add_comparison(object, decision.over_default());
  if (!decision.reason.empty()) object["reason"] = decision.reason;
  if (const auto& best = decision.best_default)
    object["best_untuned"] = {{"candidate", best->candidate.name()},
                              {"us", best->us},
                              {"speedup", best->ratio},
                              {"screened", best->screened}};
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace attune
