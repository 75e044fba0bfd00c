// SPDX-License-Identifier: MIT
#include "server/request_values.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace attune {

int64_t integer_value(const HttpRequest& request, const std::string& name, int64_t fallback, int64_t min, int64_t max) {
  if (!request.query.contains(name)) return fallback;
  const std::string_view text = request.value(name);
  const auto value = parse_int(text);
  if (!value || *value < min || *value > max)
    fail(ErrorCode::invalid_input, "{} must be a number from {} to {}, got '{}'", name, min, max, shown(text));
  return *value;
}

HttpAnswer json_answer(const nlohmann::ordered_json& document, int status) {
  return json_text_answer(document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), status);
}

HttpAnswer json_text_answer(std::string text, int status) {
  return {.status = status, .type = "application/json", .body = std::move(text) + "\n"};
}

HttpAnswer error_answer(int status, const std::string& sentence) { return json_answer({{"error", sentence}}, status); }

}  // namespace attune
