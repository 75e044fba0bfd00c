// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "core/candidate.h"
#include "core/outcome.h"
#include "core/record.h"

namespace attune {

/// Values as JSON, for the journal (stored as text) and the worker's messages (sent as CBOR); x_from(json_of(x)) == x.
/// Numbers stay numbers, finite or not: a writer of text must replace infinities and NaN by words, which real_from()
/// reads.
nlohmann::json json_of(const Candidate& candidate);
nlohmann::json json_of(const Protocol& protocol);
nlohmann::json json_of(const Errors& errors);
nlohmann::json json_of(const Sample& sample);
nlohmann::json json_of(const Measurement& measurement);
nlohmann::json json_of(const Outcome& outcome);

/// Inverses of json_of(). These functions, and those for numbers below, throw invalid_input or an exception of
/// nlohmann::json; the caller converts it, since it knows the source. Unknown members are ignored; missing ones are
/// errors.
Candidate candidate_from(const nlohmann::json& value);
Protocol protocol_from(const nlohmann::json& value);
Errors errors_from(const nlohmann::json& value);
Sample sample_from(const nlohmann::json& value);
Timing timing_from(const nlohmann::json& value);
Measurement measurement_from(const nlohmann::json& value);
Outcome outcome_from(const nlohmann::json& value);

/// A number, or one of the words inf, -inf, nan.
double real_from(const nlohmann::json& value);
/// Whole numbers within the type's range; no value is rounded, truncated or wrapped.
uint64_t uint64_from(const nlohmann::json& value);
uint32_t uint32_from(const nlohmann::json& value);
int64_t int64_from(const nlohmann::json& value);

}  // namespace attune
