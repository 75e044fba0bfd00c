// SPDX-License-Identifier: MIT
#include "compile/compiler_failure.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

constexpr size_t kLines = 3;
constexpr size_t kCharacters = 400;

bool has_any(std::string_view log, std::span<const std::string_view> phrases) {
  return std::any_of(phrases.begin(), phrases.end(),
                     [&](std::string_view phrase) { return log.find(phrase) != std::string_view::npos; });
}

bool ran_out_of_memory(std::string_view log) {
  static constexpr std::array<std::string_view, 6> kPhrases = {
      "out of memory",  "memory exhausted", "Cannot allocate memory",
      "std::bad_alloc", "bad alloc",        "Killed signal terminated program"};
  return has_any(log, kPhrases);
}

bool crashed(std::string_view log) {
  static constexpr std::array<std::string_view, 3> kPhrases = {"internal compiler error", "PLEASE submit a bug report",
                                                               "signal terminated program"};
  return has_any(log, kPhrases);
}

/// An error with a line number before it: `kernel.c:3:5: error: …`, not the driver's own `clang: error: …`.
bool has_source_error(std::string_view log) {
  for (size_t at = log.find(": error: "); at != std::string_view::npos; at = log.find(": error: ", at + 1)) {
    if (at > 0 && log[at - 1] >= '0' && log[at - 1] <= '9') return true;
  }
  return false;
}

/// The first error and what follows it, in one line that any table can hold.
std::string first_lines(std::string_view log) {
  std::vector<std::string> lines;
  const size_t error = log.find("error");
  const size_t before = error == std::string_view::npos ? error : log.rfind('\n', error);
  for (const std::string_view line : split(before == std::string_view::npos ? log : log.substr(before), '\n')) {
    if (!trim(line).empty()) lines.emplace_back(trim(line));
    if (lines.size() == kLines) break;
  }
  return shown(join(lines, " / "), kCharacters);
}

}  // namespace

Outcome compiler_failure(const WaitStatus& status, std::string_view log, std::string_view toolchain) {
  if (status.end != WaitStatus::End::exited || status.ok()) return outcome_of(status, toolchain);
  // A refused source may hold any of the phrases: in a text or a comment that the compiler quotes.
  const bool refused = has_source_error(log);
  Outcome outcome;
  outcome.status = Status::compile_failed;
  std::string_view what = "refused the source";
  if (!refused && ran_out_of_memory(log)) {
    outcome.status = Status::out_of_memory;
    what = "ran out of memory";
  } else if (!refused && crashed(log)) {
    outcome.status = Status::crashed;
    what = "crashed";
  }
  const std::string lines = first_lines(log);
  outcome.detail = lines.empty() ? fmt::format("{} {} and wrote nothing", toolchain, status.describe())
                                 : fmt::format("{} {}: {}", toolchain, what, lines);
  return outcome;
}

}  // namespace attune
