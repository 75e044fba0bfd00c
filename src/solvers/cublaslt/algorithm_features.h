// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "core/space/search_space.h"

namespace attune {

/// What the ids of cuBLASLt's tiles and clusters stand for, `rows` and `columns` each, as the header says that this was
/// built with. The library computes transposed: rows of its tiles cover N, columns M.
std::vector<Meaning> meanings_of_ids();
/// Tiles of a product (with the parts of K), rounds of all multiprocessors that they take (`waves`), how full these
/// are, products that one multiprocessor adds, and an estimate of the time.
std::vector<Feature> algorithm_features();

}  // namespace attune
