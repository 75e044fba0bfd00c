// SPDX-License-Identifier: MIT
#include "measure/executor.h"

namespace attune {

Answer cancelled(const Request& request, uint32_t epoch) {
  constexpr const char* kWhy = "the run was stopped";
  if (const auto* open = std::get_if<request::Open>(&request)) return OpenAnswer{.problem = open->id, .refused = kWhy};
  if (const auto* admit = std::get_if<request::Admit>(&request))
    return AdmitAnswer{.slot = admit->slot, .verified = {.status = Status::cancelled, .detail = kWhy}};
  if (std::holds_alternative<request::Sample>(request)) return SampleAnswer{.interrupted = true, .is_cancelled = true};
  return RecycleAnswer{epoch};
}

}  // namespace attune
