// SPDX-License-Identifier: MIT
#include "api/c_calls.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

// Functions that run at exit and destructors of other thread_locals may still call: this has no destructor.
thread_local constinit char* last_error = nullptr;

struct LastErrorEnd {
  ~LastErrorEnd() { std::free(std::exchange(last_error, nullptr)); }
};

}  // namespace

namespace attune {

int failed(int status, const char* text) noexcept {
  thread_local const LastErrorEnd end;
  static_cast<void>(end);
  char* const copy = ::strdup(text);  // Null: there is no memory for the sentence either.
  std::free(std::exchange(last_error, copy));
  return status;
}

void check_place(const void* pointer, const char* what) {
  constexpr size_t kOperandAlignment = 16;
  if (reinterpret_cast<uintptr_t>(needed(pointer, what)) % kOperandAlignment != 0)
    fail(ErrorCode::invalid_input, "operands must be aligned to {} bytes, this one is not: {}", kOperandAlignment,
         what);
}

void give_text(std::string_view text, char* buffer, size_t capacity, size_t* length) {
  if (capacity > 0) needed(buffer, "buffer");
  if (length != nullptr) *length = text.size();
  if (capacity == 0) return;
  const size_t fits = std::min(text.size(), capacity - 1);
  std::memcpy(buffer, text.data(), fits);
  buffer[fits] = '\0';
}

PackOptions pack_options_of(const attune_pack_options* given) {
  constexpr size_t kSize = 24;
  static_assert(sizeof(attune_pack_options) == kSize);
  if (given == nullptr) return {};
  const attune_pack_options wanted = taken(*given, attune_pack_options ATTUNE_PACK_OPTIONS_INIT, kSize);
  check_reserved(wanted.reserved);
  return {.packing = wanted.per_shape != 0 ? Packing::per_shape : Packing::one_layout, .max_bytes = wanted.max_bytes};
}

bool has_bias(const GemmKey& key, const void* bias) {
  const bool wanted = (key.flags & GemmKey::bias) != 0;
  if (wanted != (bias != nullptr))
    fail(ErrorCode::invalid_input, "the key expects {} bias, got {}", wanted ? "a" : "no",
         bias != nullptr ? "one" : "none");
  return wanted;
}

}  // namespace attune

extern "C" const char* attune_last_error(void) { return last_error != nullptr ? last_error : ""; }
