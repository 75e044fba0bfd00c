// SPDX-License-Identifier: MIT
#include "report/result_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace attune {

std::string repeat_command(const Problem& problem, const Candidate& candidate, const std::string& device_id) {
  return fmt::format("attune bench \"{}\" --solver {} --config \"{}\" --devices {}", problem.key(), candidate.solver,
                     candidate.config.key(), device_id);
}

std::string decision_json(const Decision& decision, const std::string& device_id) {
  using nlohmann::ordered_json;
  ordered_json tied = ordered_json::array(), finalists = ordered_json::array();
  for (const Candidate& candidate : decision.tied) tied.push_back(candidate.name());
  for (const Finalist& finalist : decision.finalists) {
    finalists.push_back({{"candidate", finalist.candidate.name()},
                         {"us", finalist.us},
                         {"speedup", finalist.ratio},
                         {"interval", {finalist.ratio_low, finalist.ratio_high}},
                         {"clean_pairs", finalist.num_clean}});
  }
  const ordered_json object = {{"problem", decision.problem.key()},
                               {"device", decision.device},
                               {"winner", decision.winner.name()},
                               {"us", decision.winner_us},
                               {"default", decision.baseline.name()},
                               {"default_us", decision.baseline_us},
                               {"speedup", decision.ratio},
                               {"interval", {decision.ratio_low, decision.ratio_high}},
                               {"verdict", name(decision.verdict)},
                               {"noisy", decision.noisy},
                               {"incomplete", decision.incomplete},
                               {"clean_pairs", decision.num_clean},
                               {"err_ratio", decision.errors.mismatch_ratio},
                               {"max_relative_error", decision.errors.max_relative},
                               {"tied", tied},
                               {"finalists", finalists},
                               {"launches", decision.launches},
                               {"versions", decision.versions},
                               {"protocol", decision.protocol.measured_key() + " " + decision.protocol.searched_key()},
                               {"repeat", repeat_command(decision.problem, decision.winner, device_id)}};
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace attune
