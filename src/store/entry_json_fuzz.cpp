// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "store/entry_json.h"

/// Any bytes are an entry that survives being written, or an Error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;
  try {
    const Entry entry = entry_from_json({reinterpret_cast<const char*>(data), size});
    const std::string text = entry_to_json(entry);
    ATTUNE_CHECK(entry_to_json(entry_from_json(text)) == text, "an entry changed on its way");
  } catch (const Error&) {
    // The expected end of most inputs.
  }
  return 0;
}
