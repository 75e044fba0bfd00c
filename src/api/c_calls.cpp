// SPDX-License-Identifier: MIT
#include "api/c_calls.h"

#include <string>

namespace {

std::string& last_error() {
  thread_local std::string text;
  return text;
}

}  // namespace

namespace attune {

int failed(int status, const char* text) noexcept {
  try {
    last_error() = text;
  } catch (...) {
    last_error().clear();  // There is no memory for the sentence either.
  }
  return status;
}

void check_places(std::span<void* const> operands) {
  constexpr size_t kOperandAlignment = 16;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == nullptr) fail(ErrorCode::invalid_input, "a null pointer was given for operand {}", i);
    if (reinterpret_cast<uintptr_t>(operands[i]) % kOperandAlignment != 0)
      fail(ErrorCode::invalid_input, "operands must be aligned to {} bytes, this one is not: {}", kOperandAlignment, i);
  }
}

bool has_bias(const GemmKey& key, const void* bias) {
  const bool wanted = (key.flags & GemmKey::bias) != 0;
  if (wanted != (bias != nullptr))
    fail(ErrorCode::invalid_input, "the key expects {} bias, got {}", wanted ? "a" : "no",
         bias != nullptr ? "one" : "none");
  return wanted;
}

}  // namespace attune

extern "C" const char* attune_last_error(void) { return last_error().c_str(); }
