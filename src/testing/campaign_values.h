// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "attune/error.h"
#include "core/device_info.h"
#include "ops/op.h"
#include "tuner/tune_result.h"

/// Devices, problems and results of a campaign.
namespace attune {

inline DeviceInfo test_device() {
  DeviceInfo device;
  device.id = "fake:0";
  device.kind = "fake";
  device.gfx = "fake";
  device.num_units = 4;
  device.model = "Fake";
  return device;
}

/// A normalised gemm_a16w16 of 32×48 weights in fp32; `more`: further attributes.
inline Problem test_problem(int m, const std::string& more = "") {
  const Problem typed = Problem::parse("gemm_a16w16 m=" + std::to_string(m) + " n=32 k=48 dtype=fp32 " + more);
  return op_of(typed).normalise(typed, test_device());
}

/// A result whose winner takes `us`, twice as fast as its baseline.
inline TuneResult decided(const Problem& problem, double us, Ending ending = Ending::decided) {
  Decision decision;
  decision.problem = problem;
  decision.device = test_device().key();
  decision.winner = {"fake.gemm", "1", Config::parse("tile_m=16")};
  decision.baseline = {"fake.gemm", "1", Config::parse("tile_m=64")};
  decision.comparison = {.us = us, .ratio = 2};
  decision.baseline_us = 2 * us;
  TuneResult result;
  result.problem = problem;
  result.ending = ending;
  result.decision = std::move(decision);
  return result;
}

inline TuneResult undecided(const Problem& problem, Ending ending, const std::string& reason) {
  TuneResult result;
  result.problem = problem;
  result.ending = ending;
  result.reason = reason;
  return result;
}

/// Returns the sentence with which a call refuses its input, or `accepted`.
template <typename Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input) << error.what();
    return error.what();
  }
  return "accepted";
}

}  // namespace attune
