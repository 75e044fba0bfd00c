// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "store/fleet/fleet_store.h"

namespace attune {

/// For CLI11's check(): why a text is no tag, source or reason: one line of UTF-8, at most 255 bytes. Empty: it is one.
std::string label_error(const std::string& text);

/// The store of a command that makes none: ATTUNE_STORE, else fleet.db in ATTUNE_HOME.
inline std::unique_ptr<FleetStore> existing_fleet_store() { return open_fleet_store("", FleetStoreUse::existing); }

/// A problem as it is shown: the command line of MIOpenDriver for a convolution, else its text.
std::string shown_problem(const std::string& key);

/// The steps of a flag's values, such as `perf_compile,miopen_perf_eval`; none if it was not given. Throws
/// invalid_input, naming the flag, for a value with another word, or none.
std::vector<FleetStep> steps_option(const std::vector<std::string>& typed, const char* flag);

}  // namespace attune
