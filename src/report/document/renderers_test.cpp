// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/error.h"
#include "base/text.h"
#include "report/document/html_assets.h"
#include "report/document/html_report.h"
#include "report/document/json_report.h"
#include "report/document/junit_report.h"
#include "report/document/markdown_report.h"
#include "report/document/report_output.h"
#include "report/document/report_section.h"
#include "report/document/report_summary.h"
#include "report/document/report_values_test.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

size_t number_of(const std::string& text, const std::string& part) {
  size_t number = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++number;
  return number;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

ReportModel many_shapes(size_t number) {
  ReportModel model = report_model();
  model.decisions.clear();
  model.progress.clear();
  for (size_t i = 0; i < number; ++i) {
    ReportDecision one =
        report_decision(fmt::format("{}×4096×7168 bf16→fp32 +bias", i), 1 + 0.001 * static_cast<double>(i));
    one.winner =
        "jit_cpu.gemm@3:copy=1;k_block=512;kernel=tile_m;order=mn;prefetch=128;rows=8;threads=2;tile_m=64;tile_n=96";
    model.progress.push_back({one.problem, one.device, {{1, 20}, {5, 15}, {40, 10}, {96, 10}}});
    model.decisions.push_back(std::move(one));
  }
  return model;
}

TEST(Reports, TheSameModelGivesTheSameBytes) {
  for (auto* render : {html_text, markdown_text, junit_text, report_json})
    EXPECT_EQ(render(pipeline_model()), render(pipeline_model()));
}

TEST(Reports, TheirFilesAreKnownByTheirBeginning) {
  for (auto* render : {html_text, markdown_text, junit_text, report_json}) {
    EXPECT_TRUE(begins_as_report(render(pipeline_model()).substr(0, 2000)));
    EXPECT_TRUE(begins_as_report(render({}).substr(0, 2000)));
  }
  for (const char* other :
       {"", "root:x:0:0:root:/root:/bin/bash", "<!DOCTYPE html>\n<title>My page</title>", "# Tuning", "{}"})
    EXPECT_FALSE(begins_as_report(other)) << other;
}

TEST(Reports, AHostileTextShowsAsTextEverywhere) {
  const ReportModel model = hostile_model();
  for (auto* render : {html_text, markdown_text, junit_text}) {
    const std::string text = render(model);
    EXPECT_THAT(text.substr(0, 2'000'000), Not(HasSubstr("<script>alert")));
    EXPECT_EQ(text.find_first_of(std::string("\x00\x01\x1b\xff", 4)), std::string::npos);
    EXPECT_TRUE(is_utf8(text));
    EXPECT_LT(text.size(), 1'000'000u);
    EXPECT_GT(number_of(text, "alert"), 3u);
  }
  EXPECT_TRUE(is_utf8(report_json(model)));
}

TEST(HtmlReport, SaysFirstWhatCameOut) {
  const std::string page = html_text(pipeline_model());
  EXPECT_THAT(page, HasSubstr("5 shapes compared before and after: 1 same, 1 faster, 1 slower, 1 ambiguous, 1 failed"));
  EXPECT_THAT(page, HasSubstr("2 shapes decided: 1 faster than the default, 1 at the default; geometric mean 1.118×; 1 "
                              "shape left undecided."));
  EXPECT_LT(page.find("class=\"lead\""), page.find("<main"));
}

TEST(HtmlReport, NeedsNoNetworkAndAllowsNoOtherScriptThanItsOwn) {
  const std::string page = html_text(pipeline_model());
  for (const char* from : {"src=", "url(", "@import", "<link", "<img", "<iframe", "<form"})
    EXPECT_THAT(page, Not(HasSubstr(from))) << from;
  std::string rest = page;
  for (const std::string known : {"http://www.w3.org/2000/svg", "http-equiv"})
    for (size_t at = rest.find(known); at != std::string::npos; at = rest.find(known)) rest.erase(at, known.size());
  EXPECT_THAT(rest, Not(HasSubstr("http")));
  EXPECT_THAT(page, HasSubstr("default-src &#39;none&#39;"));
  EXPECT_EQ(number_of(page, "<script"), 1u);
}

TEST(HtmlReport, EachChartHasATitleADescriptionAndATable) {
  const std::string page = html_text(pipeline_model());
  const size_t charts = number_of(page, "<svg ");
  EXPECT_EQ(charts, 8u);
  EXPECT_EQ(number_of(page, "<desc "), charts);
  EXPECT_EQ(number_of(page, "aria-labelledby=\"") - number_of(page, "<section ") - number_of(page, "<table "), charts);
  EXPECT_GE(number_of(page, "<table "), charts);
  EXPECT_EQ(number_of(page, "<th>"), 0u) << "a heading without a scope";
}

TEST(HtmlReport, HasAChartOfEachSide) {
  const std::string page = html_text(pipeline_model());
  for (const char* title :
       {"Speed-up by shape, new tables over old", "Speed-up by shape, winner over the default",
        "Speed of the defaults and the winners by arithmetic intensity", "Shapes won by each solver, by class",
        "Best time so far, relative to the best found, by candidates tried", "Failed candidates by status and solver",
        "Share of disturbed samples and measurements by time", "Tuning time by candidates tried"})
    EXPECT_THAT(page, HasSubstr(std::string(">") + title + "</title>")) << title;
}

TEST(Reports, WinnersAreCountedByTheAxisThatTheirOpNames) {
  ReportModel model;
  for (const char* problem :
       {"gemm_a8w8 m=1 n=2 k=3", "gemm_a16w16 m=1 n=2 k=3", "gemm_a16w16 m=17 n=2 k=3", "gemm_a16w16 m=2000 n=2 k=3",
        "fmoe token=16 model_dim=8", "conv direction=bwd_weights n=1 c=2", "conv direction=fwd n=1 c=2",
        "unheard_of m=1", "gemm_a16w16 m=x", "gemm_a16w16"}) {
    ReportDecision one = report_decision("", 2);
    one.problem = problem;
    model.decisions.push_back(one);
  }
  std::vector<std::string> rows;
  for (const auto& row : winner_section(model).table.rows) rows.push_back(row.front() + ": " + row.back());
  EXPECT_THAT(rows, ElementsAre("M = 1: 2", "M 17 – 128: 1", "M above 1024: 1", "direction fwd: 1",
                                "direction bwd_weights: 1", "token 2 – 16: 1", "other: 3"));
}

TEST(HtmlReport, AThousandShapesAreFiveMegabytesAtMost) { EXPECT_LT(html_text(many_shapes(1000)).size(), 5'000'000u); }

TEST(HtmlReport, AnEmptyModelIsAPage) {
  EXPECT_THAT(html_text({}), HasSubstr("No shape was decided."));
  EXPECT_THAT(markdown_text({}), HasSubstr("No shape was decided."));
  EXPECT_THAT(junit_text({}), HasSubstr("tests=\"0\""));
}

/// Colours of a block of the style sheet by the name of their token.
std::map<std::string, std::string> tokens_of(const std::string& block) {
  std::map<std::string, std::string> tokens;
  const std::regex token("--([a-z0-9]+):(#[0-9a-f]{6})");
  for (auto one = std::sregex_iterator(block.begin(), block.end(), token); one != std::sregex_iterator(); ++one)
    tokens[(*one)[1]] = (*one)[2];
  return tokens;
}

double luminance(const std::string& colour) {
  double sum = 0;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  for (size_t i = 0; i < 3; ++i) {
    const double value = std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    sum += weights[i] * (value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double contrast(const std::string& one, const std::string& other) {
  const double a = luminance(one), b = luminance(other);
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

TEST(HtmlPalette, TextHasAContrastOfFourAndAHalfAndMarksOfThreeLightAndDark) {
  const std::string style = kReportStyle;
  const size_t dark = style.find("prefers-color-scheme:dark");
  for (const auto& tokens :
       {tokens_of(style.substr(0, dark)), tokens_of(style.substr(dark, style.find("@media (max") - dark))}) {
    ASSERT_EQ(tokens.size(), 18u);
    for (const char* ground : {"ground", "panel"}) {
      for (const char* text : {"ink", "soft", "accent", "good", "bad"})
        EXPECT_GE(contrast(tokens.at(text), tokens.at(ground)), 4.5) << text << " on " << ground;
      for (const char* mark : {"calm", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"})
        EXPECT_GE(contrast(tokens.at(mark), tokens.at(ground)), 3) << mark << " on " << ground;
    }
  }
}

TEST(MarkdownReport, IsCutAtAWholeLineThatSaysSo) {
  ReportModel model = many_shapes(6'000);
  const std::string text = markdown_text(model);
  EXPECT_LE(text.size(), kMaxMarkdownBytes);
  EXPECT_GT(text.size(), kMaxMarkdownBytes - 1000);
  EXPECT_TRUE(text.ends_with("|\n\nCut at 900 KB; results.json and the HTML report have all.\n"))
      << text.substr(text.size() - 200);
}

TEST(MarkdownReport, HasATableForEachFamily) {
  const std::string text = markdown_text(pipeline_model());
  EXPECT_THAT(text, HasSubstr("## gemm_a16w16\n"));
  EXPECT_THAT(text, HasSubstr("| 2×32×48 fp32 | slower | 9.00 | 10.00 | 0.900× | 0.882 – 0.918 |"));
  EXPECT_THAT(text, HasSubstr("Failed: a table cannot be read"));
  ReportModel model = pipeline_model();
  model.pipeline->families[0].changes[0].reason = "a_b _c_ | `d` **e** @f <i> #7";
  EXPECT_THAT(markdown_text(model), HasSubstr("| a_b \\_c\\_ \\| \\`d\\` \\*\\*e\\*\\* \\@f &lt;i> \\#7 |"));
}

TEST(JsonReport, IsReadBackAsItWas) {
  for (const ReportModel& model : {report_model(), pipeline_model(), ReportModel{}})
    EXPECT_EQ(parse_report_json(report_json(model), "x.json"), model);
}

std::string refusal_of(const std::string& text) {
  try {
    parse_report_json(text, "x.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "";
}

TEST(JsonReport, WhatIsNoReportIsRefusedInASentence) {
  EXPECT_THAT(refusal_of("no json"), HasSubstr("x.json:1: the results are torn"));
  EXPECT_THAT(refusal_of("{\"version\":1,\n\"ending\":\n"), HasSubstr("x.json:2: the results are torn"));
  EXPECT_THAT(refusal_of("{\"version\":1,\n\"ending\": oops,\n"), HasSubstr("x.json:2: the results are torn"));
  EXPECT_THAT(refusal_of("{\"version\":1,\"ending\":3}"), HasSubstr("attune ci run"));
  for (const char* text : {"no json", "{\"version\":1,\"ending\":3}", "{\"version\":1,\"runs\":[{}]}"})
    EXPECT_THAT(refusal_of(text), Not(HasSubstr("exception"))) << "the library's words";
  EXPECT_THAT(refusal_of("[]"), HasSubstr("no report of Attune"));
  EXPECT_THAT(refusal_of("{\"version\":2}"), HasSubstr("newer version"));
  EXPECT_THAT(refusal_of("{\"version\":1,\"ending\":\"running\",\"inputs\":{}}"), HasSubstr("has not come to its end"));
  EXPECT_THAT(refusal_of("{\"version\":1,\"runs\":[{}]}"), HasSubstr("x.json"));
}

TEST(JunitReport, AShapeIsATestAndItsVerdictTheResult) {
  const std::string text = junit_text(pipeline_model());
  EXPECT_THAT(text, HasSubstr("<testsuites name=\"attune\" tests=\"6\" failures=\"1\" errors=\"2\">"));
  EXPECT_THAT(text,
              HasSubstr("<testsuite name=\"gemm_a16w16\" tests=\"5\" failures=\"1\" errors=\"1\" skipped=\"1\">"));
  EXPECT_THAT(text, HasSubstr("<failure message=\"slower: speed-up 0.900, interval 0.882 to 0.918\"/>"));
  EXPECT_THAT(text, HasSubstr("<error message=\"why\"/>"));
  EXPECT_THAT(text, HasSubstr("<skipped message=\"ambiguous: "));
  EXPECT_THAT(text, HasSubstr("<error message=\"a table cannot be read\"/>"));
}

TEST(JunitReport, FortyShapesAreFortyTests) {
  EXPECT_EQ(number_of(junit_text(many_shapes(39)), "<testcase "), 40u);  // And one that is left undecided.
}

TEST(ReportSummary, MeansAreGeometricAndAKernelThatStaysCountsAsOne) {
  const ReportSummary summary = summarise(pipeline_model());
  EXPECT_NEAR(summary.change_mean, std::pow(1.2 * 0.9 * 1.01, 0.25), 1e-12);
  EXPECT_NEAR(summary.mean, std::sqrt(1.25), 1e-12);
  EXPECT_EQ(summary.num_failures, 4u);
  EXPECT_EQ(summary.num_failed_families, 1u);
}

}  // namespace
}  // namespace attune
