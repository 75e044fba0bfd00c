// SPDX-License-Identifier: MIT
// Defects planted into the tables that ROCm/aiter ships, one kind at a time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <set>

#include "base/text.h"
#include "dispatch/table/lookup_steps.h"
#include "formats/csv/table_columns.h"
#include "ops/counted_work.h"
#include "pipeline/family_columns.h"
#include "pipeline/table_files.h"
#include "pipeline/table_validation.h"
#include "solver/registry.h"
#include "testing/test_files.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using enum FindingKind;

using Cells = std::vector<std::vector<std::string>>;
using Places = std::set<std::pair<FindingKind, size_t>>;  ///< Kinds and lines.

std::vector<TableFinding> findings_in(const fs::path& path) {
  const TableRules rules{.devices = data_sheet_limits(), .solvers = &registry(), .max_err_ratio = {}};
  TableFiles files = read_table_files(std::span(&path, 1));
  std::vector<TableFinding> findings = std::move(files.findings);
  for (FamilyFiles& one : files.families) {
    for (TableFinding& finding : validate(Table::of(std::move(one.documents), one.family, WrongRows::listed), rules))
      findings.push_back(std::move(finding));
  }
  return findings;
}

Places places_of(const std::vector<TableFinding>& findings) {
  Places places;
  for (const TableFinding& one : findings) places.emplace(one.kind, one.line);
  return places;
}

/// A shipped table as cells, the header first, so that the index of a row is its line less one.
class ShippedTable {
 public:
  explicit ShippedTable(std::string name)
      : name_(std::move(name)),
        table_(Table::of({CsvDocument::read(shared_data() / "aiter_configs" / name_)}, nullptr, WrongRows::listed)) {
    const CsvDocument& document = table_.documents().front();
    cells_.push_back(document.columns());
    for (size_t row = 0; row < document.num_rows(); ++row) {
      cells_.emplace_back();
      for (size_t i = 0; i < document.columns().size(); ++i) cells_.back().emplace_back(document.cell(row, i));
    }
    for (const auto& [kind, line] : findings(cells_)) defects_.insert(line);
  }

  const std::string& name() const { return name_; }
  const Table& table() const { return table_; }
  const Cells& cells() const { return cells_; }
  std::optional<size_t> column(std::string_view name) const {
    return place_of_column(table_.documents().front(), name);
  }
  static size_t line_of(const TableRow& row) { return row.row + 2; }

  /// Rows without a defect that suit, spread over the table: no two are neighbours.
  std::vector<const TableRow*> sound_rows(const std::function<bool(const TableRow&)>& suits) const {
    std::vector<const TableRow*> rows;
    const size_t stride = std::max<size_t>(2, table_.rows().size() / 7);
    for (const TableRow& row : table_.rows()) {
      const bool is_near = !rows.empty() && row.row < rows.back()->row + stride;
      if (!is_near && row.us && !defects_.contains(line_of(row)) && suits(row)) rows.push_back(&row);
    }
    return rows;
  }

  /// The findings in a table of these cells, without one of the columns.
  Places findings(const Cells& cells, std::optional<size_t> without = {}) const {
    std::string text;
    for (const auto& row : cells) {
      std::vector<std::string> kept;
      for (size_t i = 0; i < row.size(); ++i) {
        if (i != without) kept.push_back(csv_cell(row[i]));
      }
      text += join(kept, ",") + "\n";
    }
    const TestFolder folder;
    return places_of(findings_in(folder.put(fs::path(name_).filename(), text)));
  }

 private:
  std::string name_;
  Table table_;
  Cells cells_;
  std::set<size_t> defects_;  ///< Lines.
};

/// Changes the cells of a row, which it finds by its line less one.
using Planting = std::function<void(const ShippedTable& table, const TableRow& row, Cells& cells)>;

bool any_row(const TableRow&) { return true; }

class ShippedTables : public testing::Test {
 protected:
  void SetUp() override {
    if (shipped_tables().empty()) GTEST_SKIP() << "the folder of shipped tables is not here";
  }

  /// Plants one kind into rows of every table that has the column, and expects a finding at each.
  void expect_found(FindingKind kind, std::string_view column, const Planting& plant,
                    const std::function<bool(const ShippedTable&, const TableRow&)>& suits = {}) {
    size_t num_planted = 0;
    for (const char* name : kNames) {
      const ShippedTable& table = table_of(name);
      if (!table.column(column)) continue;
      Cells cells = table.cells();
      std::set<size_t> lines;
      for (const TableRow* row :
           table.sound_rows([&](const TableRow& one) { return suits ? suits(table, one) : any_row(one); })) {
        plant(table, *row, cells);
        lines.insert(ShippedTable::line_of(*row));
      }
      const Places found = table.findings(cells);
      for (const size_t line : lines)
        EXPECT_TRUE(found.contains({kind, line})) << attune::name(kind) << " in " << name << ":" << line;
      num_planted += lines.size();
    }
    EXPECT_GE(num_planted, 5u) << attune::name(kind);
  }

  static Planting set(std::string_view column, std::string text) {
    return [=](const ShippedTable& table, const TableRow& row, Cells& cells) {
      cells[row.row + 1][*table.column(column)] = text;
    };
  }

  /// A table is read once.
  static const ShippedTable& table_of(const char* name) {
    static std::map<std::string, ShippedTable> tables;
    return tables.try_emplace(name, name).first->second;
  }

  static constexpr std::array kNames = {
      "bf16_tuned_gemm.csv", "bf16_tuned_batched_gemm.csv", "model_configs/dsv3_a4w4_blockscale_tuned_gemm.csv",
      "model_configs/glm5_a8w8_bpreshuffle_tuned_gemm.csv", "model_configs/glm5_fp4_tuned_fmoe.csv"};
};

TEST_F(ShippedTables, PlantedTimesAreFound) {
  for (const char* us : {"0", "-1", "inf", "nan", ""}) expect_found(unusable_time, "us", set("us", us));
  for (const char* us : {"0.001", "1e12", "1e30"}) expect_found(absurd_time, "us", set("us", us));
  const auto limits = data_sheet_limits();
  const auto bound_of = [&](const ShippedTable& table, const TableRow& row) {
    const DeviceLimits* device = find_limits(limits, row.gfx, row.num_units);
    return device ? roofline_bound(table.table().family().counted_work(row.problem), *device).us : 0;
  };
  const Planting faster = [&](const ShippedTable& table, const TableRow& row, Cells& cells) {
    cells[row.row + 1][*table.column("us")] = fmt::format("{:.4f}", 0.98 * bound_of(table, row));
  };
  expect_found(below_roofline, "us", faster,
               [&](const ShippedTable& table, const TableRow& row) { return bound_of(table, row) > 0.02; });
}

TEST_F(ShippedTables, PlantedRatesAreFound) {
  const auto scaled = [](std::string_view column, double factor) -> Planting {
    return [=](const ShippedTable& table, const TableRow& row, Cells& cells) {
      std::string& cell = cells[row.row + 1][*table.column(column)];
      cell = fmt::format("{:.2f}", factor * parse_double(cell).value() + 0.02);
    };
  };
  expect_found(wrong_tflops, "tflops", scaled("tflops", 1));
  expect_found(wrong_tflops, "tflops", scaled("tflops", 2));
  expect_found(wrong_bandwidth, "bw", scaled("bw", 1.01));
  expect_found(wrong_bandwidth, "bw", scaled("bw", 1e-3));
}

TEST_F(ShippedTables, PlantedErrorsAreFound) {
  for (const char* column : {"errRatio", "err1", "err2"}) {
    if (std::string_view(column) == "errRatio") expect_found(too_many_errors, column, set(column, "0.0501"));
    expect_found(too_many_errors, column, set(column, "10.1%"));
  }
}

TEST_F(ShippedTables, PlantedKernelsAreFound) {
  expect_found(unknown_kernel, "kernelName", set("kernelName", "nobody.gemm@1:a=1"));
  expect_found(unknown_kernel, "kernelName", set("kernelName", "portable.gemm@77:"));
  expect_found(unknown_kernel, "kernelName", set("kernelName", "portable@gemm"));
}

TEST_F(ShippedTables, PlantedKeysAreFound) {
  expect_found(unreadable, "K", set("K", "seven"));
  expect_found(unreadable, "token", set("token", "1.5"));
  expect_found(unreachable, "N", set("N", "0"));
  expect_found(unreachable, "cu_num", [](const ShippedTable& table, const TableRow& row, Cells& cells) {
    if (const auto gfx = table.column("gfx")) cells[row.row + 1][*gfx].clear();
    cells[row.row + 1][*table.column("cu_num")] = "7";
  });
  for (const char* name : kNames) {
    const ShippedTable& table = table_of(name);
    Cells cells = table.cells();
    std::set<size_t> lines;
    for (const TableRow* row : table.sound_rows(any_row)) {
      cells.push_back(Cells::value_type(table.cells()[row->row + 1]));
      lines.insert(cells.size());
    }
    const Places found = table.findings(cells);
    for (const size_t line : lines) EXPECT_TRUE(found.contains({duplicate_key, line})) << name << ":" << line;
    EXPECT_FALSE(lines.empty());
  }
}

TEST_F(ShippedTables, PlantedColumnsAndCellsAreFound) {
  for (const char* name : kNames) {
    const ShippedTable& table = table_of(name);
    for (const std::string& column : new_table_header(table.table().family())) {
      const auto place = table.column(column);
      if (!place) continue;
      EXPECT_TRUE(table.findings(table.cells(), place).contains({missing_column, 1})) << name << " " << column;
    }
  }
  for (const char* column : {"kernelName", "tflops", "bw", "errRatio"})
    expect_found(missing_column, column, set(column, ""));
}

TEST_F(ShippedTables, RowsThatArePlantedSlowerThanTheirPaddedServiceAreFound) {
  const auto padded = [](const ShippedTable& table, const TableRow& row) -> const TableRow* {
    const FamilySpec& family = table.table().family();
    if (!family.pads_rows) return nullptr;
    const int64_t m = row.problem.integer("m");
    for (const LookupSteps::Step& step : LookupSteps(&family.padding, m, row.problem.integer("n"))) {
      if (step.m <= m) continue;
      const Problem key = row.problem.with("m", std::to_string(step.m));
      if (const TableRow* found = table.table().find(key, row.gfx, row.num_units)) return found;
    }
    return nullptr;
  };
  const Planting slower = [&](const ShippedTable& table, const TableRow& row, Cells& cells) {
    cells[row.row + 1][*table.column("us")] = fmt::format("{:.4f}", 1.03 * *padded(table, row)->us);
  };
  expect_found(slower_than_padded, "M", slower,
               [&](const ShippedTable& table, const TableRow& row) { return padded(table, row) != nullptr; });
}

TEST_F(ShippedTables, AreReadQuicklyAndHaveTheDefectsThatAreKnown) {
  const auto began = std::chrono::steady_clock::now();
  const FindingCounts counts = count_findings(findings_in(shared_data() / "aiter_configs"));
#ifdef ATTUNE_SANITIZED
  constexpr std::chrono::seconds kMost(60);
#else
  constexpr std::chrono::seconds kMost(5);
#endif
  EXPECT_LT(std::chrono::steady_clock::now() - began, kMost);
  // By FindingKind, see docs/ci_failures.md.
  const FindingCounts known = {0, 17, 1, 128, 0, 178, 1513, 2658, 285, 0, 26, 2245};
  EXPECT_EQ(counts, known);
}

}  // namespace
}  // namespace attune
