// SPDX-License-Identifier: MIT
#pragma once
#include <attune/common_changes.h>
#include <nanobind/nanobind.h>

namespace attune::python {

/// Has the dispatcher of a device hold its changes if hold_changes() was called: of each GPU when it is opened.
void hold_if_wanted(Dispatcher& dispatcher);

/// Adds hold_changes, release_changes, report_changes and apply_changes, which do for all dispatchers in use what
/// CommonChanges does for one.
void add_common_changes(nanobind::module_& module);

}  // namespace attune::python
