// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

#include "fleet/setup/session_import.h"

namespace attune {

/// What to read of MITuna's database.
struct MitunaChoice {
  std::string address;         ///< As older_database_address() reads it.
  int64_t session = 0;         ///< Its number there; 0: the database has one.
  int64_t golden_version = 0;  ///< Instead of a session: a golden version.
  MiopenDevice device;         ///< Of the golden version; empty: it has one.
  std::string tag;             ///< A further tag; empty: none.
};

/// Reads a session of MITuna's database on MariaDB or MySQL: the convolutions with jobs or results, their tags, and the
/// rows of its find-db; or the same of a golden version. Writes nothing. Throws invalid_input for a database without
/// these tables and for a choice that it does not have, and StoreAway.
ForeignSession read_mituna(const MitunaChoice& choice);

}  // namespace attune
