// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "report/document/model.h"

namespace attune {

/// A report as JUnit XML, which CI systems list as tests. Of a pipeline each family is a suite and each of its shapes a
/// test: slower is a failure, failed an error, ambiguous skipped with the known facts. A family that failed is one more
/// test with an error. Of a journal each device is a suite and each shape a test, which passes when it is decided and
/// is skipped when it is not. Pure: the same model gives the same bytes.
std::string junit_text(const ReportModel& model);

}  // namespace attune
