// SPDX-License-Identifier: MIT
#pragma once
#include "store/fleet/fleet_connection.h"

namespace attune {

/// docs/formats/fleet_store.md describes the tables.
inline constexpr int kFleetSchemaVersion = 4;

/// Brings a store to kFleetSchemaVersion. Programs that do so at once wait for each other; a migration that was
/// interrupted is finished. Turns a file's WAL on. Throws invalid_input for a database of another program, a newer
/// schema, and a user who may not make tables.
void migrate_fleet(FleetConnection& connection);
/// Throws invalid_input for a database of another program and for another schema than this program's. Changes nothing.
void check_fleet_schema(FleetConnection& connection);

}  // namespace attune
