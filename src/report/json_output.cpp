// SPDX-License-Identifier: MIT
#include "report/json_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace attune {

void print_json(const nlohmann::ordered_json& document) {
  std::printf("%s\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

}  // namespace attune
