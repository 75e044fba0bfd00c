// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "measure/executor.h"

namespace attune {

/// What a supervisor asks of its worker. Each is answered once, close and drop too, in the order of asking.
namespace request {
struct Hello {
  std::string device;                        ///< Id to open: `cpu:0`.
  std::string build;                         ///< build_name() of the supervisor: another build's worker refuses.
  std::vector<uint32_t> cores;               ///< That the device is made of; empty: all it may use.
  std::map<uint32_t, std::string> left_out;  ///< Solvers that are not to be opened, by place in the registry, and why.
  bool operator==(const Hello&) const = default;
};
struct Open {
  ProblemId id = 0;
  Problem problem;
  Protocol protocol;
  bool operator==(const Open&) const = default;
};
struct Close {
  ProblemId id = 0;
  bool operator==(const Close&) const = default;
};
struct Admit {
  ProblemId id = 0;
  Slot slot = 0;
  Admission admission;
  bool operator==(const Admit&) const = default;
};
struct Drop {
  Slot slot = 0;
  bool operator==(const Drop&) const = default;
};
struct Sample {
  std::vector<Turn> schedule;
  bool operator==(const Sample&) const = default;
};
}  // namespace request
using Request =
    std::variant<request::Hello, request::Open, request::Close, request::Admit, request::Drop, request::Sample>;

/// What a worker answers.
namespace reply {
struct Ready {
  DeviceInfo device;
  std::string build;
  bool operator==(const Ready&) const = default;
};
struct Done {  ///< To close and drop.
  bool operator==(const Done&) const = default;
};
/// The request could not be done, and no candidate is to blame: an Error of the worker.
struct Failed {
  ErrorCode code = ErrorCode::internal;
  std::string message;
  bool operator==(const Failed&) const = default;
};
}  // namespace reply
using Reply = std::variant<reply::Ready, reply::Done, reply::Failed, Opened, Admitted, Sampled>;

/// The longest deadline that is read: 100 years. A moment so far away can still be counted in nanoseconds.
inline constexpr Milliseconds kLongestLimit{int64_t{100} * 365 * 24 * 3600 * 1000};

/// CBOR of a message, the payload of a frame. x_from(to_payload(x)) == x, numbers to the last bit (NaNs too), any bytes
/// in texts. Two exceptions: a limit beyond kLongestLimit or below 0 is not read, and the rules of a search space are
/// UTF-8, because their JSON is (throws internal).
std::string to_payload(const Request& request);
std::string to_payload(const Reply& answer);
/// Throws invalid_input, whatever the bytes are; nothing deeper nested than 64 levels is followed. Only a message is
/// checked, not whether it fits the conversation: ids, slots and numbers of samples are the reader's to judge.
Request request_from(std::string_view payload);
Reply answer_from(std::string_view payload);

}  // namespace attune
