// SPDX-License-Identifier: MIT
#include "pipeline/table_validation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using enum FindingKind;

constexpr std::string_view kHeader =
    "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw";

/// The cells of a right row of 16-bit floats for M × 256 × 5120 on a gfx950 that takes `us`.
struct Row {
  int m = 64;
  std::string us = "8.0", kernel = "_ZN5aiter1fE", errors = "0.0", device = "gfx950,256", libtype = "asm";
  std::string tflops = {}, bw = {};  ///< Empty: as they follow.

  std::string text() const {
    const double time = std::strtod(us.c_str(), nullptr);
    const double flops = 2.0 * m * 256 * 5120, bytes = 2.0 * ((m + 256.0) * 5120 + m * 256.0);
    return fmt::format("{},{},256,5120,False,torch.bfloat16,torch.bfloat16,False,False,{},1,1,{},{},{},{},{}", device,
                       m, libtype, us, kernel, errors,
                       tflops.empty() ? fmt::format("{:.2f}", flops / time / 1e6) : tflops,
                       bw.empty() ? fmt::format("{:.2f}", bytes / time / 1e3) : bw);
  }
};

CsvDocument document(const std::string& name, const std::vector<Row>& rows, std::string_view more_columns = "",
                     std::string_view more_cells = "") {
  std::string text = fmt::format("{}{}\n", kHeader, more_columns);
  for (const Row& row : rows) text += row.text() + std::string(more_cells) + "\n";
  return CsvDocument::parse(text, name);
}

Table table_of(std::vector<CsvDocument> documents) {
  return Table::of(std::move(documents), find_family("gemm_a16w16"), WrongRows::listed);
}

TableRules rules() { return {.devices = data_sheet_limits(), .solvers = nullptr, .max_err_ratio = {}}; }

/// `kind line` of each finding.
std::vector<std::string> short_texts(const std::vector<TableFinding>& findings) {
  std::vector<std::string> texts;
  for (const TableFinding& one : findings) texts.push_back(fmt::format("{} {}", name(one.kind), one.place()));
  return texts;
}

std::vector<std::string> found_in(const std::vector<Row>& rows) {
  return short_texts(validate(table_of({document("t.csv", rows)}), rules()));
}

TEST(TableValidation, FindsNothingInARightTable) {
  EXPECT_THAT(found_in({{.m = 64}, {.m = 80, .us = "8.1"}, {.m = 128, .us = "8.2345"}}), IsEmpty());
}

TEST(TableValidation, FindsARowWhoseWritingBrokeOff) {
  const std::string whole = Row{}.text(), key = "gfx950,256,80,256,5120,False,torch.bfloat16,torch.bfloat16,False";
  const auto found = [&](const std::string& header, const std::string& row) {
    return validate(table_of({CsvDocument::parse(fmt::format("{}\n{}\n{}", header, whole, row), "t.csv")}), rules());
  };
  for (const std::string& torn : {std::string("gfx950,256,80,256,5120,False,torch.bfloat16,torch.bf"), key,
                                  key + ",False,asm,1,1", key + ",False,asm,1,1,,,0.0,1.0,1.0"}) {
    const auto findings = found(std::string(kHeader), torn);
    EXPECT_THAT(short_texts(findings), ElementsAre("unreadable t.csv:3")) << torn;
    EXPECT_THAT(findings[0].detail, HasSubstr("neither a time nor a kernel")) << torn;
  }
  // A row may be shorter than the header, and may have no use for its time.
  EXPECT_THAT(short_texts(found(std::string(kHeader) + ",_tag", Row{.m = 80, .us = "8.1"}.text())), IsEmpty());
  EXPECT_THAT(short_texts(found(std::string(kHeader), key + ",False,asm,1,1,0,_ZN5aiter1fE,0.0,0.0,0.0")),
              ElementsAre("unusable_time t.csv:3"));
}

TEST(TableValidation, FindsATypeThatIsCutWhereTypesStandLast) {
  const auto found = [](const std::string& type) {
    const std::string text =
        "gfx,cu_num,M,N,K,us,kernelName,bias,scaleAB,bpreshuffle,dtype,outdtype\n"
        "gfx950,256,64,256,5120,8.0,_ZN5aiter1fE,False,False,False," +
        type;
    auto findings = validate(table_of({CsvDocument::parse(text, "t.csv")}), rules());
    std::erase_if(findings, [](const TableFinding& one) { return one.kind != unreadable; });
    return short_texts(findings);
  };
  EXPECT_THAT(found("torch.bfl"), ElementsAre("unreadable t.csv:2"));
  EXPECT_THAT(found("torch.bfloat16"), IsEmpty());
  EXPECT_THAT(found("torch.bfloat16,torch.unheard_of"), IsEmpty());  // A whole row of another tool's type.
}

TEST(TableValidation, FindsTimesThatAreNoTimes) {
  for (const char* us : {"0", "0.0", "-1", "inf", "nan", "", "fast"}) {
    const Row row{.us = us, .tflops = "0.0", .bw = "0.0"};
    EXPECT_THAT(found_in({row}), ElementsAre("unusable_time t.csv:2")) << us;
  }
  EXPECT_THAT(found_in({{.us = "1e12"}}), ElementsAre("absurd_time t.csv:2"));
  EXPECT_THAT(found_in({{.us = "1e30", .tflops = "0.0", .bw = "0.0"}}), ElementsAre("absurd_time t.csv:2"));
  EXPECT_THAT(found_in({{.us = "0.0001"}}), ElementsAre("absurd_time t.csv:2", "below_roofline t.csv:2"));
}

TEST(TableValidation, FindsTimesBelowTheRooflineOfAKnownDeviceAlone) {
  // 3.3 MB at 8 TB/s take 0.41 µs.
  EXPECT_THAT(found_in({{.us = "0.4"}}), ElementsAre("below_roofline t.csv:2"));
  EXPECT_THAT(found_in({{.us = "0.42"}}), IsEmpty());
  EXPECT_THAT(found_in({{.us = "0.4", .device = "gfx1250,96"}}), IsEmpty());
  // 2·65536·256·5120 operations at 2.5 PFLOP/s take 68.3 µs; their bytes, 707 MB, 88.4 µs.
  EXPECT_THAT(found_in({{.m = 65536, .us = "88.5"}}), IsEmpty());
  EXPECT_THAT(found_in({{.m = 65536, .us = "88.3"}}), ElementsAre("below_roofline t.csv:2"));
}

TEST(TableValidation, FindsRatesThatDoNotFollowFromTheTimeBeyondTheirRounding) {
  // 20.97152 TFLOP/s and 413.696 GB/s.
  EXPECT_THAT(found_in({{.tflops = "20.98", .bw = "413.7"}}), ElementsAre("wrong_tflops t.csv:2"));
  EXPECT_THAT(found_in({{.tflops = "20.97", .bw = "413.71"}}), ElementsAre("wrong_bw t.csv:2"));
  EXPECT_THAT(found_in({{.tflops = "0.0", .bw = "0.41"}}), ElementsAre("wrong_tflops t.csv:2", "wrong_bw t.csv:2"));
  EXPECT_THAT(found_in({{.tflops = "nan", .bw = "x"}}), ElementsAre("wrong_tflops t.csv:2", "wrong_bw t.csv:2"));
  EXPECT_THAT(found_in({{.tflops = "20.97152", .bw = "413.696"}}), IsEmpty());
  // Of a short time the rounding of the time counts: 0.5 µs is from 0.49995 to 0.50005.
  EXPECT_THAT(found_in({{.us = "0.5", .tflops = "335.57"}}), IsEmpty());
  EXPECT_THAT(found_in({{.us = "0.5", .tflops = "335.7"}}), ElementsAre("wrong_tflops t.csv:2"));
}

TEST(TableValidation, FindsErrorsAboveTheThreshold) {
  EXPECT_THAT(found_in({{.errors = "0.05"}}), IsEmpty());
  EXPECT_THAT(found_in({{.errors = "0.0501"}}), ElementsAre("too_many_errors t.csv:2"));
  EXPECT_THAT(found_in({{.errors = "6%"}}), ElementsAre("too_many_errors t.csv:2"));
  EXPECT_THAT(found_in({{.errors = "nan"}}), ElementsAre("too_many_errors t.csv:2"));
  EXPECT_THAT(found_in({{.errors = "-1"}}), ElementsAre("too_many_errors t.csv:2"));
  TableRules strict = rules();
  strict.max_err_ratio = 0.01;
  EXPECT_THAT(short_texts(validate(table_of({document("t.csv", {{.errors = "0.02"}})}), strict)),
              ElementsAre("too_many_errors t.csv:2"));
}

TEST(TableValidation, FindsDuplicatesOfAFileAndRowsThatAnEarlierFileShadows) {
  EXPECT_THAT(found_in({{.us = "8.0"}, {.us = "7.0"}, {.us = "9.0"}}),
              ElementsAre("duplicate_key t.csv:3", "duplicate_key t.csv:4"));
  EXPECT_THAT(found_in({{.us = "8.0"}, {.us = "8.0", .device = "gfx942,304"}}), IsEmpty());
  const auto findings = validate(table_of({document("a.csv", {{}}), document("b.csv", {{.us = "7.0"}})}), rules());
  ASSERT_THAT(short_texts(findings), ElementsAre("unreachable b.csv:2"));
  EXPECT_THAT(findings[0].detail, HasSubstr("a.csv:2 wins, 8 µs"));
  EXPECT_EQ(findings[0].problem,
            "gemm_a16w16 m=64 n=256 k=5120 bias=0 dtype=bf16 outdtype=bf16 scale_ab=0 bpreshuffle=0");
}

TEST(TableValidation, FindsRowsThatNoLookupTakes) {
  const std::vector<CsvDocument> tagged = {document("t.csv", {{}}, ",_tag", ",slow_boot")};
  EXPECT_THAT(short_texts(validate(table_of(tagged), rules())), ElementsAre("unreachable t.csv:2"));
  EXPECT_THAT(found_in({{.m = 0, .tflops = "0.0"}}), ElementsAre("unreachable t.csv:2"));
  EXPECT_THAT(found_in({{.device = ",96"}}), ElementsAre("unreachable t.csv:2"));
  // Older tables tell the architecture by the number of units alone.
  EXPECT_THAT(found_in({{.device = ",256"}}), IsEmpty());
  // A row of a model loses to a faster one of any model.
  const std::string model = document("t.csv", {{.us = "9.0"}}, ",device", ",Card").content().data();
  const auto both = CsvDocument::parse(model + Row{.us = "8.0"}.text() + ",\n", "t.csv");
  EXPECT_THAT(short_texts(validate(table_of({both}), rules())), ElementsAre("unreachable t.csv:2"));
}

TEST(TableValidation, FindsRowsThatAreSlowerThanTheRowTheyWouldBePaddedTo) {
  // 40 is padded to 48, then to 64.
  EXPECT_THAT(found_in({{.m = 40, .us = "8.2"}, {.m = 48, .us = "8.0"}}), ElementsAre("slower_than_padded t.csv:2"));
  EXPECT_THAT(found_in({{.m = 40, .us = "8.2"}, {.m = 64, .us = "8.0"}}), ElementsAre("slower_than_padded t.csv:2"));
  EXPECT_THAT(found_in({{.m = 40, .us = "8.1"}, {.m = 48, .us = "8.0"}}), IsEmpty());
  EXPECT_THAT(found_in({{.m = 40, .us = "8.2"}, {.m = 48, .us = "8.0", .device = "gfx942,304"}}), IsEmpty());
  // 48 serves 40, and 64 would not be asked.
  EXPECT_THAT(found_in({{.m = 40, .us = "8.2"}, {.m = 48, .us = "8.2"}, {.m = 64, .us = "8.2"}}), IsEmpty());
  // A row without a time serves no problem.
  EXPECT_THAT(found_in({{.m = 40, .us = "8.2"}, {.m = 64, .us = "0", .tflops = "0.0", .bw = "0.0"}}),
              ElementsAre("unusable_time t.csv:3"));
}

TEST(TableValidation, FindsMissingColumnsAndCellsAndUnreadableRows) {
  const auto narrow = CsvDocument::parse("cu_num,M,N,K,us,kernelName\n256,64,256,5120,8.0,f\n", "t.csv");
  std::vector<std::string> details;
  for (const TableFinding& one : validate(table_of({narrow}), rules())) {
    EXPECT_EQ(one.kind, missing_column);
    EXPECT_EQ(one.place(), "t.csv:1");
    details.push_back(one.detail);
  }
  ASSERT_EQ(details.size(), 12u);
  EXPECT_EQ(details[0], "a table of gemm_a16w16 has the column 'gfx', guessed from cu_num");
  EXPECT_EQ(details[1], "a table of gemm_a16w16 has the column 'bias', read as '0'");
  EXPECT_EQ(details.back(), "a table of gemm_a16w16 has the column 'bw'");
  EXPECT_THAT(found_in({{.kernel = "", .errors = ""}}),
              ElementsAre("missing_column t.csv:2", "missing_column t.csv:2"));
  EXPECT_THAT(found_in({{.device = "gfx950,many"}, {}}), ElementsAre("unreadable t.csv:2"));
}

TEST(TableValidation, ChecksTheTimesAndErrorsOfTheTwoKernelsOfExperts) {
  const std::string header =
      "gfx,cu_num,token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,"
      "doweight_stage1,block_m,ksplit,us1,kernelName1,err1,us2,kernelName2,err2,us,run_1stage,tflops,bw\n";
  const std::string key =
      "gfx950,256,1,6144,2048,257,9,A,torch.bfloat16,torch.float4_e2m1fn_x2,"
      "torch.float4_e2m1fn_x2,Q,1,0,32,0,";
  const auto found = [&](std::string_view parts) {
    const auto one = CsvDocument::parse(header + key + std::string(parts) + ",40.0196,0,16.98,242417.31\n", "t.csv");
    return short_texts(validate(Table::of({one}, find_family("fmoe"), WrongRows::listed), rules()));
  };
  EXPECT_THAT(found("23.1763,a,0.9%,16.8433,b,1.4%"), IsEmpty());
  EXPECT_THAT(found("40.0196,a,0.9%,0.0,,0.0%"), IsEmpty());
  EXPECT_THAT(found("-1,a,0.9%,16.8433,b,1.4%"), ElementsAre("unusable_time t.csv:2"));
  EXPECT_THAT(found("23.1763,a,0.9%,inf,b,1.4%"), ElementsAre("unusable_time t.csv:2"));
  EXPECT_THAT(found("23.1763,a,10.1%,16.8433,b,1.4%"), ElementsAre("too_many_errors t.csv:2"));
  EXPECT_THAT(found("23.1763,a,0.9%,16.8433,b,50%"), ElementsAre("too_many_errors t.csv:2"));
  EXPECT_THAT(found("23.1763,,0.9%,16.8433,b,1.4%"), ElementsAre("missing_column t.csv:2"));
}

TEST(TableValidation, FindingsAreInTheOrderOfTheFilesAndLines) {
  const auto findings =
      validate(table_of({document("b.csv", {{.m = 64}, {.m = 80, .errors = "0.5"}, {.m = 96, .us = "0"}}),
                         document("a.csv", {{.m = 112, .errors = "0.5"}})}),
               rules());
  EXPECT_THAT(short_texts(findings),
              ElementsAre("too_many_errors b.csv:3", "unusable_time b.csv:4", "too_many_errors a.csv:2"));
  EXPECT_EQ(count_findings(findings)[static_cast<size_t>(too_many_errors)], 2u);
}

}  // namespace
}  // namespace attune
