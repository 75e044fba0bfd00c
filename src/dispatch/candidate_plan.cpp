// SPDX-License-Identifier: MIT
// Plans of candidates that a caller names, as opposed to those named by tables.
#include "base/error.h"
#include "dispatch/dispatch_state.h"
#include "ops/op.h"

namespace attune {

Problem Dispatcher::State::read_problem(std::string_view text) const {
  const Problem asked = Problem::parse(text);
  return op_of(asked).normalise(asked, limited.load()->maker.device());
}

const Plan& Dispatcher::State::require(const Problem& problem, const Candidate& candidate) {
  std::unique_lock lock = begin_making();
  LimitedDevice& device = *limited.load();
  Resolution made = device.resolver.resolve(problem, candidate);
  if (!made.missing.empty()) {
    lock.unlock();
    auto failures = compile(made.missing);
    lock.lock();
    device.maker.note_failures(std::move(failures));
    made = device.resolver.resolve(problem, candidate);
  }
  if (made.hit.plan == nullptr) fail(made.refusal.code, "the candidate cannot run this problem: {}", made.why_not);
  protect_plan(plans_.holder(), made.plan);
  make_room();
  return *made.hit.plan;
}

}  // namespace attune
