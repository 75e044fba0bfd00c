// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "report/document/model.h"

namespace attune {

/// A model with something in each part, for tests of renderers.
inline ReportDecision report_decision(const std::string& shape, double ratio) {
  return {.problem = "gemm_a16w16 m=4 n=96 k=64 " + shape,
          .shape = shape,
          .op = "gemm_a16w16",
          .device = "fake/4",
          .fingerprint = "here",
          .m = 4,
          .winner = "jit_cpu.gemm@3:kernel=dot;rows=1",
          .baseline = "onednn.gemm@1+2.6.3:",
          .solver = "jit_cpu.gemm",
          .verdict = ratio > 1.005 ? Verdict::faster : Verdict::tie,
          .winner_us = 10,
          .default_us = 10 * ratio,
          .ratio = ratio,
          .interval = {ratio * 0.95, ratio * 1.05},
          .flops = 2e6,
          .bytes = 1e5,
          .arithmetic = "fp32",
          .of_roofline = 0.4,
          .num_candidates = 96,
          .seconds = 4.5,
          .run = 1,
          .at_ms = 1'700'000'000'000};
}

inline ReportChange report_change(const std::string& shape, ReportVerdict verdict, double speedup) {
  return {.problem = "gemm_a16w16 " + shape,
          .shape = shape,
          .verdict = verdict,
          .reason = "",
          .before = {"fake.gemm@1:tile_m=16", "configs/t.csv:2", 10 * speedup},
          .after = {"fake.gemm@1:tile_m=64", "configs/t.csv:2", 10},
          .baseline = {"fake.gemm@1:", "", 12},
          .speedup = speedup,
          .interval = {speedup * 0.98, speedup * 1.02},
          .attempts = {speedup},
          .num_pairs = 256};
}

inline ReportModel report_model() {
  ReportModel model;
  model.runs = {{.number = 1,
                 .begun_ms = 1'700'000'000'000,
                 .ended_ms = 1'700'000'060'000,
                 .ending = "done",
                 .command = "attune tune -i shapes.csv",
                 .program_version = "0.1.0",
                 .host = "node 7",
                 .device = "fake/4",
                 .fingerprint = "here",
                 .description = "fake fake/4",
                 .versions = {{"fake.gemm", "1"}},
                 .environment = {{"OMP_NUM_THREADS", "2"}}}};
  model.decisions = {report_decision("1×32×48 fp32", 1.25), report_decision("4×96×64 fp32", 1)};
  model.undecided = {{"gemm_a16w16 m=9", "9×32×48 fp32", "gemm_a16w16", "fake/4", 7}};
  model.failures = {{Status::crashed, "fake.gemm", 3, "fake.gemm@1:tile_m=16", "gemm_a16w16 m=9", "it crashed"},
                    {Status::wrong_result, "blis.gemm", 1, "blis.gemm@1:", "gemm_a16w16 m=9", "wrong"}};
  model.progress = {{"gemm_a16w16 m=4", "fake/4", {{1, 20}, {3, 12.5}, {40, 10}, {96, 10}}}};
  model.noise = {{1'700'000'000'000, 30'000, 1000, 20, 10, 1}, {1'700'000'030'000, 30'000, 1000, 300, 10, 4}};
  model.devices = {{"fake/4", "here", "Fake device", {{"bf16", 2000}, {"fp32", 1000}}, 100}};
  model.num_runs = 1;
  model.num_records = 200;
  return model;
}

inline ReportModel pipeline_model() {
  ReportModel model = report_model();
  ReportFamily family{.family = "gemm_a16w16",
                      .device = "fake/4",
                      .fingerprint = "here",
                      .is_done = true,
                      .num_findings = 2,
                      .num_added = 1,
                      .num_changed = 3,
                      .num_removed = 0,
                      .num_same = 4};
  family.changes = {report_change("1×32×48 fp32", ReportVerdict::faster, 1.2),
                    report_change("2×32×48 fp32", ReportVerdict::slower, 0.9),
                    report_change("3×32×48 fp32", ReportVerdict::ambiguous, 1.01),
                    {.problem = "gemm_a16w16 same", .shape = "same", .verdict = ReportVerdict::same},
                    {.problem = "gemm_a16w16 bad", .shape = "bad", .verdict = ReportVerdict::failed, .reason = "why"}};
  ReportFamily broken{.family = "gemm_a8w8", .failure = "a table cannot be read"};
  model.pipeline = ReportPipeline{
      .ending = "done", .inputs = "{\"shapes\":[\"gemm_a16w16\"]}", .status = 1, .families = {family, broken}};
  return model;
}

/// Markup, controls, invalid UTF-8, a turned direction, and length.
inline std::string hostile_text(size_t length) {
  return "<script>alert(1)</script>\"'&\x01\x1b[31m\xff\xfe\xe2\x80\xae]]>|x\n" + std::string(length, 'a');
}

/// The same as pipeline_model() with a hostile text in every place that holds one.
inline ReportModel hostile_model() {
  const std::string bad = hostile_text(5000);
  ReportModel model = pipeline_model();
  ReportRun& run = model.runs.front();
  run.ending = run.command = run.program_version = run.host = run.device = run.fingerprint = run.description = bad;
  run.versions = run.environment = {{bad, bad}};
  ReportDecision& one = model.decisions.front();
  one.problem = one.shape = one.op = one.device = one.fingerprint = one.winner = one.baseline = one.solver = bad;
  model.undecided = {{bad, bad, bad, bad, 1}};
  model.failures = {{Status::crashed, bad, 1, bad, bad, hostile_text(10'000'000)}};
  model.progress.front().problem = model.progress.front().device = bad;
  model.devices.front().key = model.devices.front().fingerprint = model.devices.front().model = bad;
  ReportFamily& family = model.pipeline->families.front();
  family.family = family.device = family.fingerprint = family.failure = bad;
  ReportChange& change = family.changes.front();
  change.problem = change.shape = change.reason = bad;
  change.before = change.after = change.baseline = {bad, bad, 1};
  return model;
}

}  // namespace attune
