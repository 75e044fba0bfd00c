// SPDX-License-Identifier: MIT
#include "core/candidate.h"

#include <algorithm>

#include "base/error.h"

namespace attune {
namespace {
bool is_id(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '+' || c == '-';
  });
}
}  // namespace

std::string Candidate::name() const { return solver + '@' + version + ':' + config.key(); }

std::string Candidate::nested_name() const { return solver + '@' + version + ":[" + config.key() + ']'; }

Candidate Candidate::parse_nested(std::string_view name) {
  const auto bracket = name.find(":[");
  if (bracket == std::string_view::npos || !name.ends_with(']'))
    fail(ErrorCode::invalid_input, "expected a part's candidate as solver@version:[config], got '{}'",
         name.substr(0, 200));
  const std::string_view config = name.substr(bracket + 2, name.size() - bracket - 3);
  return parse(std::string(name.substr(0, bracket + 1)).append(config));
}

Candidate Candidate::parse(std::string_view name) {
  const auto at = name.find('@');
  const auto colon = at == std::string_view::npos ? at : name.find(':', at);
  if (colon == std::string_view::npos || !is_id(name.substr(0, at)) || !is_id(name.substr(at + 1, colon - at - 1))) {
    fail(ErrorCode::invalid_input, "expected a candidate as solver@version:config, got '{}'", name.substr(0, 200));
  }
  return {std::string(name.substr(0, at)), std::string(name.substr(at + 1, colon - at - 1)),
          Config::parse(name.substr(colon + 1))};
}

}  // namespace attune
