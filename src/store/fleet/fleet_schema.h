// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "store/sql_connection.h"

namespace attune {

/// docs/formats/fleet_store.md describes the tables.
inline constexpr int kFleetSchemaVersion = 2;

/// The application id in the header of a fleet's store ("Attf").
inline constexpr int kFleetApplicationId = 0x41747466;

inline constexpr DatabaseWords kFleetWords = {
    .noun = "the fleet's store", .one = "a fleet's store", .setting = "ATTUNE_STORE", .asks_process = false};

/// Makes the file of a store (mode 0600, its folder 0700), or checks the one that is there. Throws invalid_input for a
/// link, another kind of file, a file of another program and one that this user may not write.
void claim_fleet_file(const std::filesystem::path& file);

/// Turns the WAL on and brings a store to kFleetSchemaVersion. Throws invalid_input for a database of
/// another program and a newer schema.
void migrate_fleet(SqlConnection& connection, const std::filesystem::path& file);

}  // namespace attune
