// SPDX-License-Identifier: MIT
#include "cli/miopen/own_candidates.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "formats/find_db/find_db.h"
#include "measure/contenders.h"
#include "ops/op.h"

namespace attune {

OwnCandidates::OwnCandidates(const DeviceChoice& devices) : environment_(open_environment(devices, Isolation::none)) {}

std::string OwnCandidates::device_name() const {
  return miopen_device_name(environment_.device().gfx, environment_.device().num_units);
}

std::optional<std::string> OwnCandidates::why_none(const Problem& problem, const std::string& solver,
                                                   const std::string& params) {
  const DeviceInfo& device = environment_.device();
  try {
    const Problem normal = op_of(problem).normalise(problem, device);
    if (normal != problem_ || contenders_.empty()) {
      contenders_ = contenders(*environment_.executor, normal, Protocol());
      problem_ = normal;
    }
    const Contender* const contender = find_contender(contenders_, solver);
    if (contender == nullptr || !contender->support.yes) return fmt::format("{} does not compute its config", solver);
    std::string config = params;
    std::ranges::replace(config, ',', ';');
    const Candidate candidate{solver, contender->version, Config::parse(config)};
    return why_unusable(candidate, normal, contender, device);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_input) throw;
    return error.what();
  }
}

}  // namespace attune
