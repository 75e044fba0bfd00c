// SPDX-License-Identifier: MIT
#pragma once
#include "store/journal.h"

namespace attune {

/// A query's Records alone.
Query records_of(Query query);

/// Journal::visit_outcomes() by way of scan(), for journals whose entries are decoded anyway.
size_t visit_scanned_outcomes(const Journal& journal, const Query& query, const OutcomeVisitor& visit);

}  // namespace attune
