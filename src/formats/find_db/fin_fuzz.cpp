// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "formats/find_db/fin_results.h"

/// Any bytes are either results of fin or an Error. Each result belongs to a shape.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;
  try {
    const MiopenShapes found =
        parse_fin_results(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.json", true);
    for (const MiopenResult& one : found.results)
      ATTUNE_CHECK(one.shape < found.shapes.size(), "a result of {} has no shape", one.solver);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
  }
  return 0;
}
