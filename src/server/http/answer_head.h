// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

#include "server/http/http_message.h"

namespace attune {

/// How the receiver learns where the body of an answer ends.
enum class BodyEnd : uint8_t { length, chunks, close };

/// The lines before the body of an answer, with those that every answer has: scripts, styles and frames of others are
/// forbidden, and so is guessing of types. `closes`: the connection has no further request.
std::string answer_head(const HttpAnswer& answer, BodyEnd end, bool closes);

}  // namespace attune
