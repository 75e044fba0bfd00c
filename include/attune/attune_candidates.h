// SPDX-License-Identifier: MIT
#pragma once
#include "attune/attune.h"

/// The candidates of a problem, for C: their names, and the numbers by which attune_run_candidate() takes them as well
/// (`cublaslt#17`). The general rules in attune.h hold for this function too.

#ifdef __cplusplus
extern "C" {
#endif

/// A candidate. The texts are valid during the call that receives it.
typedef struct {
  size_t size;
  const char* solver;  ///< Id of its solver: `cublaslt.gemm`.
  uint64_t number;     ///< Place in the solver's list for the problem on this device, with the library that is loaded.
  const char* short_name;  ///< `cublaslt#17`: valid in this process.
  const char* name;        ///< In full, as in tables.
} attune_candidate;

/// Receives a candidate; returns 0 to go on, anything else to end the list.
typedef int (*attune_candidate_receiver)(void* data, const attune_candidate* candidate);

/// Lists the candidates of a problem in the text form of attune_problem_key(): of each solver the first `limit`
/// whose numbers are at least `first`, in ascending order; the next page begins behind the last one's number. `solver`:
/// id of the only solver, or its first part (`cublaslt`); null: all. `num_numbers` (may be null): no solver's number is
/// as large. Nothing is run or compiled; the receiver may call the dispatcher. A long list takes a second at its first
/// call for a problem. ATTUNE_UNAVAILABLE for a solver that is not there.
ATTUNE_API int attune_candidates(attune_dispatcher* dispatcher, const char* problem, const char* solver, uint64_t first,
                                 uint64_t limit, attune_candidate_receiver receiver, void* data, uint64_t* num_numbers);

#ifdef __cplusplus
}
#endif
