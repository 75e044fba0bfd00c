// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "dispatch/table/row_index.h"

namespace attune {

/// Returns the index that a dispatcher of this process uses under the key, else a new one from `make`. `key`: names all
/// that the rows depend on. Several dispatchers on devices of one fingerprint so hold one index. Whoever wants
/// the same index waits for the one that makes it, and nobody else does. Requires: a LibraryUse, so that no fork()
/// finds a lock held.
std::shared_ptr<const RowIndex> shared_rows(const std::string& key,
                                            const std::function<std::shared_ptr<const RowIndex>()>& make);

}  // namespace attune
