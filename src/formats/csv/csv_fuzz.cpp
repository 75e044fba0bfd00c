// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string>

#include "attune/error.h"
#include "base/error.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/csv_scan.h"
#include "formats/csv/family_of_file.h"
#include "formats/csv/key_cells.h"

namespace {

using namespace attune;

/// Checks that a scan gives the same rows.
void check_scan(const CsvDocument& document, const std::string& content) {
  CsvScan scan(content, "fuzz.csv");
  ATTUNE_CHECK(scan.head().columns() == document.columns(), "a scan has other columns");
  for (size_t row = 0; row < document.num_rows(); ++row) {
    ATTUNE_CHECK(scan.next() && scan.line() == document.line(row), "a scan lacks row {}", row);
    ATTUNE_CHECK(scan.num_cells() == document.num_cells(row), "a scan has other cells in row {}", row);
    for (size_t i = 0; i < scan.num_cells(); ++i)
      ATTUNE_CHECK(scan.cell(i) == document.cell(row, i), "a scan has another cell in row {}", row);
  }
  ATTUNE_CHECK(!scan.next(), "a scan has more rows");
}

}  // namespace

/// Any bytes are either a document that reproduces them, or an Error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  try {
    const auto document = CsvDocument::parse(content, "fuzz.csv");
    std::string rebuilt(document.head());
    for (size_t row = 0; row < document.num_rows(); ++row) rebuilt += document.raw(row);
    ATTUNE_CHECK(rebuilt == content, "a document lost bytes");
    check_scan(document, content);
    const auto found = family_of_file(document);
    const KeyCells cells(document, *found.family, Strictness::shape);
    for (size_t row = 0; row < document.num_rows(); ++row) {
      document.check_cells(row);
      const Problem problem = cells.problem(row);
      ATTUNE_CHECK(Problem::parse(problem.key()) == problem, "a problem changed on its way: '{}'", problem.key());
    }
  } catch (const Error&) {
    // Most inputs end here.
  }
  return 0;
}
