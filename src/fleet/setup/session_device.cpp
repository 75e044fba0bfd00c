// SPDX-License-Identifier: MIT
#include "fleet/setup/session_device.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "formats/device_info/device_info.h"

namespace attune {

DeviceInfo device_of_session(const FleetSession& session) {
  auto facts = nlohmann::json::parse(session.environment.device_json, nullptr, false);
  if (!facts.is_object())
    fail(ErrorCode::invalid_input, "the device of session {} cannot be read, use the program that began it",
         session.id);
  if (!facts.contains("bandwidth_gbs")) facts["bandwidth_gbs"] = 0;
  if (!facts.contains("peak_gflops")) facts["peak_gflops"] = nlohmann::json::object();
  return device_from_json(facts, fmt::format("the device of session {}", session.id));
}

}  // namespace attune
