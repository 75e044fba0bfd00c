// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

#include "fleet/setup/session_import.h"

namespace attune {

/// Reads a session of MITuna's database on MariaDB or MySQL: the convolutions that it has jobs or results of, their
/// tags, and the rows of its find-db. Writes nothing. `address`: as older_database_address() reads it. `session`: its
/// number there; 0: the database has one. `tag`: a further tag; empty: none. Throws invalid_input for a database
/// without these tables or that session, and StoreAway.
ForeignSession read_mituna_session(const std::string& address, int64_t session, const std::string& tag);

}  // namespace attune
