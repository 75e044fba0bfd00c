// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string>

#include "attune/error.h"
#include "base/error.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/family_of_file.h"
#include "formats/csv/key_cells.h"

/// Any bytes are a document that gives its bytes back, or an Error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;
  const std::string content(reinterpret_cast<const char*>(data), size);
  try {
    const auto document = CsvDocument::parse(content, "fuzz.csv");
    std::string rebuilt(document.head());
    for (size_t row = 0; row < document.num_rows(); ++row) rebuilt += document.raw(row);
    ATTUNE_CHECK(rebuilt == content, "a document lost bytes");
    const auto found = family_of_file(document);
    const KeyCells cells(document, *found.family, Strictness::shape);
    for (size_t row = 0; row < document.num_rows(); ++row) {
      document.check_cells(row);
      const Problem problem = cells.problem(row);
      ATTUNE_CHECK(Problem::parse(problem.key()) == problem, "a problem changed on its way: '{}'", problem.key());
    }
  } catch (const Error&) {
    // The expected end of most inputs.
  }
  return 0;
}
