// SPDX-License-Identifier: MIT
#include "dispatch/table/row_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/random.h"
#include "dispatch/table/matched_rows.h"
#include "formats/csv/family_of_file.h"
#include "formats/csv/key_cells.h"
#include "ops/packed_weights.h"
#include "testing/slow_lookup.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const FamilySpec& family() { return *find_family("gemm_a16w16"); }

DeviceInfo device() {
  DeviceInfo info;
  info.gfx = "x86-64-v4";
  info.num_units = 2;
  info.model = "Some CPU";
  return info;
}

class RowIndexTest : public testing::Test {
 protected:
  RowIndex index(std::vector<std::string> contents) {
    std::vector<TableSource> files;
    for (size_t i = 0; i < contents.size(); ++i)
      files.push_back({folder_.put(fmt::format("t{}.csv", i), contents[i]), Origin::variable});
    return {codes_, std::move(files), device()};
  }
  std::string kernel(const RowIndex& index, const std::string& problem, std::string_view layout = {}) const {
    const auto codes = codes_.key(Problem::parse(problem));
    const uint32_t row = index.find(codes_.hash(codes, KeyCodes::layout_code(layout)));
    return row == 0 ? "none" : std::string(index.kernel_name(index.row(row)));
  }

  KeyCodes codes_{family()};
  TestFolder folder_;
};

constexpr const char* kIndexHeader = "gfx,cu_num,M,N,K,dtype,us,kernelName\n";

TEST_F(RowIndexTest, FindsTheLowestTimeOfTheFirstFile) {
  const std::string two =
      "x86-64-v4,2,1,2,3,torch.float32,9,slow\nx86-64-v4,2,1,2,3,torch.float32,8,fast\n"
      "x86-64-v4,2,1,2,3,torch.float32,9,slow\n";
  const auto made = index({kIndexHeader + two, kIndexHeader + std::string("x86-64-v4,2,1,2,3,torch.float32,1,other\n"
                                                                          "x86-64-v4,2,5,2,3,torch.float32,1,five\n")});
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 dtype=fp32"), "fast");
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=5 n=2 k=3 dtype=fp32"), "five");
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 dtype=bf16"), "none");
  EXPECT_EQ(made.num_rows(), 2u);
  EXPECT_THAT(made.notices(),
              ElementsAre(testing::ContainsRegex("t0.csv: 2 rows with the key of another row: the lowest time wins; "
                                                 "the first is /.*/t0.csv:3$")));
}

TEST_F(RowIndexTest, OfTimesThatItCannotTellApartTheFirstRowWins) {
  const auto made = index({kIndexHeader + std::string("x86-64-v4,2,1,2,3,torch.float32,7.00000002,first\n"
                                                      "x86-64-v4,2,1,2,3,torch.float32,7.00000001,second\n")});
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 dtype=fp32"), "first");
}

TEST_F(RowIndexTest, TheOtherRowsOfAKeyFollowByRankEachKernelOnce) {
  const auto made = index({kIndexHeader + std::string("x86-64-v4,2,1,2,3,fp32,9,slow\n"
                                                      "x86-64-v4,2,1,2,3,fp32,8,fast\n"
                                                      "x86-64-v4,2,1,2,3,fp32,8.5,fast\n"
                                                      "x86-64-v4,2,7,2,3,fp32,1,alone\n"),
                           kIndexHeader + std::string("x86-64-v4,2,1,2,3,fp32,1,later file\n"
                                                      "x86-64-v4,2,1,2,3,fp32,1,slow\n")});
  const auto kernels = [&](int m) {
    std::vector<std::string_view> names;
    const auto key = codes_.hash(codes_.key(Problem::parse(fmt::format("gemm_a16w16 m={} n=2 k=3 dtype=fp32", m))));
    for (uint32_t row = made.find(key); row != 0; row = made.alternate(row)) {
      names.push_back(made.kernel_name(made.row(row)));
      EXPECT_EQ(made.row(row).m, m);
    }
    return names;
  };
  EXPECT_THAT(kernels(1), ElementsAre("fast", "slow", "later file"));
  EXPECT_THAT(kernels(7), ElementsAre("alone"));
  EXPECT_EQ(made.num_rows(), 2u);
}

TEST_F(RowIndexTest, LeavesOutWhatDoesNotServeThisDevice) {
  const auto made =
      index({"gfx,cu_num,M,N,K,us,kernelName,device,_tag\n"
             "x86-64-v3,2,1,2,3,1,gfx,,\n"
             "x86-64-v4,4,1,2,3,1,units,,\n"
             "x86-64-v4,2,1,2,3,1,model,Another CPU,\n"
             "x86-64-v4,2,1,2,3,1,tag,,flydsl\n"
             "x86-64-v4,2,1,2,3,7,ours,Some CPU,\n"});
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3"), "ours");
  EXPECT_EQ(made.num_rows(), 1u);
  EXPECT_THAT(made.notices(), IsEmpty());
}

TEST_F(RowIndexTest, AWrongRowOrFileIsSaidAndTheRestServes) {
  const auto made = index({kIndexHeader + std::string("x86-64-v4,2,many,2,3,fp32,1,a\nx86-64-v4,2,1,2,3,fp32,1,b\n"),
                           "M,N\n1,2\n", kIndexHeader + std::string("x86-64-v4,2,7,2,3,fp32,1,c\n")});
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 dtype=fp32"), "b");
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=7 n=2 k=3 dtype=fp32"), "c");
  EXPECT_THAT(made.notices(),
              ElementsAre(HasSubstr("t0.csv:2: column 'M' expects a whole number, got 'many'"),
                          testing::AllOf(HasSubstr("a table is skipped"), HasSubstr("the column 'K' is missing"))));
  const uint32_t row = made.find(codes_.hash(codes_.key(Problem::parse("gemm_a16w16 m=7 n=2 k=3 dtype=fp32"))));
  EXPECT_THAT(made.where(made.row(row)), testing::EndsWith("t2.csv:2"));
}

TEST_F(RowIndexTest, ARowWithMoreCellsThanTheHeaderIsNotGuessedAt) {
  const auto made =
      index({kIndexHeader + std::string("x86-64-v4,2,1,2,3,fp32,1,a,b\nx86-64-v4,2,2,2,3,fp32,1,c, ,\n")});
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 dtype=fp32"), "none");
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=2 n=2 k=3 dtype=fp32"), "c");
  EXPECT_THAT(made.notices(), ElementsAre(HasSubstr("t0.csv:2: the row has 9 cells and the header 8 columns")));
}

/// Returns the descriptions of the first rows in the notices, without the folder: `t0.csv:2: …`.
std::vector<std::string> notices_of(const RowIndex& index) {
  std::vector<std::string> notices = index.notices();
  for (std::string& notice : notices) notice.erase(0, notice.find("; the first is ") + 15);
  for (std::string& notice : notices) notice.erase(0, notice.rfind("/t0.csv") + 1);
  return notices;
}

TEST_F(RowIndexTest, EachKindOfRowThatNoCallCanTakeIsSaidWithItsReason) {
  const std::string header = "gfx,cu_num,M,N,K,bpreshuffle,dtype,us,kernelName,layout,require\n";
  const std::string range = "expects a whole number from 1 to 2147483647, got ";
  const std::string plain = ",jit.gemm@1:a=1,,\n", k16 = ",jit.gemm@1:b_layout=host.k16.v1,";
  const std::pair<std::string, std::string> cases[] = {
      {"x86-64-v4,2,1,2,3,False,fp32,banana" + plain,
       "column 'us' expects a time in µs from 1e-09 to 1e+18, got 'banana'"},
      {"x86-64-v4,2,1,2,3,False,fp32,0" + plain, "column 'us' expects a time in µs from 1e-09 to 1e+18, got '0'"},
      {"x86-64-v4,2,1,seven,3,False,fp32,1" + plain, "column 'N' expects a whole number, got 'seven'"},
      {"x86-64-v4,2,1,-7,3,False,fp32,1" + plain, "column 'N' " + range + "'-7'"},
      {"x86-64-v4,2,0,7,3,False,fp32,1" + plain, "column 'M' " + range + "'0'"},
      {"x86-64-v4,2,1,2,3,False,torch.floaty,1" + plain,
       "column 'dtype' expects one of bf16, fp16, fp32, got 'torch.floaty'"},
      {"x86-64-v4,two,1,2,3,False,fp32,1" + plain, "column 'cu_num' expects a whole number, got 'two'"},
      {"x86-64-v4,2,1,2,3,False,fp32,1,jit.gemm@1:a=1,wibble,\n",
       "its kernel reads weights in the layout 'plain', not in 'wibble', which is no known layout"},
      {"x86-64-v4,2,1,2,3,True,fp32,1" + k16 + "mkl.pack@1,\n",
       "its kernel reads weights in the layout 'host.k16.v1', not in 'mkl.pack@1'"},
      {"x86-64-v4,2,1,2,3,True,fp32,1" + k16 + ",\n",
       "its kernel reads weights in the layout 'host.k16.v1', not in 'plain'"},
  };
  for (const auto& [row, why] : cases)
    EXPECT_THAT(notices_of(index({header + row})), ElementsAre("t0.csv:2: " + why)) << row;
  EXPECT_THAT(index({header + "x86-64-v4,2,1,2,3,False,fp32,1,jit.gemm@1:a=1,,always\n"}).notices(),
              ElementsAre(HasSubstr("'always'")));
}

TEST_F(RowIndexTest, UnusableRowsOfATableAreCountedInOneSentence) {
  const std::string good = "x86-64-v4,2,1,2,3,fp32,1,a\n";
  const auto made =
      index({kIndexHeader + good + "x86-64-v4,2,1,2,3,fp32,soon,a\nx86-64-v4,2,1,x,3,fp32,1,a\n", kIndexHeader + good});
  EXPECT_THAT(made.notices(),
              ElementsAre(testing::ContainsRegex("^2 rows cannot be used, run attune check '/.*/t0.csv'; the first is "
                                                 "/.*/t0.csv:3: column 'us' expects")));
}

TEST_F(RowIndexTest, RowsOfOtherDevicesMayHoldWhatThisOneCannotUse) {
  const auto made = index({kIndexHeader + std::string("gfx942,304,1,2,3,torch.floaty,1,a\ngfx942,304,1,-1,3,fp32,x,a\n"
                                                      "x86-64-v4,4,1,-1,3,fp32,x,a\n")});
  EXPECT_THAT(made.notices(), IsEmpty());
}

TEST_F(RowIndexTest, AKernelOfAnotherProgramMayNameAnyLayout) {
  const auto made =
      index({"gfx,cu_num,M,N,K,bpreshuffle,us,kernelName,layout\n"
             "x86-64-v4,2,1,2,3,True,4,_ZN5aiter,wibble\n"});
  EXPECT_THAT(made.notices(), IsEmpty());
}

TEST_F(RowIndexTest, NumbersMayBeWrittenAsPandasDoes) {
  const auto made = index({kIndexHeader + std::string("x86-64-v4,2.0,1.0,2,3,fp32,1,a\n")});
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 dtype=fp32"), "a");
}

TEST_F(RowIndexTest, RowsOfPackedWeightsAreFoundByTheirLayout) {
  const auto made =
      index({"gfx,cu_num,M,N,K,bpreshuffle,us,kernelName,layout\n"
             "x86-64-v4,2,1,2,3,True,4,k16,host.k16.v1\n"
             "x86-64-v4,2,1,2,3,True,2,mkl,mkl.pack@1\n"
             "x86-64-v4,2,1,2,3,False,2,plain,plain\n"});
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 bpreshuffle=1", "host.k16.v1"), "k16");
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 bpreshuffle=1", "mkl.pack@1"), "mkl");
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3 bpreshuffle=1"), "none");
  EXPECT_EQ(kernel(made, "gemm_a16w16 m=1 n=2 k=3"), "plain");
}

TEST_F(RowIndexTest, AnEmptyOneFindsNothing) { EXPECT_EQ(kernel(index({}), "gemm_a16w16 m=1 n=2 k=3"), "none"); }

/// Checks that table and index find the same row, by line and kernel.
void expect_same(const Table& table, const RowIndex& index, const KeyCodes& codes, const DeviceInfo& here,
                 const Problem& problem) {
  const TableRow* wanted = table.find(problem, here.gfx, here.num_units, here.model);
  const uint32_t number = index.find(codes.hash(codes.key(problem)));
  ASSERT_EQ(number == 0, wanted == nullptr) << problem.key();
  if (number == 0) return;
  const RowIndex::Row* got = &index.row(number);
  // Either of two rows with the same lowest time is correct.
  EXPECT_FLOAT_EQ(got->us, static_cast<float>(wanted->us.value())) << problem.key();
  if (wanted->line == got->line) {
    EXPECT_EQ(index.kernel_name(*got), wanted->kernel_name);
  }
}

/// A readable table of a known family.
struct RealTable {
  std::filesystem::path file;
  Table table;
};

std::vector<RealTable> real_tables() {
  std::vector<RealTable> tables;
  for (const auto& file : shipped_tables()) {
    const std::string name = file.filename().string();
    const FamilySpec* spec = family_of_name(name);
    if (spec == nullptr || name.find("untuned") != std::string::npos) continue;
    try {
      tables.push_back({file, Table::read(file.string(), spec)});
    } catch (const Error&) {
      continue;  // A family with the same words in its name.
    }
  }
  return tables;
}

/// Devices of the real tables.
std::vector<DeviceInfo> real_devices() {
  std::vector<DeviceInfo> devices;
  for (const auto& [gfx, units] :
       {std::pair<const char*, int64_t>{"gfx942", 304}, {"gfx942", 80}, {"gfx950", 256}, {"gfx1250", 256}}) {
    devices.emplace_back().gfx = gfx;
    devices.back().num_units = units;
  }
  return devices;
}

TEST(RowIndexProperty, AgreesWithTheTableOverAllRowsOfTheRealTables) {
  const auto tables = real_tables();
  if (tables.empty()) GTEST_SKIP() << "the folder of real tables is not available";
  size_t num_rows = 0;
  Random random(1);
  for (const auto& [file, table] : tables) {
    const KeyCodes codes(table.family());
    for (const DeviceInfo& here : real_devices()) {
      const RowIndex index(codes, {{file, Origin::model}}, here);
      for (const TableRow& row : table.rows()) {
        expect_same(table, index, codes, here, row.problem);
        if (!row.problem.has("m")) continue;
        expect_same(table, index, codes, here, row.problem.with("m", std::to_string(1 + random.below(20000))));
        ++num_rows;
      }
    }
  }
  EXPECT_GT(tables.size(), 20u);
  EXPECT_GT(num_rows, 10000u);
}

/// Returns what a lookup matches, such as `exact t.csv:17`, in the order in which rows are tried.
std::vector<std::string> fast_matches(const RowIndex& index, const KeyCodes& codes, const Problem& problem,
                                      double max_regret) {
  const Key values = codes.key(problem);
  std::vector<GroupKey> groups = {codes.group_key(values)};
  if (has_packed_weights(problem)) {
    groups.clear();
    auto layouts = index.layouts();
    std::sort(layouts.begin(), layouts.end());
    for (const std::string& layout : layouts) groups.push_back(codes.group_key(values, KeyCodes::layout_code(layout)));
  }
  std::vector<std::string> matches;
  const int64_t m = codes.m_of(values), n = codes.n_of(values);
  visit_rows<RowIndex::kMaxLayouts>(index, m, n, codes.pads_m(), groups, max_regret, [&](const MatchedRow& met) {
    matches.push_back(fmt::format("{} {} {}", name(met.match), index.where(index.row(met.number)), met.regret));
    return false;
  });
  return matches;
}

/// Returns the slow model's matches in the same form.
std::vector<std::string> slow_matches(const Table& table, const SlowLookup& lookup, const Problem& problem) {
  std::vector<std::string> matches;
  for (const SlowLookup::Row& one : lookup.find(problem))
    matches.push_back(fmt::format("{} {} {}", name(one.match), table.documents()[one.row->file].where(one.row->row),
                                  static_cast<float>(one.regret)));
  return matches;
}

/// Returns a problem with the sizes of a row, near them, or arbitrary.
Problem some_problem(const FamilySpec& family, std::span<const TableRow> rows, Random& random) {
  const Problem& one = rows[random.below(rows.size())].problem;
  if (family.rows.empty()) return one;
  const int64_t m = one.integer(family.rows);
  const int64_t near = std::max<int64_t>(1, m - static_cast<int64_t>(random.below(2 + static_cast<uint64_t>(m) / 2)));
  switch (random.below(4)) {
    case 0:
      return one;
    case 1:
      return one.with(family.rows, std::to_string(1 + random.below(40000)));
    case 2:
      if (family.columns.empty()) return one.with(family.rows, std::to_string(near));
      return one.with(family.columns, std::to_string(1 + random.below(20000))).with(family.rows, std::to_string(near));
    default:
      return one.with(family.rows, std::to_string(near));
  }
}

/// Counts of lookups by match, `fallback` for none.
using MatchCounts = std::map<std::string, size_t>;

void expect_same_matches(const Table& table, const DeviceInfo& here, int num_lookups, Random& random,
                         MatchCounts& counts) {
  constexpr double kMaxRegret = 0.25;
  const KeyCodes codes(table.family());
  const RowIndex index(codes, table.documents(), here);
  const SlowLookup slow(table, here, kMaxRegret);
  for (int i = 0; i < num_lookups; ++i) {
    const Problem problem = some_problem(table.family(), table.rows(), random);
    const auto wanted = slow_matches(table, slow, problem);
    ASSERT_EQ(fast_matches(index, codes, problem, kMaxRegret), wanted) << problem.key() << " on " << here.key();
    for (const std::string& one : wanted) ++counts[one.substr(0, one.find(' '))];
    if (wanted.empty()) ++counts["fallback"];
  }
}

/// A table of a family with rows of two layers, at random numbers of rows and at padded ones.
Table some_table(const FamilySpec& family, Random& random) {
  std::string text = "gfx,cu_num";
  for (const AttributeSpec& key : family.key) text += "," + std::string(key.column);
  text += ",us,kernelName\n";
  for (int row = 0; row < 60; ++row) {
    const uint64_t layer = random.below(2);
    text += "gfx942,80";
    for (const AttributeSpec& key : family.key) {
      std::string value(key.default_value);
      if (key.name == family.rows)
        value = std::to_string(row % 2 == 0 ? 16 * (1 + random.below(40)) : uint64_t{1} << random.below(15));
      else if (key.kind == ColumnKind::integer)
        value = std::to_string(64 + 8192 * layer);
      else if (value.empty())
        value = key.kind == ColumnKind::dtype ? "bf16" : key.kind == ColumnKind::text ? "word" : "0";
      text += "," + value;
    }
    text += fmt::format(",{},kernel {}\n", 1 + random.below(100), random.below(3));
  }
  return Table::of({CsvDocument::parse(text, "table.csv")}, &family);
}

TEST(RowIndexProperty, StepsThroughTablesOfEveryFamilyAsTheSlowLookupDoes) {
  using enum ColumnKind;
  static const FamilySpec other = {.op = "other",
                                   .key = {{"token", "token", integer, ""}, {"dim", "dim", integer, ""}},
                                   .results = {"us", "kernelName"},
                                   .rows = "token",
                                   .columns = "dim",
                                   .pads_rows = true,
                                   .padding = {.fine = {{{8, 4}, {64, 8}, {128, 16}}},
                                               .last_multiple = 64,
                                               .max_coarse_rows = 512,
                                               .max_free_columns = 4096}};
  std::vector<const FamilySpec*> all = {&other};
  for (const FamilySpec& family : families()) all.push_back(&family);
  DeviceInfo here;
  here.gfx = "gfx942";
  here.num_units = 80;
  Random random(3);
  for (const FamilySpec* family : all) {
    SCOPED_TRACE(family->op);
    MatchCounts counts;
    expect_same_matches(some_table(*family, random), here, 200, random, counts);
    EXPECT_GT(counts["exact"], 10u);
    for (const char* match : {"padded_fine", "padded_coarse", "predicted"})
      EXPECT_EQ(counts[match] > 0, family->pads_rows) << match;
  }
}

TEST(RowIndexProperty, StepsThroughTheRealTablesAsTheSlowLookupDoes) {
  std::map<const FamilySpec*, std::vector<RealTable>> by_family;
  for (RealTable& one : real_tables()) by_family[&one.table.family()].push_back(std::move(one));
  if (by_family.empty()) GTEST_SKIP() << "the folder of real tables is not available";
  MatchCounts counts;
  Random random(2);
  for (const auto& [family, tables] : by_family) {
    std::vector<CsvDocument> documents;
    for (const RealTable& one : tables) {
      for (const CsvDocument& document : one.table.documents()) documents.push_back(document);
    }
    const Table table = Table::of(std::move(documents), family);
    for (const DeviceInfo& here : real_devices()) expect_same_matches(table, here, 500, random, counts);
  }
  for (const Match match : {Match::exact, Match::padded_fine, Match::padded_coarse, Match::predicted, Match::fallback})
    EXPECT_GT(counts[std::string(name(match))], 100u) << name(match);
}

}  // namespace
}  // namespace attune
