// SPDX-License-Identifier: MIT
#include "attune/common_changes.h"

#include "base/error.h"
#include "dispatch/agreement/serving_report.h"
#include "dispatch/dispatch_state.h"

namespace attune {

CommonChanges::CommonChanges(Dispatcher& dispatcher) : dispatcher_(dispatcher) {
  dispatcher_.state_->plans.hold_changes();
}

CommonChanges::~CommonChanges() {
  try {
    dispatcher_.state_->plans.release_changes();
  } catch (const Error&) {
    // The process ends, and nothing serves any more.
  }
}

CommonReport CommonChanges::report() { return dispatcher_.state_->plans.report(); }

CommonResult CommonChanges::apply(std::span<const std::string> reports) {
  if (reports.empty()) fail(ErrorCode::invalid_input, "there is no report to apply, give those of all processes");
  std::vector<ServingReport> read;
  for (const std::string& text : reports) read.push_back(ServingReport::parse(text));
  return dispatcher_.state_->plans.apply(read);
}

}  // namespace attune
