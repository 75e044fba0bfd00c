// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/record.h"
#include "solver/registry.h"

namespace attune {

/// Short text of a problem for users, from its family's key: sizes, types, and attributes that differ from their
/// defaults: `64×1280×8192 bf16→fp32 +bias act=gelu`.
std::string short_shape(const Problem& problem);
/// Short text of a candidate, such as `gemm:jit 2 threads`: solver without `.gemm`, then its values.
std::string short_candidate(const Candidate& candidate);

/// A verdict's words for people: `faster`, `default is fastest`, `no default`.
std::string short_verdict(Verdict verdict);
/// Returns the verdict for people, with its remarks: `faster, 1.100× the best default, noisy`. The baseline is
/// called the default.
std::string verdict_text(const Decision& decision);

/// Columns of the table of winners, padded for a terminal: shape, time of the default, winner, its time, speed-up with
/// its interval, errRatio, verdict.
/// `op`: names the sizes in the heading of the shapes; empty: the lines are of several ops.
std::string result_header(std::string_view op = {});
std::string result_line(const Decision& decision);
/// Returns a line for each finalist, fastest first, with its time and ratio; the winner and the default are marked.
std::vector<std::string> finalist_lines(const Decision& decision);
/// Returns a sentence for each word of the table's lines that needs one: always for `default`, and for each such word
/// in the verdicts. Nothing without decisions.
std::vector<std::string> result_legend(std::span<const Decision> decisions);

/// Counts of decisions by verdict, and the geometric mean of the speed-ups over the baselines, with its 95 % interval
/// (normal in the logs, from the intervals of the decisions: it covers the noise of the machine, not the choice of
/// shapes). Unfinished ties are counted, and no part of the rest.
struct Summary {
  size_t num_decided = 0, num_faster = 0, num_tied = 0, num_required = 0, num_noisy = 0;
  size_t num_default_fastest = 0;  ///< The baseline was the fastest itself.
  size_t num_unfinished = 0;       ///< Ties that another run continues.
  size_t num_without_default = 0;  ///< Shapes that no library serves; the means exclude them.
  size_t num_compared = 0;         ///< Shapes whose speed-up is known; the means are over these.
  double mean = 1, low = 1, high = 1;
  double mean_over_best_default = 1;  ///< Over the fastest default config of each shape, by the medians; no interval.
};
Summary summarise(std::span<const Decision> decisions);
/// Returns the summary in one sentence: `2 shapes decided: geometric mean 1.200× over the default …; 1 faster, 1 keeps
/// the default (1 tied with it, 0 where it is the fastest)`.
std::string summary_text(const Summary& summary);

/// Tells a user which package would give shapes a default. One sentence for each device and type of the decisions
/// without one: `no library that takes part serves bf16 on cpu:0; libdnnl-dev does`. It names the packages of
/// FamilySpec::packages whose solver `solvers` lacks; without such a package the sentence ends after the device.
std::vector<std::string> default_notices(std::span<const Decision> decisions, const Registry& solvers);

}  // namespace attune
