// SPDX-License-Identifier: MIT
// Measures the regret of shapes whose M has no row, from recorded times of kernels, with one M removed from its group
// at a time, and from the rows of published tables. docs/performance/unseen.md has the method.
//   attune_unseen_m [--json FILE] [RECORDING …]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "attune/dispatcher.h"
#include "base/error.h"
#include "base/text.h"
#include "dispatch/table/lookup_steps.h"
#include "dispatch/table/prediction.h"
#include "formats/csv/family_of_file.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/table.h"
#include "testing/test_files.h"

namespace attune::experiments {
namespace {

constexpr double kNoise = 0.02;  ///< Regrets count as above their bound if they exceed it by more.
constexpr double kTolerance = 0.05;
constexpr double kAnyBound = NextRows::kNone / 2;
constexpr size_t kNumWorst = 8;
const std::vector<double> kLimits = {0.25, 0.5, DispatcherOptions().max_regret};  ///< The last is the default.

struct Row {
  double us = 0;
  std::string_view kernel;
};
/// Rows of one group, by M.
using Rows = std::map<int64_t, Row>;

struct Offer {
  int64_t m = 0;     ///< M of the row.
  double bound = 0;  ///< Bound of a predicted row; else 0.
};

/// Returns the padded rows in a lookup's order, as if `rows` had none for `m`.
std::vector<Offer> padded_offers(const Rows& rows, int64_t m, int64_t n) {
  std::vector<Offer> offers;
  for (const int64_t padded : {padded_m_fine(kProductPadding, m), padded_m_coarse(kProductPadding, m, n)}) {
    if (padded != m && rows.contains(padded)) offers.push_back({padded, 0});
  }
  return offers;
}

std::vector<Offer> predicted_offers(const Rows& rows, int64_t m, double limit) {
  const auto at = rows.lower_bound(m), next = rows.upper_bound(m);
  Neighbour below, above;  // Times as the run time's index stores them.
  if (at != rows.begin()) below = {std::prev(at)->first, static_cast<float>(std::prev(at)->second.us)};
  if (next != rows.end()) above = {next->first, static_cast<float>(next->second.us)};
  const NextRows rule = NextRows::of(m, below, above);
  std::vector<Offer> offers = {{above.m, rule.above_regret}, {below.m, rule.below_regret}};
  if (!rule.above_first) std::swap(offers[0], offers[1]);
  std::erase_if(offers, [&](const Offer& one) { return one.m == 0 || one.bound > limit; });
  return offers;
}

struct Shape {
  std::string group;  ///< `1152×896 bf16`
  int64_t m = 0, n = 0;
  double default_us = 0;                                       ///< From run 2.
  std::map<std::string_view, std::pair<double, double>> runs;  ///< µs of each kernel in runs 1 and 2.
};

struct Recording {
  std::string name;
  std::map<std::string, std::string, std::less<>> kernels;  ///< Owns the names.
  std::vector<Shape> shapes;
};

double number(std::string_view text, const std::string& where) {
  const auto value = parse_double(text);
  if (!value || !(*value > 0) || !std::isfinite(*value))
    fail(ErrorCode::invalid_input, "a recording wants positive numbers; record it anew: {}: '{}'", where, shown(text));
  return *value;
}

/// Reads tab-separated lines `kernel <id> <name>` and `shape <m> <n> <k> <dtype> <default's µs> <id>:<µs>:<µs> …`. `-`
/// instead of µs: the kernel did not take part in run 1, so no row of this shape names it.
Recording read_recording(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail(ErrorCode::io, "cannot read a recording; give a file that exists: {}", path);
  Recording recording;
  recording.name = std::filesystem::path(path).stem().string();
  constexpr std::string_view kPrefix = "unseen_m_";
  if (recording.name.starts_with(kPrefix)) recording.name.erase(0, kPrefix.size());
  size_t line_number = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string where = fmt::format("{}:{}", path, ++line_number);
    const auto cells = split(line, '\t');
    if (line.starts_with("#")) continue;
    if (cells[0] == "kernel" && cells.size() == 3) {
      recording.kernels.emplace(cells[1], cells[2]);
      continue;
    }
    if (cells[0] != "shape" || cells.size() != 7)
      fail(ErrorCode::invalid_input, "no line of a recording; record it anew: {}", where);
    Shape shape;
    shape.m = static_cast<int64_t>(number(cells[1], where));
    shape.n = static_cast<int64_t>(number(cells[2], where));
    shape.group = fmt::format("{}×{} {}", cells[2], cells[3], cells[4]);
    shape.default_us = number(cells[5], where);
    for (const std::string_view entry : split(cells[6], ' ')) {
      const auto parts = split(entry, ':');
      const auto kernel = recording.kernels.find(parts[0]);
      if (parts.size() != 3 || kernel == recording.kernels.end())
        fail(ErrorCode::invalid_input, "a kernel without a name; record it anew: {}: '{}'", where, shown(entry));
      const double first = parts[1] == "-" ? std::numeric_limits<double>::infinity() : number(parts[1], where);
      shape.runs[kernel->second] = {first, number(parts[2], where)};
    }
    recording.shapes.push_back(std::move(shape));
  }
  return recording;
}

struct OfferRegret {
  Offer offer;
  double regret = 0;
};

/// A shape with its row removed.
struct ShapeVerdicts {
  const Recording* recording = nullptr;
  const Shape* shape = nullptr;
  std::string_view best, picked;  ///< Kernels: the best of run 2, and the predicted one.
  double own_regret = 0;          ///< Regret of the removed row.
  double default_regret = 0;
  std::optional<OfferRegret> padded;
  std::vector<std::optional<OfferRegret>> predicted;  ///< One for each limit.
  std::vector<OfferRegret> neighbours;  ///< Both neighbours, regardless of their bounds; only if their kernels can run.
};

/// Returns the first offer whose kernel can run for the shape: only such kernels were measured.
std::optional<OfferRegret> serve(const std::vector<Offer>& offers, const Rows& rows, const Shape& shape,
                                 double best_us) {
  for (const Offer& offer : offers) {
    const auto run = shape.runs.find(rows.at(offer.m).kernel);
    if (run != shape.runs.end()) return OfferRegret{offer, run->second.second / best_us - 1};
  }
  return std::nullopt;
}

std::vector<ShapeVerdicts> judge(const Recording& recording) {
  std::map<std::string_view, Rows> groups;
  for (const Shape& shape : recording.shapes) {
    const auto best = std::ranges::min_element(shape.runs, {}, [](const auto& run) { return run.second.first; });
    groups[shape.group][shape.m] = {best->second.first, best->first};
  }
  std::vector<ShapeVerdicts> all;
  for (const Shape& shape : recording.shapes) {
    const Rows& rows = groups.at(shape.group);
    const auto best = std::ranges::min_element(shape.runs, {}, [](const auto& run) { return run.second.second; });
    const double best_us = best->second.second;
    ShapeVerdicts one{&recording, &shape, best->first, {}, 0, 0, {}, {}, {}};
    one.own_regret = shape.runs.at(rows.at(shape.m).kernel).second / best_us - 1;
    one.default_regret = std::max(0.0, shape.default_us / best_us - 1);
    one.padded = serve(padded_offers(rows, shape.m, shape.n), rows, shape, best_us);
    for (const double limit : kLimits)
      one.predicted.push_back(serve(predicted_offers(rows, shape.m, limit), rows, shape, best_us));
    for (const Offer& offer : predicted_offers(rows, shape.m, kAnyBound)) {
      if (const auto served = serve({offer}, rows, shape, best_us)) one.neighbours.push_back(*served);
    }
    if (one.predicted.back()) one.picked = rows.at(one.predicted.back()->offer.m).kernel;
    all.push_back(std::move(one));
  }
  return all;
}

struct Mean {
  size_t count = 0;
  double sum = 0, max = 0;
  void add(double value) {
    ++count;
    sum += value;
    max = std::max(max, value);
  }
  double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
  std::string text() const {
    return count == 0 ? "none" : fmt::format("{}: {:.2f} %, {:.0f} %", count, 100 * mean(), 100 * max);
  }
};

bool above_bound(const OfferRegret& served) { return served.regret > served.offer.bound + kNoise; }

struct LimitRegrets {
  Mean regret, bound, chain;
  size_t above_bound = 0;
};

struct Summary {
  std::string name;
  Mean own, padded, both_padded, both_predicted, padded_or_default, by_default;
  size_t neighbours = 0, neighbours_above_bound = 0;
  size_t worse_than_padded = 0;  ///< By more than 1 %, if both serve.
  std::vector<LimitRegrets> limits = std::vector<LimitRegrets>(kLimits.size());

  void add(const ShapeVerdicts& one) {
    own.add(one.own_regret);
    by_default.add(one.default_regret);
    neighbours += one.neighbours.size();
    neighbours_above_bound += std::ranges::count_if(one.neighbours, above_bound);
    if (one.padded) padded.add(one.padded->regret);
    padded_or_default.add(one.padded ? one.padded->regret : one.default_regret);
    for (size_t i = 0; i < kLimits.size(); ++i) {
      const auto& predicted = one.predicted[i];
      limits[i].chain.add(one.padded ? one.padded->regret : predicted ? predicted->regret : one.default_regret);
      if (!predicted) continue;
      limits[i].regret.add(predicted->regret);
      limits[i].bound.add(predicted->offer.bound);
      limits[i].above_bound += above_bound(*predicted);
    }
    if (!one.padded || !one.predicted.back()) return;
    both_padded.add(one.padded->regret);
    both_predicted.add(one.predicted.back()->regret);
    worse_than_padded += (1 + one.predicted.back()->regret) > 1.01 * (1 + one.padded->regret);
  }
};

std::string line(std::string_view title, const std::vector<Summary>& columns,
                 const std::function<std::string(const Summary&)>& cell) {
  std::string text = fmt::format("| {} |", title);
  for (const Summary& column : columns) text += fmt::format(" {} |", cell(column));
  return text + "\n";
}

std::string regrets_markdown(const std::vector<Summary>& columns) {
  std::string text =
      line("shapes: mean regret, largest", columns, [](const Summary& one) { return one.name; }) + "|---|";
  for (size_t i = 0; i < columns.size(); ++i) text += "---|";
  text += "\n";
  text += line("of its own row (no row omitted)", columns, [](const Summary& one) { return one.own.text(); });
  text += line("padded rows alone", columns, [](const Summary& one) { return one.padded.text(); });
  text += line("predicted alone", columns, [](const Summary& one) { return one.limits.back().regret.text(); });
  text += line("where both serve: padded", columns, [](const Summary& one) { return one.both_padded.text(); });
  text += line("where both serve: predicted", columns, [](const Summary& one) { return one.both_predicted.text(); });
  text += line("there predicted is more than 1 % slower than padded", columns,
               [](const Summary& one) { return fmt::format("{} shapes", one.worse_than_padded); });
  text += line("the default alone", columns, [](const Summary& one) { return one.by_default.text(); });
  text += line("padded, else the default", columns, [](const Summary& one) { return one.padded_or_default.text(); });
  text += line("padded, else predicted, else the default", columns,
               [](const Summary& one) { return one.limits.back().chain.text(); });
  for (size_t i = 0; i < kLimits.size(); ++i) {
    text +=
        line(fmt::format("limit {}: mean bound; regrets above theirs", kLimits[i]), columns, [i](const Summary& one) {
          return fmt::format("{:.0f} %; {}", 100 * one.limits[i].bound.mean(), one.limits[i].above_bound);
        });
    if (i + 1 == kLimits.size()) break;  // Regrets above the last limit.
    text += line(fmt::format("limit {}: predicted alone", kLimits[i]), columns,
                 [i](const Summary& one) { return one.limits[i].regret.text(); });
    text += line(fmt::format("limit {}: padded, else predicted, else the default", kLimits[i]), columns,
                 [i](const Summary& one) { return one.limits[i].chain.text(); });
  }
  text += line("bounds of both neighbours, any limit; regrets above theirs", columns,
               [](const Summary& one) { return fmt::format("{}; {}", one.neighbours, one.neighbours_above_bound); });
  return text;
}

/// Returns the solver and the parameters that differ from the other kernel's: `jit_cpu width=3`.
std::string in_short(std::string_view kernel, std::string_view other) {
  const auto words = [](std::string_view name) { return split(name.substr(name.find(':') + 1), ';'); };
  std::string text(kernel.substr(0, kernel.find('.')));
  const auto others = words(other);
  for (const std::string_view word : words(kernel)) {
    if (std::ranges::find(others, word) == others.end()) text += fmt::format(" {}", word);
  }
  return text;
}

std::string worst_markdown(std::vector<ShapeVerdicts> all) {
  std::erase_if(all, [](const ShapeVerdicts& one) { return !one.predicted.back(); });
  std::ranges::stable_sort(all, std::ranges::greater(),
                           [](const ShapeVerdicts& one) { return one.predicted.back()->regret; });
  if (all.size() > kNumWorst) all.resize(kNumWorst);
  std::string text =
      "\n| worst predictions | row of M | regret | bound | kernel of the row | fastest |\n|---|---|---|---|---|---|\n";
  for (const ShapeVerdicts& one : all) {
    const OfferRegret& served = *one.predicted.back();
    text += fmt::format("| {}×{} | {} | {:.0f} % | {:.0f} % | `{}` | `{}` |\n", one.shape->m, one.shape->group,
                        served.offer.m, 100 * served.regret, 100 * served.offer.bound, in_short(one.picked, one.best),
                        in_short(one.best, one.picked));
  }
  return text;
}

/// The rows of published tables. Their kernels cannot run on this machine, so only names are compared.
struct PublishedTables {
  std::string why_not;  ///< If there are no tables: the reason.
  size_t files = 0, groups = 0, pairs = 0, time_rises = 0, time_a_row_falls = 0;
  size_t rows = 0, padded = 0, padded_same = 0, any = 0, any_same = 0, common = 0, common_same = 0;
  size_t limited = 0, limited_same = 0;  ///< Within the default limit.
};

void count_group(const Rows& rows, int64_t n, PublishedTables& counts) {
  if (rows.size() < 2) return;
  ++counts.groups;
  for (auto a = rows.begin(), b = std::next(a); b != rows.end(); ++a, ++b) {
    const double ratio = b->second.us / a->second.us;
    ++counts.pairs;
    counts.time_rises += ratio >= 1 - kTolerance;
    counts.time_a_row_falls += ratio * static_cast<double>(a->first) / static_cast<double>(b->first) <= 1 + kTolerance;
  }
  for (const auto& [m, own] : rows) {
    const auto same = [&](const std::vector<Offer>& offers) { return rows.at(offers[0].m).kernel == own.kernel; };
    const auto padded = padded_offers(rows, m, n), any = predicted_offers(rows, m, kAnyBound),
               limited = predicted_offers(rows, m, DispatcherOptions().max_regret);
    ++counts.rows;
    if (!limited.empty()) {
      ++counts.limited;
      counts.limited_same += same(limited);
    }
    if (!any.empty()) {
      ++counts.any;
      counts.any_same += same(any);
    }
    if (padded.empty()) continue;
    ++counts.padded;
    counts.padded_same += same(padded);
    if (any.empty()) continue;
    ++counts.common;
    counts.common_same += same(any);
  }
}

/// Reads a tuned table of plain products; nothing for other files.
std::optional<Table> product_table(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  if (name.find("untuned") != name.npos || name.find("gemm") == name.npos) return std::nullopt;
  try {
    Table table = Table::read(file.string());
    if (table.family().pads_rows) return table;
  } catch (const Error&) {  // The folder has other kinds of files.
  }
  return std::nullopt;
}

PublishedTables published() {
  PublishedTables counts;
  std::vector<Table> tables;
  for (const auto& file : shipped_tables()) {
    if (auto table = product_table(file)) tables.push_back(std::move(*table));
  }
  counts.files = tables.size();
  if (tables.empty()) {
    counts.why_not =
        "Published tables: not evaluated, there are none (ATTUNE_SHARED_DATA names the folder that holds "
        "aiter_configs).";
    return counts;
  }
  std::map<std::string, std::pair<int64_t, Rows>> groups;  // With their N.
  for (const Table& table : tables) {
    for (const TableRow& row : table.rows()) {
      const auto m = parse_int(row.problem.text("m")), n = parse_int(row.problem.text("n"));
      if (!row.us || !m || *m < 1 || !n) continue;
      auto& group = groups[fmt::format("{} {} {} {}", table.family().op, row.gfx, row.num_units,
                                       key_text(table.family(), row.problem.with("m", "0")))];
      group.first = *n;
      const auto [at, added] = group.second.emplace(*m, Row{*row.us, row.kernel_name});
      if (!added && *row.us < at->second.us) at->second = {*row.us, row.kernel_name};
    }
  }
  for (const auto& [key, group] : groups) count_group(group.second, group.first, counts);
  return counts;
}

double share(size_t part, size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string published_markdown(const PublishedTables& counts) {
  if (!counts.why_not.empty()) return "\n" + counts.why_not + "\n";
  std::string text = fmt::format(
      "\n{} published tables of plain products, {} rows in {} groups of two and more. Between neighbours the time does "
      "not fall in {:.1f} %, and the time a row of M does not rise in {:.1f} %, within {:.0f} %.\n\n",
      counts.files, counts.rows, counts.groups, 100 * share(counts.time_rises, counts.pairs),
      100 * share(counts.time_a_row_falls, counts.pairs), 100 * kTolerance);
  text += "| published rows, each omitted once | served | of the same kernel |\n|---|---|---|\n";
  const auto add = [&](std::string_view title, size_t served, size_t same) {
    text += fmt::format("| {} | {} | {:.3f} |\n", title, served, share(same, served));
  };
  add("padded", counts.padded, counts.padded_same);
  add("predicted, where padded serves", counts.common, counts.common_same);
  add("predicted, any bound", counts.any, counts.any_same);
  add(fmt::format("predicted, limit {}", DispatcherOptions().max_regret), counts.limited, counts.limited_same);
  return text;
}

nlohmann::ordered_json json_of(const Mean& mean) {
  return {{"count", mean.count}, {"mean", mean.mean()}, {"largest", mean.max}};
}

nlohmann::ordered_json json_of(const std::vector<Summary>& columns, const PublishedTables& counts) {
  nlohmann::ordered_json json;
  for (const Summary& one : columns) {
    nlohmann::ordered_json limits;
    for (size_t i = 0; i < kLimits.size(); ++i)
      limits.push_back({{"limit", kLimits[i]},
                        {"predicted", json_of(one.limits[i].regret)},
                        {"bound", json_of(one.limits[i].bound)},
                        {"above_bound", one.limits[i].above_bound},
                        {"chain", json_of(one.limits[i].chain)}});
    json["recordings"].push_back({{"name", one.name},
                                  {"own", json_of(one.own)},
                                  {"padded", json_of(one.padded)},
                                  {"both_padded", json_of(one.both_padded)},
                                  {"both_predicted", json_of(one.both_predicted)},
                                  {"worse_than_padded", one.worse_than_padded},
                                  {"neighbours", one.neighbours},
                                  {"neighbours_above_bound", one.neighbours_above_bound},
                                  {"default", json_of(one.by_default)},
                                  {"padded_or_default", json_of(one.padded_or_default)},
                                  {"limits", limits}});
  }
  if (!counts.why_not.empty()) {
    json["published"] = {{"why_not", counts.why_not}};
    return json;
  }
  json["published"] = {{"files", counts.files},
                       {"rows", counts.rows},
                       {"time_rises", share(counts.time_rises, counts.pairs)},
                       {"time_a_row_falls", share(counts.time_a_row_falls, counts.pairs)},
                       {"padded", counts.padded},
                       {"padded_same", share(counts.padded_same, counts.padded)},
                       {"common", counts.common},
                       {"common_same", share(counts.common_same, counts.common)},
                       {"predicted", counts.any},
                       {"predicted_same", share(counts.any_same, counts.any)},
                       {"limited", counts.limited},
                       {"limited_same", share(counts.limited_same, counts.limited)}};
  return json;
}

int run(const std::vector<std::string>& paths, const std::string& json_path) {
  std::vector<Recording> recordings;
  for (const std::string& path : paths) recordings.push_back(read_recording(path));
  std::vector<Summary> columns;
  std::vector<ShapeVerdicts> all;
  for (const Recording& recording : recordings) {
    columns.emplace_back().name = recording.name;
    for (ShapeVerdicts& one : judge(recording)) {
      columns.back().add(one);
      all.push_back(std::move(one));
    }
  }
  if (columns.size() > 1) {
    columns.emplace_back().name = "together";
    for (const ShapeVerdicts& one : all) columns.back().add(one);
  }
  const PublishedTables counts = published();
  fmt::print("{}{}{}", regrets_markdown(columns), worst_markdown(all), published_markdown(counts));
  if (json_path.empty()) return 0;
  std::ofstream file(json_path);
  file << json_of(columns, counts).dump(2) << '\n';
  if (!file.flush())
    fail(ErrorCode::io, "cannot write the figures; give a file in a folder that exists: {}", json_path);
  return 0;
}

}  // namespace
}  // namespace attune::experiments

int main(int argc, char** argv) {
  std::vector<std::string> paths;
  std::string json_path;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json" && i + 1 < argc) {
      json_path = argv[++i];
    } else if (word.starts_with("-")) {
      fmt::print(stderr, "usage: {} [--json FILE] [RECORDING …]\n", argv[0]);
      return 2;
    } else {
      paths.push_back(word);
    }
  }
  if (paths.empty()) {
    for (const char* name : {"unseen_m_coarse", "unseen_m_fine"})
      paths.push_back(fmt::format(ATTUNE_SOURCE_DIR "/tests/perf/data/{}.tsv", name));
  }
  try {
    return attune::experiments::run(paths, json_path);
  } catch (const attune::Error& error) {
    fmt::print(stderr, "attune_unseen_m: {}\n", error.what());
    return 1;
  }
}
