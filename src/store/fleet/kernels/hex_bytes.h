// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace attune {

/// The bytes that FleetDialect::Words::hex gave.
std::string bytes_of_hex(std::string_view digits);
/// The digits that FleetDialect::Words::bytes takes.
std::string hex_of_bytes(std::string_view bytes);

}  // namespace attune
