// SPDX-License-Identifier: MIT
#include "store/outcome_scan.h"

#include <utility>

namespace attune {

Query records_of(Query query) {
  query.records = true;
  query.started = query.decisions = query.pardons = query.runs = query.bans = false;
  return query;
}

size_t visit_scanned_outcomes(const Journal& journal, const Query& query, const OutcomeVisitor& visit) {
  return journal.scan(records_of(query), [&](const Entry& entry, const Stamp& stamp) {
    visit(heading_of(entry, stamp), std::get<Record>(entry).outcome);
  });
}

}  // namespace attune
