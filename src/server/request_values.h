// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "server/http/http_message.h"

namespace attune {

/// The most lines of a page.
inline constexpr int64_t kMaxLimit = 1000;
/// The largest id: JavaScript's numbers hold no larger ones exactly.
inline constexpr int64_t kMaxId = int64_t{1} << 53;

/// An integer of a request's query; `fallback` where it is left out. Throws invalid_input for another text and one
/// out of the range.
int64_t integer_value(const HttpRequest& request, const std::string& name, int64_t fallback, int64_t min, int64_t max);
/// A document as an answer. Bytes that are not UTF-8 are replaced.
HttpAnswer json_answer(const nlohmann::ordered_json& document, int status = 200);
/// The same of a document's text.
HttpAnswer json_text_answer(std::string text, int status = 200);
/// `{"error": "…"}`
HttpAnswer error_answer(int status, const std::string& sentence);

}  // namespace attune
