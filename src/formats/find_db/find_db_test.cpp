// SPDX-License-Identifier: MIT
#include "formats/find_db/find_db.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "attune/error.h"
#include "base/file.h"
#include "formats/bzip2.h"
#include "formats/driver/driver_line.h"
#include "formats/driver/driver_text.h"
#include "formats/find_db/find_db_key.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kForward = "64-56-28-3x1-32-28-28-8-1x0-2x1-1x2-0-NCHW-FP32-F_g4";
constexpr const char* kSecond = "1000-13-13-1x1-512-13-13-16-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-B";
constexpr const char* kWinner = "ConvBinWinogradRxSf3x2:0.139621,0,miopenConvolutionBwdDataAlgoWinograd";
constexpr const char* kOther = "GemmBwd1x1_stride1:0.059578,77,miopenConvolutionBwdDataAlgoGEMM";
constexpr const char* kOld =
    "miopenConvolutionBwdDataAlgoGEMM:GemmBwdRest,3.02316,72,miopenConvolutionBwdDataAlgoGEMM,not used";

FindDb find_db(const std::string& text) { return FindDb::parse(text, "a.fdb.txt"); }

std::string find_db_error(const std::string& text) {
  try {
    find_db(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "accepted";
}

std::string line(const std::string& key, const std::string& entries) { return key + "=" + entries + "\n"; }

TEST(FindDb, FieldsAreTheTextOfTheFile) {
  const FindDb db = find_db(line(kSecond, std::string(kWinner) + ";" + kOther));
  ASSERT_EQ(db.records().size(), 1u);
  EXPECT_EQ(db.num_entries(), 2u);
  const FindDbRecord& record = db.records().front();
  EXPECT_EQ(record.key, kSecond);
  EXPECT_EQ(record.line, 1u);
  const FindDbEntry& entry = record.entries.back();
  EXPECT_EQ(entry.solver, "GemmBwd1x1_stride1");
  EXPECT_EQ(entry.time_ms, "0.059578");
  EXPECT_EQ(entry.workspace_bytes, "77");
  EXPECT_EQ(entry.algorithm, "miopenConvolutionBwdDataAlgoGEMM");
  EXPECT_FALSE(entry.is_v1());
}

TEST(FindDb, AFileIsWrittenAsItWasRead) {
  for (const std::string& text :
       {std::string(), line(kSecond, std::string(kWinner) + ";" + kOther) + line(kForward, kOld),
        std::string(kForward) + "=" + kOther, line(kForward, "S:1e-05,0,A") + line(kForward, "S:0.10000,0,A")})
    EXPECT_EQ(find_db(text).text(), text);
}

TEST(FindDb, OldEntriesBecomeNewOnes) {
  FindDb db = find_db(line(kForward, kOld));
  EXPECT_TRUE(db.records().front().entries.front().is_v1());
  db.make_v2();
  EXPECT_EQ(db.text(), line(kForward, "GemmBwdRest:3.02316,72,miopenConvolutionBwdDataAlgoGEMM"));
}

TEST(FindDb, SortsKeysByBytesAndEntriesByTimeAndName) {
  FindDb db = find_db(line(kForward, "B:2,0,A;Z:0.5,0,A;A:2.0,0,A;C:10,0,A") + line(kSecond, "S:1,0,A"));
  db.sort();
  EXPECT_EQ(db.text(), line(kSecond, "S:1,0,A") + line(kForward, "Z:0.5,0,A;A:2.0,0,A;B:2,0,A;C:10,0,A"));
  db.sort(2);
  EXPECT_EQ(db.text(), line(kSecond, "S:1,0,A") + line(kForward, "Z:0.5,0,A;A:2.0,0,A"));
}

TEST(FindDb, EntriesCanBeAdded) {
  FindDb db;
  {
    FindDb made;
    const std::string_view solver = made.keep("S");
    made.records().push_back({.key = made.keep(kForward),
                              .line = 0,
                              .entries = {{.id = solver,
                                           .solver = solver,
                                           .time_ms = made.keep("0.125"),
                                           .workspace_bytes = made.keep("64"),
                                           .algorithm = made.keep("A"),
                                           .kernel_key = {}}}});
    db = std::move(made);
  }
  EXPECT_EQ(db.text(), line(kForward, "S:0.125,64,A"));
}

TEST(FindDb, BadInputIsOneSentenceWithFileAndLine) {
  const std::string good = line(kSecond, kWinner);
  EXPECT_THAT(find_db_error(good + "no equals sign\n"), HasSubstr("a.fdb.txt:2: the line has no '='"));
  EXPECT_THAT(find_db_error(good + "=S:1,0,A\n"), HasSubstr("a.fdb.txt:2: the line has no key"));
  for (const char* time : {"0", "-1", "inf", "nan", "1e999", "", "0x1", "1 "})
    EXPECT_THAT(find_db_error(good + line(kForward, "S:" + std::string(time) + ",0,A")),
                HasSubstr("a.fdb.txt:2: the time of S must be a positive number of milliseconds"))
        << time;
  EXPECT_THAT(find_db_error(good + line(kForward, "S:1,-1,A")), HasSubstr("a.fdb.txt:2: the workspace of S"));
  EXPECT_THAT(find_db_error(good + line(kForward, "S:1,0,")), HasSubstr("a.fdb.txt:2: S states no algorithm"));
  EXPECT_THAT(find_db_error(good + line(kForward, "S:1,0")), HasSubstr("a.fdb.txt:2: an entry has 3 fields"));
  EXPECT_THAT(find_db_error(good + line(kForward, "S")), HasSubstr("a.fdb.txt:2: an entry is 'NAME:VALUES'"));
  EXPECT_THAT(find_db_error(good + line(kForward, "")), HasSubstr("a.fdb.txt:2: an entry is 'NAME:VALUES'"));
  EXPECT_THAT(find_db_error(good + line(kForward, "S:1,0,A;S:2,0,A")),
              HasSubstr("a.fdb.txt:2: the solver S stands tw"));
  EXPECT_THAT(find_db_error(good + line("64-56-28-3x1-32", "S:1,0,A")),
              HasSubstr("a.fdb.txt:2: a 2-D key has 15 groups"));
  EXPECT_THAT(find_db_error(good + std::string(40'000'000, '7')),
              HasSubstr("a.fdb.txt:2: a line has at most 65536 by"));
  EXPECT_THAT(find_db_error(good + std::string("1\0", 2)), HasSubstr("a.fdb.txt:2: the line contains a NUL byte"));
  EXPECT_THAT(find_db_error(line(kForward, "S:1,0,A\r")), HasSubstr("a.fdb.txt:1: byte 61 of the line is not printa"));
}

TEST(FindDb, AllDefectsCanBeListed) {
  const FindDb db = FindDb::parse_with_defects(
      line(kForward, "S:0,0,A;T:1,x,A") + line("1-2", "S:1,0,A") + line(kForward, "S:1,0,A"), "a.fdb.txt");
  std::vector<std::string> found;
  for (const FindDbDefect& one : db.defects()) found.push_back(std::to_string(one.line) + " " + one.what);
  EXPECT_THAT(found,
              ElementsAre(HasSubstr("1 the time of S"), HasSubstr("1 the workspace of T"), HasSubstr("2 a 2-D")));
  ASSERT_EQ(db.repeated_keys().size(), 1u);
  EXPECT_EQ(db.repeated_keys().front().line, 3u);
  EXPECT_EQ(db.repeated_keys().front().what, "the key of line 1 again");
}

TEST(FindDb, AFileIsKnownByItsFirstLine) {
  const TestFolder folder;
  EXPECT_TRUE(is_find_db(folder.put("a.fdb.txt", "\n" + line(kForward, kOther))));
  EXPECT_TRUE(is_find_db(folder.put("b.txt", line(kForward, kOld))));
  EXPECT_FALSE(is_find_db(folder.put("c.db.txt", "2x64x3xNCHWxFP32xF=S:1,2,3\n")));
  EXPECT_FALSE(is_find_db(folder.put("d.csv", "M,N,K\n1,2,3\n")));
  EXPECT_FALSE(is_find_db(folder.put("e.txt", "MIOpenDriver conv --in_h=3 a:b\n")));
  EXPECT_FALSE(is_find_db(folder.put("f.txt", "")));
  EXPECT_FALSE(is_find_db(folder.path() / "missing"));
}

TEST(FindDb, FilesAreNamedByArchitectureAndUnits) {
  EXPECT_EQ(miopen_device_name("gfx906", 60), "gfx906_60");
  EXPECT_EQ(miopen_device_name("gfx900", 64), "gfx900_64");
  EXPECT_EQ(miopen_device_name("gfx90a", 104), "gfx90a68");
  EXPECT_EQ(miopen_device_name("gfx942", 304), "gfx942130");
}

/// MIOpen's own files, which are not part of the project: ../shared/data/miopen_db.
class RealFindDbs : public testing::TestWithParam<std::tuple<const char*, size_t, size_t, size_t, size_t>> {
 protected:
  void SetUp() override {
    const auto file = shared_data() / "miopen_db" / (std::string(std::get<0>(GetParam())) + ".bz2");
    if (!std::filesystem::exists(file)) GTEST_SKIP() << "the file is not here: " << file;
    text_ = bunzip2(read_file(file), 100'000'000);
  }
  std::string text_;
};

TEST_P(RealFindDbs, AreWrittenAsTheyWereRead) {
  const auto& [name, num_keys, num_entries, num_untunable, num_defects] = GetParam();
  const std::string original = text_;
  const auto start = std::chrono::steady_clock::now();
  FindDb db = FindDb::parse_with_defects(std::move(text_), name);
  const std::vector<FindDbDefect> defects = db.defects();
  EXPECT_TRUE(db.text() == original) << "a byte differs";
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  std::printf("%s: %.2f s to parse and to write %.1f MB\n", name, taken.count(),
              static_cast<double>(original.size()) / 1e6);
  EXPECT_LT(taken.count(), 30);
  EXPECT_EQ(defects.size(), num_defects);
  for (const FindDbDefect& one : defects) ASSERT_THAT(one.what, HasSubstr("got '0.0'"));
  EXPECT_EQ(db.records().size(), num_keys);
  EXPECT_EQ(db.num_entries(), num_entries);
  EXPECT_TRUE(db.repeated_keys().empty());
  EXPECT_EQ(db.untunable_keys().size(), num_untunable);

  size_t num_changed = 0, num_problems = 0;
  for (const FindDbRecord& record : db.records()) {
    num_changed += FindDbKey::parse(record.key).text() != record.key;
    const auto problem = problem_of_find_db_key(record.key);
    if (!problem) continue;
    ++num_problems;
    num_changed += find_db_key_of(*problem) != record.key;
    const DriverLine driver = parse_driver_line(driver_line_of(*problem), {});
    ASSERT_EQ(driver.problems.size(), 1u) << driver.text << driver_line_of(*problem);
    num_changed += driver.problems.front() != *problem;
  }
  EXPECT_EQ(num_changed, 0u);
  EXPECT_EQ(num_problems, num_keys - num_untunable);

  std::vector<std::string> before;
  for (const FindDbRecord& record : db.records()) {
    for (const FindDbEntry& entry : record.entries)
      before.push_back(std::string(entry.solver) + " " + std::string(entry.time_ms) + " " +
                       std::string(entry.workspace_bytes) + " " + std::string(entry.algorithm));
  }
  db.make_v2();
  const FindDb again = FindDb::parse_with_defects(db.text(), name);
  size_t at = 0, num_lost = before.size();
  for (const FindDbRecord& record : again.records()) {
    for (const FindDbEntry& entry : record.entries)
      num_lost -= !entry.is_v1() && before.at(at++) == std::string(entry.solver) + " " + std::string(entry.time_ms) +
                                                           " " + std::string(entry.workspace_bytes) + " " +
                                                           std::string(entry.algorithm);
  }
  EXPECT_EQ(num_lost, 0u);
}

INSTANTIATE_TEST_SUITE_P(MIOpen, RealFindDbs,
                         testing::Values(std::tuple("gfx90a68.HIP.fdb.txt", 193'590, 648'924, 364, 1179),
                                         std::tuple("gfx942130.HIP.fdb.txt", 9'600, 37'792, 0, 0),
                                         std::tuple("gfx1030_36.HIP.fdb.txt", 106'105, 328'662, 233, 582)));

}  // namespace
}  // namespace attune
