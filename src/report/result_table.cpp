// SPDX-License-Identifier: MIT
#include "report/result_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attune {
namespace {

constexpr std::string_view kLayout = "{:<34} {:>10} {:<46} {:>10} {:>8} {:>17} {:>9}  {}";

/// Pads to a display width: counts characters, not bytes, so that × and … line up.
std::string pad(std::string text, size_t width) {
  const auto shown =
      static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
  if (shown < width) text.append(width - shown, ' ');
  return text;
}

}  // namespace

std::string short_shape(const Problem& problem) {
  if (!problem.has("m")) return problem.key();
  std::string text = fmt::format("{}×{}×{}", problem.text("m"), problem.text("n"), problem.text("k"));
  if (problem.has("dtype")) text += " " + problem.text("dtype");
  if (problem.has("outdtype") && problem.text("outdtype") != problem.text("dtype"))
    text += "→" + problem.text("outdtype");
  if (problem.integer_or("bias", 0)) text += " +bias";
  if (problem.integer_or("trans_a", 0)) text += " ta";
  if (!problem.integer_or("trans_b", 1)) text += " K×N";
  return text;
}

std::string short_candidate(const Candidate& candidate) {
  std::string text = candidate.solver.substr(0, candidate.solver.find('.'));
  for (const auto& [name, value] : candidate.config.values()) text += fmt::format(" {}={}", name, to_text(value));
  if (text.size() > 46) text = text.substr(0, 45) + "…";
  return text;
}

std::string result_header() {
  return fmt::format(kLayout, "shape (M×N×K)", "default", "winner", "time", "speed-up", "95 % interval", "errRatio",
                     "verdict");
}

std::string result_line(const Decision& decision) {
  const Comparison& winner = decision.comparison;
  const std::string interval = fmt::format("[{:.3f}, {:.3f}]", winner.interval.low, winner.interval.high);
  std::string verdict(name(decision.verdict));
  if (decision.verdict == Verdict::required && winner.ratio > 0 && winner.ratio < 1)
    verdict += fmt::format(", {:.1f} % slower than the default", 100 * (1 / winner.ratio - 1));
  if (decision.verdict == Verdict::tie) verdict += fmt::format(" of {}", decision.tied.size());
  if (const auto& best = decision.best_untuned; best && best->candidate != decision.baseline)
    verdict += best->candidate == decision.winner ? ", an untuned config"
                                                  : fmt::format(", {:.3f}× the best untuned config", best->ratio);
  if (decision.noisy) verdict += ", noisy";
  if (decision.incomplete) verdict += ", incomplete";
  if (decision.pause_cut) verdict += ", confirmed without the pause";
  return fmt::format("{} {:>10} {} {:>10} {:>8} {:>17} {:>9.4f}  {}", pad(short_shape(decision.problem), 34),
                     fmt::format("{:.1f} µs", decision.baseline_us), pad(short_candidate(decision.winner), 46),
                     fmt::format("{:.1f} µs", winner.us), fmt::format("{:.3f}×", winner.ratio), interval,
                     decision.errors.mismatch_ratio, verdict);
}

Summary summarise(std::span<const Decision> decisions) {
  Summary summary;
  double sum = 0, variance = 0, sum_over_untuned = 0;
  for (const Decision& decision : decisions) {
    ++summary.num_shapes;
    summary.num_faster += decision.verdict == Verdict::faster;
    summary.num_tied += decision.verdict == Verdict::tie;
    summary.num_noisy += decision.noisy;
    if (decision.best_untuned && decision.best_untuned->ratio > 0)
      sum_over_untuned += std::log(decision.best_untuned->ratio);
    const auto& [us, ratio, interval, num_clean] = decision.comparison;
    if (ratio <= 0 || interval.low <= 0) continue;
    sum += std::log(ratio);
    const double sigma = (std::log(interval.high) - std::log(interval.low)) / (2 * 1.96);
    variance += sigma * sigma;
  }
  if (summary.num_shapes == 0) return summary;
  const double count = static_cast<double>(summary.num_shapes), half = 1.96 * std::sqrt(variance) / count;
  summary.mean = std::exp(sum / count);
  summary.mean_over_untuned = std::exp(sum_over_untuned / count);
  summary.low = std::exp(sum / count - half);
  summary.high = std::exp(sum / count + half);
  return summary;
}

}  // namespace attune
