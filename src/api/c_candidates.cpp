// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>

#include "api/c_calls.h"
#include "attune/attune_candidates.h"
#include "attune/candidates.h"

using namespace attune;

extern "C" int attune_candidates(attune_dispatcher* dispatcher, const char* problem, const char* solver, uint64_t first,
                                 uint64_t limit, attune_candidate_receiver receiver, void* data,
                                 uint64_t* num_numbers) {
  return guarded([&] {
    needed(receiver, "receiver");
    const CandidateRange range{solver == nullptr ? std::string() : solver, first, limit};
    const auto all = used(dispatcher).candidates(needed(problem, "problem"), range);
    uint64_t max = 0;
    for (const SolverCandidates& own : all) max = std::max(max, own.num_numbers);
    if (num_numbers != nullptr) *num_numbers = max;
    for (const SolverCandidates& own : all) {
      for (const NumberedCandidate& one : own.candidates) {
        const attune_candidate given{sizeof given, own.solver.c_str(), one.number, one.short_name.c_str(),
                                     one.name.c_str()};
        if (receiver(data, &given) != 0) return;
      }
    }
  });
}
