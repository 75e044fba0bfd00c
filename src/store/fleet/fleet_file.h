// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "store/fleet/store_address.h"
#include "store/sql_connection.h"

namespace attune {

/// The application id in the header of a fleet's store in SQLite ("Attf").
inline constexpr int kFleetApplicationId = 0x41747466;

inline constexpr DatabaseWords kFleetWords = {
    .noun = "the fleet's store", .one = "a fleet's store", .setting = "ATTUNE_STORE", .asks_process = false};

/// Makes the file of a store (mode 0600, its folder 0700), or checks the one that is there. Throws invalid_input for a
/// link, another kind of file, a file of another program and one that this user may not write. A network file system is
/// refused, too: SQLite cannot rely on its locks.
void claim_fleet_file(const std::filesystem::path& file);

/// The address of a store (see store_address()), whose file is claimed.
StoreAddress claimed_address(const std::string& store);

/// The name of a network file system by its number (statfs::f_type); empty: a local or an unknown one.
std::string_view network_file_system(int64_t number) noexcept;
/// The same of the file system that holds a path or, if it is not there yet, its nearest folder that is.
std::string_view network_file_system(const std::filesystem::path& path);

/// Throws invalid_input: the database has tables of another program.
[[noreturn]] void fail_other_program(const std::string& store);

}  // namespace attune
