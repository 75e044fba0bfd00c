// SPDX-License-Identifier: MIT
#include "compile/ptxas_report.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace attune {
namespace {

/// The largest number before a word in the assembler's report: 40 of `Used 40 registers, used 1 barriers`.
std::optional<uint64_t> largest_before(std::string_view log, std::string_view word) {
  std::optional<uint64_t> largest;
  for (size_t at = log.find(word); at != log.npos; at = log.find(word, at + 1)) {
    size_t begin = at;
    while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9') --begin;
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(log.data() + begin, log.data() + at, number);
    if (begin < at && error == std::errc()) largest = std::max(largest.value_or(0), number);
  }
  return largest;
}

}  // namespace

std::map<std::string, std::string> ptxas_report(std::string_view log) {
  std::map<std::string, std::string> found;
  const auto add = [&](const char* name, std::optional<uint64_t> value) {
    if (value) found.emplace(name, std::to_string(*value));
  };
  add("registers", largest_before(log, " registers"));
  const auto stored = largest_before(log, " bytes spill stores"), loaded = largest_before(log, " bytes spill loads");
  if (stored && loaded) add("spills", *stored + *loaded);
  add("shared_bytes", largest_before(log, " bytes smem"));
  return found;
}

}  // namespace attune
