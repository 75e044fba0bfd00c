// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "core/candidate.h"
#include "formats/csv/published_row.h"
#include "pipeline/checks.h"
#include "tables/captured_sources.h"

namespace attune {
namespace {

/// Work of a row in the units of its rates: 10^12 operations and 10^9 bytes, times a second in µs.
struct RowRates {
  double tflops = 0, bw = 0;
};

/// The rates of a row that takes 1 µs: in Attune's units if it names one of Attune's kernels, else in the older
/// tuners'. Nothing if neither is known.
std::optional<RowRates> rates_of_microsecond(const FamilySpec& family, const TableRow& row) {
  if (family.tunable && row.kernel_name.find('@') != std::string::npos) {
    try {
      DeviceInfo device;
      device.gfx = row.gfx;
      device.num_units = row.num_units;
      const PublishedRow own =
          published_row(as_looked_up(row.problem, device), Candidate::parse(row.kernel_name), 1, 0);
      return RowRates{own.tflops, own.bw};
    } catch (const Error&) {
      // A kernel or a problem that this build does not know; other checks report it.
      return std::nullopt;
    }
  }
  // Without a kernel the tool that wrote the row is unknown.
  if (family.counted_work == nullptr || (family.tunable && row.kernel_name.empty())) return std::nullopt;
  const CountedWork work = family.counted_work(row.problem);
  return RowRates{work.flops / 1e6, work.bytes / 1e3};
}

/// Half a unit of the last decimal that is written, of at least `min` decimals: trailing zeros may be missing.
double rounding_of(std::string_view cell, int min) {
  const size_t point = cell.find('.');
  const auto decimals = point == std::string_view::npos ? 0 : static_cast<int>(cell.size() - point - 1);
  return 0.5 * std::pow(10.0, -std::max(decimals, min));
}

constexpr int kTimeDecimals = 4, kRateDecimals = 2;
// Of double arithmetic.
constexpr double kRelativeRounding = 1e-9;

bool follows(double stated, double of_microsecond, double us, double us_rounding, double rounding) {
  const double low = of_microsecond / (us + us_rounding), high = of_microsecond / std::max(us - us_rounding, 1e-12);
  return stated >= low * (1 - kRelativeRounding) - rounding && stated <= high * (1 + kRelativeRounding) + rounding;
}

}  // namespace

void check_rates(const TableInput& input, FindingList& findings) {
  const Table& table = input.table;
  const auto check = [&](FindingKind kind, const TableRow& row, std::string_view column, std::optional<double> stated,
                         double of_microsecond) {
    const std::string_view cell = table.cell(row, column);
    if (cell.empty()) return;  // check_cells() reports it.
    const double us_rounding = rounding_of(table.cell(row, "us"), kTimeDecimals);
    if (stated && follows(*stated, of_microsecond, *row.us, us_rounding, rounding_of(cell, kRateDecimals))) return;
    findings.add(kind, row,
                 fmt::format("column '{}' states {}, the shape and {} µs give {:.2f}", column, shown(cell), *row.us,
                             of_microsecond / *row.us));
  };
  for (const TableRow& row : table.rows()) {
    if (!row.us) continue;
    const auto rates = rates_of_microsecond(table.family(), row);
    if (!rates) continue;
    check(FindingKind::wrong_tflops, row, "tflops", row.tflops, rates->tflops);
    check(FindingKind::wrong_bandwidth, row, "bw", row.bw, rates->bw);
  }
}

void check_errors(const TableInput& input, FindingList& findings) {
  const FamilySpec& family = input.table.family();
  const double limit = input.rules.max_err_ratio.value_or(family.max_err_ratio);
  const auto check = [&](const TableRow& row, std::optional<double> ratio, std::string_view column) {
    // Not a number is no share either.
    if (ratio && !(*ratio >= 0 && *ratio <= limit))
      findings.add(
          FindingKind::too_many_errors, row,
          fmt::format("column '{}' states a share of {:.4g}, at most {:.4g} may be wrong", column, *ratio, limit));
  };
  for (const TableRow& row : input.table.rows()) {
    check(row, row.err_ratio, "errRatio");
    for (size_t i = 0; i < row.parts.size(); ++i) check(row, row.parts[i].err_ratio, family.parts[i].err_ratio);
  }
}

}  // namespace attune
