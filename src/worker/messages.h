// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "core/binary.h"
#include "measure/executor.h"

namespace attune {

/// Requests of a supervisor to its worker, in addition to the requests to any executor.
namespace request {
struct Hello {
  std::string device;           ///< Id to open: `cpu:0`.
  std::string build;            ///< build_name() of the supervisor; a worker of another build refuses.
  std::vector<uint32_t> cores;  ///< Cores of the device; empty: all that the worker may use.
  /// Solvers that must not be opened, by place in the registry, with the reason.
  std::map<uint32_t, std::string> skipped;
  double memory_share = 1;      ///< Part of the device's memory that problems may take.
  uint64_t memory_reserve = 0;  ///< Bytes of the device's memory that they leave free.
  /// See OpenedSolvers::set_stored_toolchains().
  Toolchains stored_toolchains;
  bool operator==(const Hello&) const = default;
};
struct Close {
  ProblemId id = 0;
  bool operator==(const Close&) const = default;
};
struct Drop {
  std::vector<Slot> slots;
  bool operator==(const Drop&) const = default;
};
}  // namespace request
/// Each is answered once, close and drop included, in the order of the requests.
using WorkerRequest =
    std::variant<request::Hello, request::Open, request::Close, request::Admit, request::Drop, request::Sample>;

/// Answers of a worker.
namespace reply {
struct Ready {
  DeviceInfo device;
  std::string build;
  /// Memory of the device that was free; the largest number if that is unknown.
  uint64_t free_bytes = std::numeric_limits<uint64_t>::max();
  bool operator==(const Ready&) const = default;
};
struct Completion {  ///< Answer to close and drop.
  bool operator==(const Completion&) const = default;
};
/// The request failed and no candidate is to blame: an Error of the worker.
struct Failure {
  ErrorCode code = ErrorCode::internal;
  std::string message;
  bool operator==(const Failure&) const = default;
};
}  // namespace reply
using Reply = std::variant<reply::Ready, reply::Completion, reply::Failure, OpenAnswer, AdmitAnswer, SampleAnswer>;

/// Longest deadline accepted: 100 years. Such a time can still be counted in nanoseconds.
inline constexpr Milliseconds kLongestLimit{int64_t{100} * 365 * 24 * 3600 * 1000};

/// Encodes a message as CBOR, the payload of a frame. x_from(to_payload(x)) == x, numbers to the last bit (NaNs too),
/// any bytes in texts. Two exceptions: a limit below 0 or beyond kLongestLimit is rejected by the reader, and the rules
/// of a search space must be UTF-8 because they are JSON (throws internal).
std::string to_payload(const WorkerRequest& request);
std::string to_payload(const Reply& answer);
/// Throws invalid_input for any invalid bytes; nesting is limited to 64 levels. Only the message itself is checked: the
/// caller checks that ids, slots and numbers of samples fit the conversation.
WorkerRequest request_from(std::string_view payload);
Reply answer_from(std::string_view payload);

/// Whether an answer is of the kind, problem or slot that the request asks for; a damaged worker may send any other.
bool fits(const WorkerRequest& request, const Reply& answer);

}  // namespace attune
