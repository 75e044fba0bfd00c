// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <span>

#include "api/c_values.h"

/// What a C caller holds: its own dispatcher, or the process's.
struct attune_dispatcher {
  std::unique_ptr<attune::Dispatcher> own;
  attune::Dispatcher* used = nullptr;
  std::atomic<int64_t> num_weights{0};  ///< Packed by it and not freed.
};

namespace attune {

inline constexpr size_t kHitSize = 24;  ///< Of attune_hit in the first version.

/// Keeps the sentence for attune_last_error() of this thread; returns `status`.
int failed(int status, const char* text) noexcept;

/// Runs what may throw, and says how it ended. Nothing passes it.
template <typename Call>
int guarded(const Call& call) noexcept {
  try {
    call();
    return ATTUNE_OK;
  } catch (const Error& error) {
    return failed(status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return failed(ATTUNE_UNAVAILABLE, "there is no memory left");
  } catch (const std::exception& error) {
    return failed(ATTUNE_INTERNAL, error.what());
  } catch (...) {
    return failed(ATTUNE_INTERNAL, "something was thrown that is no error");
  }
}

template <typename Pointer>
Pointer needed(Pointer pointer, const char* what) {
  if (pointer == nullptr) fail(ErrorCode::invalid_input, "a null pointer was given for the {}", what);
  return pointer;
}

inline Dispatcher& used(attune_dispatcher* dispatcher) { return *needed(dispatcher, "dispatcher")->used; }

/// A plan trusts the alignment of its operands. Throws invalid_input.
void check_places(std::span<void* const> operands);

/// Whether there is a bias, which key and pointer must agree on. Throws invalid_input.
bool has_bias(const GemmKey& key, const void* bias);

}  // namespace attune
