// SPDX-License-Identifier: MIT
#include "campaign/progress_tracker.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "report/result_table.h"

namespace attune {

ProgressTracker::ProgressTracker(RunProgress start, const std::filesystem::path& state, Clock& clock)
    : progress_(std::move(start)), file_(state), clock_(clock), began_s_(clock.now_s()) {}

void ProgressTracker::progress(const Problem& problem, Phase phase, size_t num_candidates) {
  static constexpr std::array<const char*, 5> kPhases = {"racing", "finals of", "confirming", "last samples of",
                                                         "done with"};
  if (num_candidates == 0)  // no candidate is verified yet
    progress_.doing = "verifying the first candidates of " + short_shape(problem);
  else
    progress_.doing = fmt::format("{} {} of {}", kPhases[static_cast<size_t>(phase)],
                                  counted(num_candidates, "candidate"), short_shape(problem));
  tick();
}

void ProgressTracker::compiling(const Problem& problem, size_t num_candidates) {
  progress_.doing = fmt::format("compiling {} of {}", counted(num_candidates, "candidate"), short_shape(problem));
  tick();
}

void ProgressTracker::tick() {
  progress_.elapsed_s = clock_.now_s() - began_s_;
  file_.write(progress_);
}

void ProgressTracker::finished(const TuneResult& result) {
  if (is_decided(result))
    ++progress_.num_decided;
  else if (result.ending == Ending::refused || result.ending == Ending::unsupported)
    ++progress_.num_given_up;
  else
    ++progress_.num_left;
  if (result.ending == Ending::kept || result.ending == Ending::reused) ++progress_.num_earlier;
  for (const auto& [candidate, outcome] : result.failures) ++progress_.failures[std::string(name(outcome.status))];
  if (result.decision && result.decision->over_default().ratio > progress_.best_ratio) {
    progress_.best_ratio = result.decision->over_default().ratio;
    progress_.best_shape = short_shape(result.problem);
  }
}

}  // namespace attune
