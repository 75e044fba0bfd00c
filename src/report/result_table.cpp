// SPDX-License-Identifier: MIT
#include "report/result_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "ops/op.h"
#include "report/comparison_output.h"
#include "search/contest_options.h"

namespace attune {
namespace {

constexpr const char* kDefaultConfig = ", a default config";
constexpr const char* kBestDefault = "the best default";
constexpr const char* kNoDefault = "no default";
constexpr const char* kWithoutPause = ", confirmed without the pause";
constexpr const char* kTimedWith = ", timed with ";
constexpr std::string_view kLayout = "{} {:>10} {:<46} {:>10} {:>8} {:>17} {:>9}  {}";

bool is_size(const AttributeSpec& key) { return key.kind == ColumnKind::integer && key.default_value.empty(); }

/// Pads to a display width: counts characters, not bytes, so that × and … line up.
std::string pad(std::string text, size_t width) {
  const auto shown =
      static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
  if (shown < width) text.append(width - shown, ' ');
  return text;
}

/// The type of a problem's first operand; empty: its key has none.
std::string type_of(const Problem& problem, const FamilySpec& family) {
  const auto key = std::ranges::find(family.key, ColumnKind::dtype, &AttributeSpec::kind);
  return key == family.key.end() || !problem.has(key->name) ? "" : problem.text(key->name);
}

/// `cpu` of `cpu:0`.
std::string_view kind_of(std::string_view device_id) { return device_id.substr(0, device_id.find(':')); }

}  // namespace

std::string short_shape(const Problem& problem) {
  const FamilySpec* family = find_family(problem.op());
  if (family == nullptr) return problem.key();
  std::string sizes, type, types, others;
  for (const AttributeSpec& key : family->key) {
    if (!problem.has(key.name)) {
      if (is_size(key)) return problem.key();
      continue;
    }
    const std::string& value = problem.text(key.name);
    if (is_size(key))
      sizes += (sizes.empty() ? "" : "×") + value;
    else if (key.kind == ColumnKind::dtype && type.empty())
      types = type = value;
    else if (key.kind == ColumnKind::dtype && !key.follows.empty())
      types += value == type ? "" : "→" + value;
    else if (value != key.default_value)
      others += key.kind == ColumnKind::flag && value == "1" ? fmt::format(" +{}", key.name)
                                                             : fmt::format(" {}={}", key.name, value);
  }
  if (sizes.empty()) return problem.key();
  return sizes + (types.empty() ? "" : " " + types) + others;
}

std::string short_candidate(const Candidate& candidate) {
  std::string text(first_part(candidate.solver));
  for (const auto& [name, value] : candidate.config.values()) text += fmt::format(" {}={}", name, to_text(value));
  if (text.size() > 46) text = text.substr(0, 45) + "…";
  return text;
}

std::string result_header(std::string_view op) {
  std::vector<std::string> sizes;
  if (const FamilySpec* family = find_family(op)) {
    for (const AttributeSpec& key : family->key) {
      if (is_size(key)) sizes.emplace_back(key.column);
    }
  }
  const std::string shape = sizes.empty() ? "shape" : fmt::format("shape ({})", join(sizes, "×"));
  return fmt::format(kLayout, pad(shape, 34), "default", "winner", "time", "speed-up", "95 % interval", "errRatio",
                     "verdict");
}

std::string short_verdict(Verdict verdict) {
  if (verdict == Verdict::no_default) return kNoDefault;
  return verdict == Verdict::baseline ? "default is fastest" : std::string(name(verdict));
}

std::string verdict_text(const Decision& decision) {
  const double ratio = decision.comparison.ratio;
  std::string text = short_verdict(decision.verdict);
  if (decision.verdict == Verdict::required && ratio > 0 && ratio < 1)
    text += fmt::format(", {:.1f} % slower than the default", 100 * (1 / ratio - 1));
  if (decision.verdict == Verdict::tie) text += fmt::format(" of {}", decision.tied.size());
  if (const auto& best = decision.best_default; best && best->candidate != decision.baseline)
    text +=
        best->candidate == decision.winner ? kDefaultConfig : fmt::format(", {:.3f}× {}", best->ratio, kBestDefault);
  if (!decision.reason.empty()) text += " (" + decision.reason + ")";
  if (decision.noisy) text += ", noisy";
  if (decision.incomplete) text += ", incomplete";
  if (decision.pause_cut) text += kWithoutPause;
  if (decision.protocol.values != TimedValues::randn)
    text += fmt::format("{}{}", kTimedWith, name(decision.protocol.values));
  return text;
}

std::string result_line(const Decision& decision) {
  const Comparison winner = decision.over_default();
  const bool is_known = winner.ratio > 0;
  const std::string interval =
      is_known ? fmt::format("[{:.3f}, {:.3f}]", winner.interval.low, winner.interval.high) : "";
  return fmt::format("{} {:>10} {} {:>10} {:>8} {:>17} {:>9.4f}  {}", pad(short_shape(decision.problem), 34),
                     decision.has_default() ? fmt::format("{:.1f} µs", decision.baseline_us) : "none",
                     pad(short_candidate(decision.winner), 46), fmt::format("{:.1f} µs", winner.us),
                     is_known                 ? fmt::format("{:.3f}×", winner.ratio)
                     : decision.has_default() ? "unknown"
                                              : "",
                     interval, decision.errors.mismatch_ratio, verdict_text(decision));
}

std::vector<std::string> finalist_lines(const Decision& decision) {
  std::vector<std::string> lines;
  std::vector<Finalist> by_time = decision.finalists;
  std::stable_sort(by_time.begin(), by_time.end(),
                   [](const Finalist& a, const Finalist& b) { return a.comparison.us < b.comparison.us; });
  for (const Finalist& finalist : by_time) {
    const std::string ratio = decision.has_default() ? ratio_text(finalist.comparison) + "  " : "";
    std::string line = fmt::format("{:10.2f} µs  {}{}", finalist.comparison.us, ratio, finalist.candidate.name());
    if (finalist.candidate == decision.winner) line += "  (the winner)";
    if (finalist.candidate == decision.baseline && decision.has_default()) line += "  (the default)";
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> result_legend(std::span<const Decision> decisions) {
  struct LegendLine {
    std::string_view word;  // In a verdict; empty: always explained.
    std::string sentence;
  };
  const LegendLine lines[] = {
      {"",
       "default: the config with which the first available library of the op's list runs when nobody tunes it; the "
       "speed-up is over its time"},
      {"tie of", "tie of n: n kernels cannot be told apart by as much as --min-gain asks, so the default stays"},
      {"default is fastest", "default is fastest: nothing is faster, so it stays"},
      {kNoDefault,
       "no default: no library that takes part serves the shape, so the fastest of Attune's own kernels is compared "
       "with nothing"},
      {name(Verdict::required),
       "required: the default does not keep what --require asks, so the fastest kernel that keeps it wins, even if it "
       "is slower"},
      {kDefaultConfig, "a default config: what another library runs with when nobody tunes it is the winner"},
      {kBestDefault,
       "n× the best default: the speed-up over the fastest of all libraries' default configs, of "
       "which the default is one"},
      {"noisy", fmt::format("noisy: other programs disturbed the samples, so a winner had to be at least {:g} % faster",
                            100 * ConfirmOptions().noisy_gain)},
      {"incomplete",
       "incomplete: the budget ended first, or a candidate failed for a reason that may pass; the next run "
       "continues"},
      {kWithoutPause,
       "confirmed without the pause: the budget left no time to wait between the samples that chose the "
       "winner and those that confirm it, so one disturbance may have reached both"},
      {kTimedWith, "timed with: values that --init_type chose for the timed launches; usual ones are random numbers"},
  };
  std::vector<std::string> sentences;
  for (const auto& [word, sentence] : lines) {
    const auto has_word = [&, text = word](const Decision& one) {
      return verdict_text(one).find(text) != std::string::npos;
    };
    if (std::any_of(decisions.begin(), decisions.end(), has_word)) sentences.emplace_back(sentence);
  }
  return sentences;
}

Summary summarise(std::span<const Decision> decisions) {
  Summary summary;
  double sum = 0, variance = 0, sum_over_best_default = 0;
  for (const Decision& decision : decisions) {
    if (is_unfinished_tie(decision)) {
      ++summary.num_unfinished;
      continue;
    }
    ++summary.num_decided;
    summary.num_without_default += !decision.has_default();
    summary.num_faster += decision.verdict == Verdict::faster;
    summary.num_tied += decision.verdict == Verdict::tie;
    summary.num_default_fastest += decision.verdict == Verdict::baseline;
    summary.num_required += decision.verdict == Verdict::required;
    summary.num_noisy += decision.noisy;
    const auto [us, ratio, interval, num_clean] = decision.over_default();
    if (ratio <= 0 || interval.low <= 0) continue;
    ++summary.num_compared;
    sum += std::log(ratio);
    if (decision.best_default && decision.best_default->ratio > 0)
      sum_over_best_default += std::log(decision.best_default->ratio);
    const double sigma = (std::log(interval.high) - std::log(interval.low)) / (2 * 1.96);
    variance += sigma * sigma;
  }
  if (summary.num_compared == 0) return summary;
  const double count = static_cast<double>(summary.num_compared), half = 1.96 * std::sqrt(variance) / count;
  summary.mean = std::exp(sum / count);
  summary.mean_over_best_default = std::exp(sum_over_best_default / count);
  summary.low = std::exp(sum / count - half);
  summary.high = std::exp(sum / count + half);
  return summary;
}

std::string summary_text(const Summary& summary) {
  std::string text = "no shape was decided now";
  if (summary.num_decided > 0) {
    const size_t num_default = summary.num_tied + summary.num_default_fastest;
    text = counted(summary.num_decided, "shape") + " decided: ";
    if (summary.num_compared > 0)
      text += fmt::format("geometric mean {:.3f}× over the default [{:.3f}, {:.3f}], {:.3f}× over the best default; ",
                          summary.mean, summary.low, summary.high, summary.mean_over_best_default);
    text +=
        fmt::format("{} faster, {} {} the default ({} tied with it, {} where it is the fastest)", summary.num_faster,
                    num_default, num_default == 1 ? "keeps" : "keep", summary.num_tied, summary.num_default_fastest);
    if (summary.num_without_default > 0)
      text += fmt::format(", {} without a default, which no mean includes", summary.num_without_default);
    if (summary.num_required > 0) text += fmt::format(", {} as --require asks", summary.num_required);
    if (summary.num_noisy > 0) text += fmt::format("; {} noisy in all", summary.num_noisy);
  }
  if (summary.num_unfinished > 0) {
    text += fmt::format("; {} left unfinished, which keep{} the default until another run continues",
                        counted(summary.num_unfinished, "tie"), summary.num_unfinished == 1 ? "s" : "");
  }
  return text;
}

std::vector<std::string> default_notices(std::span<const Decision> decisions, const Registry& solvers) {
  std::vector<std::string> notices;
  for (const Decision& decision : decisions) {
    if (decision.has_default()) continue;
    const FamilySpec& family = op_of(decision.problem).family();
    const std::string type = type_of(decision.problem, family);
    std::vector<std::string> packages;
    for (const LibraryPackage& one : family.packages) {
      if (one.device == kind_of(decision.device_id) && one.type == type && solvers.find(one.solver) == nullptr)
        packages.emplace_back(one.package);
    }
    // If libraries serve other shapes of the type, the shape is the reason and not the type.
    const bool is_type = !type.empty() && std::ranges::none_of(decisions, [&](const Decision& one) {
      return one.has_default() && one.device_id == decision.device_id && one.problem.op() == decision.problem.op() &&
             type_of(one.problem, family) == type;
    });
    std::string text = fmt::format("no library that takes part serves {} on {}",
                                   is_type ? type : short_shape(decision.problem), decision.device_id);
    if (!packages.empty()) text += fmt::format("; {} {}", join(packages, " or "), packages.size() > 1 ? "do" : "does");
    if (std::ranges::find(notices, text) == notices.end()) notices.push_back(std::move(text));
  }
  return notices;
}

}  // namespace attune
