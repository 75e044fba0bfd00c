// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "report/document/model.h"

namespace attune {

/// A report as one HTML file: no network, readable without script (a small one adds sorting and filtering), light and
/// dark as the reader prefers, from 360 pixels of width on, printable. Its content security policy allows no other
/// script than its own, by hash. Pure: the same model gives the same bytes. 1,000 shapes take about 100 ms and 1.5 MB.
std::string html_text(const ReportModel& model);

}  // namespace attune
