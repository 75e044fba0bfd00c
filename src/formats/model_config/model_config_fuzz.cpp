// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/error.h"
#include "base/error.h"
#include "formats/model_config/model_shapes.h"

/// Any bytes are either shapes whose problems can be read back, or an Error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;
  try {
    const ModelConfig model = parse_model_config({reinterpret_cast<const char*>(data), size}, "config.json");
    for (const int64_t tp : {1, 2, 8}) {
      for (const LayerProduct& product : model_shapes(model, {.tp = tp, .tokens = {1, 512}}).products) {
        for (const Problem& problem : product.problems)
          ATTUNE_CHECK(Problem::parse(problem.key()) == problem, "a problem changed on its way: '{}'", problem.key());
      }
    }
  } catch (const Error&) {
    // Most inputs end here.
  }
  return 0;
}
