// SPDX-License-Identifier: MIT
#include "core/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

constexpr std::array<std::string_view, 12> kStatusNames = {
    "ok",           "unsupported",      "compile_failed", "load_failed", "launch_failed", "out_of_memory",
    "wrong_result", "implausible_time", "timed_out",      "crashed",     "device_lost",   "cancelled"};
constexpr std::array<std::string_view, 3> kStageNames = {"verify", "screen", "final"};
constexpr std::array<std::string_view, 3> kTimingNames = {"clock", "events", "graph"};

template <typename Enum, size_t N>
std::optional<Enum> parse_name(const std::array<std::string_view, N>& names, std::string_view text) noexcept {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

std::string require_field(Requirement require) {
  return require == Requirement::none ? std::string() : fmt::format(" require={}", text(require));
}

bool drifts(std::string_view component) {
  return component.starts_with("driver.") || component.starts_with("compiler.") || component.starts_with("kernel.") ||
         component.starts_with("build.");
}

}  // namespace

std::string_view name(Status status) noexcept { return kStatusNames[static_cast<size_t>(status)]; }
std::optional<Status> parse_status(std::string_view text) noexcept { return parse_name<Status>(kStatusNames, text); }
std::string_view name(Timing timing) noexcept { return kTimingNames[static_cast<size_t>(timing)]; }
std::optional<Timing> parse_timing(std::string_view text) noexcept { return parse_name<Timing>(kTimingNames, text); }
std::string_view name(Stage stage) noexcept { return kStageNames[static_cast<size_t>(stage)]; }
std::optional<Stage> parse_stage(std::string_view text) noexcept { return parse_name<Stage>(kStageNames, text); }
std::string_view name(Verdict verdict) noexcept { return kVerdictNames[static_cast<size_t>(verdict)]; }
std::optional<Verdict> parse_verdict(std::string_view text) noexcept {
  return parse_name<Verdict>(kVerdictNames, text);
}

Age compare(const Versions& recorded, const Versions& present) {
  Age age = Age::current;
  const auto differs = [&](const Versions& from, const Versions& to) {
    for (const auto& [component, version] : from) {
      const auto other = to.find(component);
      if (other != to.end() && other->second == version) continue;
      if (!drifts(component))
        age = Age::stale;
      else if (age == Age::current)
        age = Age::drifted;
    }
  };
  differs(recorded, present);
  differs(present, recorded);
  return age;
}

std::string_view name(CachePolicy policy) noexcept { return kCachePolicyNames[static_cast<size_t>(policy)]; }

CachePolicy parse_cache_policy(std::string_view text) {
  if (const auto policy = parse_name<CachePolicy>(kCachePolicyNames, text)) return *policy;
  fail(ErrorCode::invalid_input, "the temperature of operands is served, cold or warm, not '{}'", shown(text));
}

std::string_view name(TimedValues values) noexcept { return kTimedValuesNames[static_cast<size_t>(values)]; }

TimedValues parse_timed_values(std::string_view text) {
  if (const auto values = parse_name<TimedValues>(kTimedValuesNames, text)) return *values;
  fail(ErrorCode::invalid_input, "the values of operands are randn, hpl, trig_float or zeros, not '{}'", shown(text));
}

/// 3: copied to the device before its launch, right behind untimed launches, operands at the alignment of the device's
/// allocations.
static constexpr std::string_view kByGraph = " timing=graph/3";

std::string Protocol::measured_key() const {
  const std::string verified = checks == 1 ? "" : fmt::format(" checks={}", checks);
  const std::string timed = values == TimedValues::randn ? "" : fmt::format(" values={}", name(values));
  return fmt::format("{} seed={} err={}{}{}{}{}", name(cache), seed, err_ratio, verified, require_field(require),
                     timing == Timing::graph ? kByGraph : "", timed);
}

std::string Protocol::searched_key() const {
  return fmt::format("{} seed={} gain={}{}", procedure, seed, min_gain, require_field(require));
}

bool Deadlines::cover(const Deadlines& other) const noexcept {
  const auto covers = [](int64_t mine, int64_t others) { return mine == 0 || (others != 0 && others <= mine); };
  return covers(load_ms, other.load_ms) && covers(run_ms, other.run_ms);
}

namespace {
const Finalist* find_winner(const Decision& decision) noexcept {
  const auto found = std::find_if(decision.finalists.begin(), decision.finalists.end(),
                                  [&](const Finalist& one) { return one.candidate == decision.winner; });
  return found == decision.finalists.end() ? nullptr : &*found;
}
}  // namespace

const std::vector<BinaryIdentity>& Decision::winner_binaries() const {
  static const std::vector<BinaryIdentity> kNone;
  const Finalist* const own = find_winner(*this);
  return own == nullptr ? kNone : own->binaries;
}

std::optional<uint64_t> Decision::winner_number() const {
  const Finalist* const own = find_winner(*this);
  return own == nullptr ? std::nullopt : own->number;
}

Comparison Decision::over_default() const noexcept { return has_default() ? comparison : without_ratio(comparison); }

bool is_unfinished_tie(const Decision& decision) noexcept {
  const bool is_tie = decision.has_default() ? decision.verdict == Verdict::tie : decision.winner == decision.baseline;
  return decision.incomplete && is_tie;
}

}  // namespace attune
