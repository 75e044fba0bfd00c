// SPDX-License-Identifier: MIT
#include "fleet/agent/agent_store.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "campaign/interrupt.h"
#include "fleet/agent/agent_name.h"
#include "report/time_report.h"
#include "store/fleet/store_away.h"

namespace attune {
namespace {

constexpr int kMaxWaitMs = 10'000;  // For a lock of the store: leases last longer.

}  // namespace

std::unique_ptr<FleetStore> open_patiently(double patience_s) {
  constexpr double kPauseS = 1;
  const double began_s = steady_clock().now_s();
  for (bool said = false;; said = true) {
    try {
      return open_fleet_store("", FleetStoreUse::existing, kMaxWaitMs);
    } catch (const StoreAway& error) {
      if (steady_clock().now_s() >= began_s + patience_s) throw;
      if (!said)
        print_line(stderr, fmt::format("note: {}; waiting for at most {}", error.what(), format_duration(patience_s)));
    }
    steady_clock().sleep_s(kPauseS);
    if (is_interrupted()) return nullptr;
  }
}

void DeviceLosses::add(const std::string& why) {
  if (!known_.insert(why).second) return;
  try {
    store_.add_event(session_, {.at = {}, .agent = agent_name(), .kind = "device_lost", .text = why});
  } catch (const Error& error) {
    print_line(stderr, fmt::format("note: the store does not have the loss of a device: {}", error.what()));
  }
}

}  // namespace attune
