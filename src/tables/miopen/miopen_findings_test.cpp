// SPDX-License-Identifier: MIT
#include "tables/miopen/miopen_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/kernel_db/kernel_db.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kFindKey = "8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F";
constexpr const char* kPerfKey = "2x8x9x8x1x3x3x1x8x2x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF";

class MiopenFindingsTest : public ::testing::Test {
 protected:
  std::vector<std::string> check(const std::string& name, const std::string& content,
                                 const CandidateCheck& candidates = {}) {
    const auto file = folder_.put(name, content);
    std::vector<std::string> lines;
    for (const MiopenFinding& one : miopen_findings(file, miopen_file_or_named(file), candidates).findings)
      lines.push_back(std::to_string(one.line) + ": " + std::string(attune::name(one.kind)) + ": " + one.what);
    return lines;
  }
  TestFolder folder_;
};

TEST_F(MiopenFindingsTest, AFindDbsDefectsHaveTheirLines) {
  const std::string key = kFindKey;
  EXPECT_THAT(check("a.fdb.txt", key + "=ConvAsm1x1U:1,0,A\n" + key + "=GemmFwdRest:0.0,0,A\n1-2=fft:1,0,A\n"),
              ElementsAre(HasSubstr("3: defect: a 2-D key"), HasSubstr("2: unusable time: the time of GemmFwdRest"),
                          "2: repeated key: the key of line 1 again"));
}

TEST_F(MiopenFindingsTest, SolversThatNoProgramHasAreNamed) {
  const std::string key = kFindKey;
  EXPECT_THAT(check("a.fdb.txt", key + "=ConvAsm1x1U:1,0,A;fake.conv:1,0,A;ConvHipImplicitGemmV4Fwd:1,0,A\n"),
              ElementsAre("1: unknown solver: MIOpen has no solver ConvHipImplicitGemmV4Fwd, nor has this program"));
  EXPECT_THAT(check("gfx90a68.HIP.fdb.txt", key + "=fake.conv:1,0,A\n"),
              ElementsAre("1: unknown solver: fake.conv is a solver of this program, MIOpen drops a key with it"));
  EXPECT_THAT(check("a.db.txt", std::string(kPerfKey) + "=Nonsense:1,2\n"),
              ElementsAre(HasSubstr("1: unknown solver: MIOpen has no solver Nonsense")));
}

TEST_F(MiopenFindingsTest, AKeyOfOtherComputeUnitsThanTheNameIsNamed) {
  const std::string key = kFindKey;
  const std::string text = "\n" + key + "_cu104=fft:1,0,A\n" + key + "_cu60=fft:1,0,A\n";
  EXPECT_THAT(check("gfx90a68.HIP.fdb.txt", text),
              Contains("3: another device: the key is for 60 compute units, the file's name for 104"));
  EXPECT_THAT(check("gfx90a68.HIP.fdb.txt", text), testing::Not(Contains(HasSubstr("2: another device"))));
  EXPECT_THAT(check("a.fdb.txt", text), testing::Not(Contains(HasSubstr("another device"))));
}

TEST_F(MiopenFindingsTest, APerfDbsTextIsReadToItsEnd) {
  const std::string key = kPerfKey;
  EXPECT_THAT(
      check("a.db.txt", key + "=fft:1;fft:2\nnonsense=fft:1\n" + key + "=fft:1\n" + "3" + key.substr(1) + "=fft:\n"),
      ElementsAre(HasSubstr("2: defect: a key has 24 parts"), "4: defect: fft has no parameters",
                  "1: repeated key: the solver fft stands twice in one line",
                  "3: repeated key: the key of line 1 again", HasSubstr("4: untunable: its conv_stride_d")));
}

TEST_F(MiopenFindingsTest, ParametersOfOwnSolversAreComparedWithCandidates) {
  const std::string key = kPerfKey;
  std::vector<std::string> asked;
  const auto candidates = [&](const Problem& problem, const std::string& solver,
                              const std::string& params) -> std::optional<std::string> {
    asked.push_back(solver + " " + params + " " + problem.text("direction"));
    return params == "x=1" ? std::nullopt : std::optional<std::string>("x must be 1");
  };
  EXPECT_THAT(check("a.db.txt", key + "=fake.conv:x=1;fft:9;portable.gemm:x=2\n", candidates),
              ElementsAre("1: no candidate: x must be 1"));
  EXPECT_THAT(asked, ElementsAre("fake.conv x=1 fwd", "portable.gemm x=2 fwd"));
}

TEST_F(MiopenFindingsTest, AKernelDbIsReadToItsEnd) {
  KernelDb db{.schema = {KernelDb::own_schema().front()}, .kernels = {}};  // Without its unique index.
  db.kernels = {kernel_db_row(1, "a.o", " -mcpu=gfx90a", "one"), kernel_db_row(2, "a.o", " -mcpu=gfx90a", "two"),
                kernel_db_row(3, "b.o", " -mcpu=gfx942:xnack-", "three"), kernel_db_row(4, "c.o", "", "four")};
  db.kernels[3].hash = std::string(32, '0');
  EXPECT_THAT(
      check("gfx90a68.kdb", kernel_db_bytes(db)),
      ElementsAre(HasSubstr("4: defect: the kernel's MD5 is"), "2: repeated key: the name and arguments of row 1 again",
                  "3: another device: the kernel is for gfx942, the file's name for gfx90a"));
}

TEST_F(MiopenFindingsTest, AConfigWithoutAProblemIsANote) {
  const std::string gradient = "2x8x4x4x1x3x3x1x8x2x0x0x0x2x2x0x1x1x0x0x1xNCHWxFP32xB";
  EXPECT_THAT(check("a.db.txt", gradient + "=fft:1\n"),
              ElementsAre("1: untunable: its stride 2 leaves open which input has the output 4"));
}

TEST_F(MiopenFindingsTest, AGoodFileHasNone) {
  EXPECT_THAT(check("gfx90a68.HIP.fdb.txt", std::string(kFindKey) + "=ConvWinograd3x3MultipassWrW<3-4>:1,0,A\n"),
              IsEmpty());
  EXPECT_THAT(check("gfx90a68.db.txt", std::string(kPerfKey) + "=ConvBinWinogradRxSf3x2:215\n"), IsEmpty());
}

}  // namespace
}  // namespace attune
