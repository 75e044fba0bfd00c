// SPDX-License-Identifier: MIT
#include "solvers/fake/faults.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/variable.h"

namespace attune {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{64} << 20;
constexpr size_t kColumns = 5;

constexpr std::array<std::string_view, 27> kNames = {"segfault",       "abort",        "exit0",      "loop",
                                                     "sleep",          "bomb",         "garbage",    "close",
                                                     "stop",           "double_fork",  "file_limit", "scribble_inputs",
                                                     "scribble_after", "wrong_result", "nan",        "stack",
                                                     "signal_mask",    "chdir",        "throws",     "huge_result_time",
                                                     "by_process",     "by_batch",     "unstated",   "fast",
                                                     "breaks_device",  "slow",         "unsupported"};

constexpr std::array<std::string_view, 3> kSteps = {"prepare", "run", "unload"};

/// Parses the last column of a line.
void read_when(std::string_view text, PlantedFault& fault) {
  constexpr std::string_view kOnce = "once:", kFrom = "from:";
  if (text == "always") return;
  if (text.starts_with(kOnce) && text.size() > kOnce.size()) {
    fault.once_path = text.substr(kOnce.size());
    return;
  }
  const auto number = text.starts_with(kFrom) ? parse_int(text.substr(kFrom.size())) : std::nullopt;
  if (!number || *number < 1)
    fail(ErrorCode::invalid_input, "the last column must be always, once:PATH or from:N with N of 1 or more, got '{}'",
         shown(text));
  if (fault.step != FaultStep::run)
    fail(ErrorCode::invalid_input, "launches are counted in step run only, got '{}'", shown(text));
  fault.from_launch = static_cast<uint64_t>(*number);
}

PlantedFault read_line(std::string_view line) {
  const auto columns = split(line, '\t');
  if (columns.size() != kColumns) {
    fail(ErrorCode::invalid_input,
         "a fault has five columns separated by tabs: problem, config, fault, step, when; got {}", columns.size());
  }
  PlantedFault planted;
  if (columns[0] != "*") planted.problem = Problem::parse(columns[0]).key();
  planted.config = Config::parse(columns[1]);
  const auto fault = parse_fault(columns[2]);
  if (!fault) fail(ErrorCode::invalid_input, "unknown fault '{}'", shown(columns[2]));
  planted.fault = *fault;
  const auto step = std::find(kSteps.begin(), kSteps.end(), columns[3]);
  if (step == kSteps.end())
    fail(ErrorCode::invalid_input, "the step must be prepare, run or unload, got '{}'", shown(columns[3]));
  planted.step = static_cast<FaultStep>(step - kSteps.begin());
  if (planted.step != FaultStep::run && needs_launch(planted.fault))
    fail(ErrorCode::invalid_input, "{} is a fault of step run", name(planted.fault));
  if (planted.step != FaultStep::prepare &&
      (planted.fault == InjectedFault::fast || planted.fault == InjectedFault::unstated))
    fail(ErrorCode::invalid_input, "{} is a fault of step prepare", name(planted.fault));
  read_when(columns[4], planted);
  return planted;
}

}  // namespace

std::string_view name(InjectedFault fault) noexcept { return kNames[static_cast<size_t>(fault)]; }

std::optional<InjectedFault> parse_fault(std::string_view text) noexcept {
  const auto found = std::find(kNames.begin(), kNames.end(), text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<InjectedFault>(found - kNames.begin());
}

bool needs_launch(InjectedFault fault) noexcept {
  return fault == InjectedFault::scribble_inputs || fault == InjectedFault::scribble_after ||
         fault == InjectedFault::wrong_result || fault == InjectedFault::nan ||
         fault == InjectedFault::huge_result_time || fault == InjectedFault::by_process ||
         fault == InjectedFault::by_batch || fault == InjectedFault::breaks_device;
}

bool is_healthy(InjectedFault fault) noexcept {
  return fault == InjectedFault::unstated || fault == InjectedFault::double_fork ||
         fault == InjectedFault::signal_mask || fault == InjectedFault::chdir || fault == InjectedFault::fast;
}

FaultList FaultList::parse(std::string_view text, std::string_view file) {
  FaultList list;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (trim(line).empty() || line.starts_with('#')) continue;
    try {
      list.faults_.push_back(read_line(line));
    } catch (Error& error) {
      error.add_context(fmt::format("{}:{}", file, number));
      throw;
    }
  }
  return list;
}

FaultList FaultList::of_environment() {
  const char* file = variable_value("ATTUNE_FAKE_FAULTS");
  if (file == nullptr || *file == '\0') return {};
  return parse(read_file(file, kMaxBytes), file);
}

std::vector<PlantedFault> FaultList::of(const Problem& problem, const Config& config, FaultStep step) const {
  std::vector<PlantedFault> found;
  for (const PlantedFault& one : faults_) {
    if (one.step != step || one.config != config) continue;
    if (one.problem.empty() || one.problem == problem.key()) found.push_back(one);
  }
  return found;
}

}  // namespace attune
