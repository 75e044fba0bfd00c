// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/executor.h"
#include "tuner/problem/work_item.h"
#include "tuner/tuner_options.h"

namespace attune {

class Kernels;

/// Versions of AMD's Triton tuning script (tune_gemm.py), which measure differently.
enum class ClassicScript : uint8_t { v2, v3_4 };
inline constexpr std::array<std::string_view, 2> kClassicScriptNames = {"v2", "v3.4"};
/// Parses one of the names. Throws invalid_input for another text.
ClassicScript parse_classic_script(std::string_view text);
std::string_view name(ClassicScript script) noexcept;
/// How often the script launches each kernel: 10 or 120 times.
uint32_t num_launches(ClassicScript script) noexcept;
/// Returns the time that the script derives from a kernel's launches, in their order. v2: the last launch. v3.4:
/// launches slower than the first are dropped; the mean of the last 100 of the rest. Requires: not empty.
double classic_us(ClassicScript script, std::span<const double> launches_us);

/// A device of a classic search. All devices of one search are equal.
struct ClassicDevice {
  Executor& executor;
  Kernels* kernels = nullptr;  ///< Null: candidates that need compiled kernels fail.
};

struct ClassicResult {
  std::string reason;  ///< Why there is no winner; empty if there is one.
  std::optional<Candidate> winner;
  double us = 0;     ///< Of the winner, by classic_us().
  Outcome verified;  ///< Of the winner, which was checked after the search: it may be wrong.
  size_t num_candidates = 0;
  std::vector<std::pair<Candidate, Outcome>> failures;  ///< Candidates that could not be timed.
};

/// Tunes one problem as AMD's Triton script does, to compare the race with it. The kernels of all candidates are
/// compiled. Then each is launched alone, without a verification and on operands that stay in the cache. Of several
/// devices, the i-th of n times the candidates i, i + n … on a thread of its own; times of all are compared. The
/// minimum wins, and only the winner is verified. No default config must be beaten, and nothing is recorded.
///
/// The candidates are those of an exhaustive search, without composite solvers, whose parts would have to be tuned
/// first. Unlike the script, a candidate that ends its worker costs that candidate alone.
///
/// `options`: libraries, rules, bans, deadlines and the protocol, whose cache policy is replaced. `tick`: called by all
/// threads while executors or compilers work; true ends the search without a winner.
ClassicResult tune_classic(ClassicScript script, std::span<const ClassicDevice> devices, const WorkItem& item,
                           const TunerOptions& options, const Tick& tick = {});

}  // namespace attune
