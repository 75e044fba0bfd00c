// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "device/devices.h"
#include "dispatch/capture/capture_files.h"
#include "formats/csv/table.h"
#include "ops/family.h"

namespace attune {

/// The files, device and requirement of commands that tune captured shapes.
struct TuneCommandInputs {
  std::span<const std::filesystem::path> captures;  ///< Folders and files of the shapes; at least one.
  std::span<const Table> named_tables;              ///< Empty: new rows belong to a table of the run time.
  DeviceChoice device;
  Requirement require = Requirement::none;  ///< Requirement that the new rows must state.
};

/// Returns the commands that tune the shapes of one family: `attune tune`, after `attune capture merge` unless one list
/// holds them all. Rows go to the first named table of the family, or to the first file that the family's variable
/// names. Looks which lists exist; reads the environment if there are no named tables.
std::vector<std::string> tune_commands(const FamilySpec& family, const TuneCommandInputs& inputs);

/// Returns the commands for each family of the shapes that this build can tune, in the order of families().
std::vector<std::string> tune_commands(std::span<const CalledShape> shapes, const TuneCommandInputs& inputs);

}  // namespace attune
