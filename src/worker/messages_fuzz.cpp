// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/error.h"
#include "worker/messages.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace attune {
namespace {

Outcome whole_outcome() {
  Outcome outcome{Status::crashed, "a detail", {0.5, std::numeric_limits<double>::quiet_NaN(), -0.0}, Measurement{}};
  outcome.measurement->samples = {{1.5f, 0.9f, 3, true}, {2.5f, 1.0f, 4, false}};
  return outcome;
}

/// One message of each type with every member set, because no mutation would find the members from nothing.
std::string whole_message(unsigned which) {
  const Problem problem = Problem::parse("gemm_a16w16 m=8 n=64 k=64 dtype=bf16 outdtype=bf16 bias=0");
  const Candidate candidate{"fake.gemm", "1", Config::parse("split_k=1;tile_m=64")};
  const SearchSpace space = SearchSpace::product(
      {{"a", {int64_t{1}, int64_t{2}}}, {"b", {std::string("x")}, Binding::compile_time, "a == 1", 0}},
      {{"r", "a < 2", "why"}});
  switch (which % 12) {
    case 0:
      return to_payload(WorkerRequest(request::Hello{"cpu:0", "build"}));
    case 1:
      return to_payload(WorkerRequest(request::Open{1, problem, {}}));
    case 2:
      return to_payload(WorkerRequest(request::Close{1}));
    case 3: {
      const Binary binary{"v4", "r", "gcc", "s", "/k", {{"a", "b"}}};
      return to_payload(
          WorkerRequest(request::Admit{1, 2, {candidate, {binary}, true, true, {Milliseconds(5), Milliseconds(6)}}}));
    }
    case 4:
      return to_payload(WorkerRequest(request::Drop{{1, 2}}));
    case 5:
      return to_payload(WorkerRequest(request::Sample{{{1, 2, 3, Milliseconds(4)}, {5, 6, 7, Milliseconds(8)}}}));
    case 6: {
      DeviceInfo device{.id = "cpu:0", .kind = "host", .gfx = "v4", .num_units = 2, .facts = {{"l2", 1}}};
      device.peak_gflops = {{"bf16", 1.5}};
      return to_payload(Reply(reply::Ready{device, "build"}));
    }
    case 7:
      return to_payload(Reply(reply::Completion{}));
    case 8:
      return to_payload(Reply(reply::Failure{ErrorCode::io, "why"}));
    case 9:
      return to_payload(Reply(OpenAnswer{
          1,
          "",
          true,
          false,
          {{"fake.gemm", "1", {{"a", "1"}}, {}, space, {}}, {.space = SearchSpace::listed({candidate.config})}}}));
    case 10:
      return to_payload(Reply(AdmitAnswer{1, whole_outcome(), 2, 3, 4, 5}));
    default:
      return to_payload(Reply(
          SampleAnswer{1, true, {{1, 2, 3, Milliseconds(4)}}, {{1.5f, 0.9f, 3, true}}, 1, 2, {{1, whole_outcome()}}}));
  }
}

template <typename Read>
void check(std::string_view payload, Read read) {
  try {
    const std::string written = to_payload(read(payload));
    ATTUNE_CHECK(to_payload(read(written)) == written, "a message changed on its way");
  } catch (const Error& error) {
    // Most inputs end here.
    ATTUNE_CHECK(error.code() == ErrorCode::invalid_input, "{}", error.what());
  }
}

}  // namespace
}  // namespace attune

/// Replaces inputs too short to be a message by a message.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (size < 8) {
    const std::string message = attune::whole_message(seed);
    size = std::min(message.size(), max_size);
    std::copy_n(message.begin(), size, data);
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

/// Any bytes are either a message that is re-encoded unchanged, or an Error that blames the input.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;
  const std::string_view payload(reinterpret_cast<const char*>(data), size);
  check(payload, request_from);
  check(payload, answer_from);
  return 0;
}
