// SPDX-License-Identifier: MIT
#include "report/document/junit_report.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "report/document/markup.h"
#include "report/document/report_summary.h"

namespace attune {
namespace {

/// A test; `kind`: the element with the reason that it did not pass, null if it passed.
struct TestCase {
  std::string name;
  const char* kind = nullptr;
  std::string message;
  double seconds = 0;
};

struct TestSuite {
  std::string name;
  std::vector<TestCase> tests;
};

constexpr const char *kFailure = "failure", *kError = "error", *kSkipped = "skipped";

size_t number_of(const std::vector<TestCase>& tests, const char* kind) {
  size_t number = 0;
  for (const TestCase& test : tests) number += test.kind == kind ? 1 : 0;
  return number;
}

TestCase test_of(const ReportChange& change) {
  const std::string measured = fmt::format("speed-up {:.3f}, interval {:.3f} to {:.3f}", change.speedup,
                                           change.interval.low, change.interval.high);
  switch (change.verdict) {
    case ReportVerdict::slower:
      return {change.problem, kFailure, "slower: " + measured};
    case ReportVerdict::failed:
      return {change.problem, kError, change.reason};
    case ReportVerdict::no_default:
      return {change.problem, kSkipped, "no default: " + change.reason};
    case ReportVerdict::ambiguous:
      return {change.problem, kSkipped, "ambiguous: " + measured};
    default:
      return {change.problem};
  }
}

std::vector<TestSuite> suites_of(const ReportPipeline& pipeline) {
  std::vector<TestSuite> suites;
  for (const ReportFamily& family : pipeline.families) {
    TestSuite suite{family.family, {}};
    for (const ReportChange& change : family.changes) suite.tests.push_back(test_of(change));
    if (!family.failure.empty()) suite.tests.push_back({"the family's steps", kError, family.failure});
    suites.push_back(std::move(suite));
  }
  return suites;
}

std::vector<TestSuite> suites_of_journal(const ReportModel& model) {
  std::map<std::string, std::vector<TestCase>> by_device;
  for (const ReportDecision& one : model.decisions) {
    TestCase test{one.problem, nullptr, "", one.seconds};
    if (one.verdict == Verdict::tie && one.incomplete) {
      test.kind = kSkipped;
      test.message = "undecided: the budget ended or the machine failed a candidate";
    }
    by_device[one.device].push_back(std::move(test));
  }
  for (const ReportUndecided& one : model.undecided)
    by_device[one.device].push_back(
        {one.problem, kSkipped, fmt::format("undecided: {} candidates were tried", one.num_candidates)});
  std::vector<TestSuite> suites;
  for (auto& [device, tests] : by_device) suites.push_back({device, std::move(tests)});
  return suites;
}

void write(Markup& page, const TestSuite& suite) {
  page.open("testsuite", {{"name", suite.name},
                          {"tests", std::to_string(suite.tests.size())},
                          {"failures", std::to_string(number_of(suite.tests, kFailure))},
                          {"errors", std::to_string(number_of(suite.tests, kError))},
                          {"skipped", std::to_string(number_of(suite.tests, kSkipped))}});
  page.line_end();
  for (const TestCase& test : suite.tests) {
    page.open("testcase",
              {{"classname", suite.name}, {"name", test.name}, {"time", fmt::format("{:.3f}", test.seconds)}});
    if (test.kind != nullptr) page.empty(test.kind, {{"message", test.message}});
    page.close().line_end();
  }
  page.close().line_end();
}

}  // namespace

std::string junit_text(const ReportModel& model) {
  const std::vector<TestSuite> suites = model.pipeline ? suites_of(*model.pipeline) : suites_of_journal(model);
  size_t num_tests = 0, num_failures = 0, num_errors = 0;
  for (const TestSuite& suite : suites) {
    num_tests += suite.tests.size();
    num_failures += number_of(suite.tests, kFailure);
    num_errors += number_of(suite.tests, kError);
  }
  Markup page;
  page.literal("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  page.open("testsuites", {{"name", "attune"},
                           {"tests", std::to_string(num_tests)},
                           {"failures", std::to_string(num_failures)},
                           {"errors", std::to_string(num_errors)}});
  page.line_end();
  for (const TestSuite& suite : suites) write(page, suite);
  page.close().line_end();
  return page.take();
}

}  // namespace attune
