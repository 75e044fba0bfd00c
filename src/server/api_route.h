// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>
#include <vector>

namespace attune {

/// A parameter of a route's query.
struct ApiParameter {
  std::string_view name, type, help;  ///< `type`: integer or string.
  bool is_required = false;
  std::vector<std::string_view> values =
      {};  ///< All that it can be, the default one first; empty: anything of its type.
};

/// A path with its parameters, by which requests are checked and described.
struct ApiRoute {
  std::string_view path;
  std::string_view answer;  ///< Name of its schema in answer_schemas().
  std::string_view help;
  std::vector<ApiParameter> parameters;
};

}  // namespace attune
