// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "report/document/model.h"

namespace attune {

/// A report as data: the whole model (docs/formats/report.md; its schema is in the same folder). Bytes that are not
/// UTF-8 become U+FFFD. Pure: the same model gives the same bytes.
std::string report_json(const ReportModel& model);

/// Inverse of report_json(): of a model whose texts are UTF-8 it returns an equal one. Texts are at most as long as the
/// file. Throws invalid_input with `source` for a text that is no such document, is of a newer version, or is of a
/// pipeline that has not come to its end.
ReportModel parse_report_json(std::string_view text, const std::string& source);

}  // namespace attune
