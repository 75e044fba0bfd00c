// SPDX-License-Identifier: MIT
#include "store/fleet/fleet_dialect.h"

namespace attune {

const FleetDialect& dialect_of(DatabaseKind kind) {
  switch (kind) {
    case DatabaseKind::sqlite:
      return sqlite_dialect();
    case DatabaseKind::mariadb:
      return mariadb_dialect();
    case DatabaseKind::postgresql:
      break;
  }
  return postgresql_dialect();
}

std::string quoted_parameter(std::string_view name, std::string_view value) {
  std::string text = std::string(name) + "='";
  for (const char one : value) {
    if (one == '\'' || one == '\\') text += '\\';
    text += one;
  }
  return text + "' ";
}

}  // namespace attune
