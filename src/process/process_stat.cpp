// SPDX-License-Identifier: MIT
#include "process/process_stat.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace attune {

std::vector<int64_t> process_stat(pid_t pid) {
  std::vector<int64_t> fields;
  try {
    const std::string text = read_file(fmt::format("/proc/{}/stat", pid));
    const auto rest = trim(std::string_view(text).substr(std::min(text.size(), text.rfind(')') + 2)));
    for (const auto field : split(rest, ' ')) fields.push_back(parse_int(field).value_or(0));
  } catch (const Error&) {
    return {};
  }
  return fields.size() > kResidentPages ? fields : std::vector<int64_t>{};
}

}  // namespace attune
