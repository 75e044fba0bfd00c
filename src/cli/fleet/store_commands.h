// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "store/fleet/fleet_store.h"

namespace attune {

/// The store of a command that makes none: ATTUNE_STORE, else fleet.db in ATTUNE_HOME.
/// For CLI11's check(): why a text is no tag, source or reason: one line of UTF-8, at most 255 bytes. Empty: it is one.
std::string label_error(const std::string& text);

inline std::unique_ptr<FleetStore> existing_fleet_store() { return open_fleet_store("", FleetStoreUse::existing); }

/// A problem as it is shown: the command line of MIOpenDriver for a convolution, else its text.
std::string shown_problem(const std::string& key);

/// `perf_compile`, also of `miopen_perf_compile`. Throws invalid_input, naming the flag, for an unknown step.
FleetStep step_option(const std::string& text, const char* flag);

}  // namespace attune
