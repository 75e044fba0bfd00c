// SPDX-License-Identifier: MIT
#include "formats/csv/architectures.h"

#include <set>

#include "base/error.h"
#include "formats/csv/csv_scan.h"

namespace attune {

std::vector<std::string> architectures_in(const std::filesystem::path& csv) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(csv, error)) return {};
  std::set<std::string, std::less<>> found;
  try {
    CsvScan scan(csv);
    const auto column = scan.head().find_column("gfx");
    while (column && scan.next()) {
      const std::string_view gfx = scan.cell(*column);
      if (!gfx.empty() && found.find(gfx) == found.end()) found.emplace(gfx);
    }
  } catch (const Error&) {
    return {};
  }
  return {found.begin(), found.end()};
}

}  // namespace attune
