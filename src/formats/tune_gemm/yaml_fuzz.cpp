// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/error.h"
#include "formats/tune_gemm/tune_gemm.h"

/// Any bytes are either a list of sizes or an Error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    attune::parse_tune_gemm({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
  } catch (const attune::Error&) {
    // Most inputs end here.
  }
  return 0;
}
