// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace attune {

/// The tables of golden sets and foreign results: the store's second migration, in words that every database knows.
inline constexpr std::string_view kCustodyTables =
    "CREATE TABLE golden (version BIGINT NOT NULL, device VARCHAR(128) NOT NULL, configuration VARCHAR(32) NOT NULL,"
    " fingerprint VARCHAR(64) NOT NULL, session BIGINT NOT NULL, added_at BIGINT NOT NULL,"
    " median_us DOUBLE PRECISION NOT NULL, payload TEXT NOT NULL, PRIMARY KEY (version, device, configuration));"
    "CREATE TABLE golden_kernel (version BIGINT NOT NULL, device VARCHAR(128) NOT NULL,"
    " configuration VARCHAR(32) NOT NULL, name VARCHAR(255) NOT NULL, arguments TEXT NOT NULL,"
    " sha256 VARCHAR(64) NOT NULL);"
    "CREATE INDEX golden_kernel_of ON golden_kernel (version, device, configuration);"
    "CREATE TABLE foreign_result (configuration VARCHAR(32) NOT NULL, source VARCHAR(255) NOT NULL,"
    " solver VARCHAR(255) NOT NULL, algorithm VARCHAR(255) NOT NULL, time_ms VARCHAR(64) NOT NULL,"
    " workspace VARCHAR(64) NOT NULL, params TEXT NOT NULL, PRIMARY KEY (configuration, source, solver));";

}  // namespace attune
