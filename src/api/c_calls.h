// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <span>

#include "api/c_values.h"
#include "attune/gemm.h"

/// A C caller's handle of a dispatcher, either its own or the process's.
struct attune_dispatcher {
  std::unique_ptr<attune::Dispatcher> own;
  attune::Dispatcher* used = nullptr;
  std::atomic<int64_t> num_weights{0};  ///< Packed by the dispatcher and not yet freed.
};

namespace attune {

inline constexpr size_t kHitSize = 24;  ///< Size of attune_hit in the first version.

/// Stores the sentence for this thread's attune_last_error(); returns `status`.
int failed(int status, const char* text) noexcept;

/// Calls `call` and converts any exception to a status; none leaves the function.
template <typename Call>
int guarded(const Call& call) noexcept {
  try {
    call();
    return ATTUNE_OK;
  } catch (const Error& error) {
    return failed(status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return failed(ATTUNE_UNAVAILABLE, "out of memory, close other programs or use smaller shapes");
  } catch (const std::exception& error) {
    return failed(ATTUNE_INTERNAL, error.what());
  } catch (...) {
    return failed(ATTUNE_INTERNAL, "an exception of unknown type, please report it");
  }
}

template <typename Pointer>
Pointer needed(Pointer pointer, const char* what) {
  if (pointer == nullptr) fail(ErrorCode::invalid_input, "a null pointer was given for the {}", what);
  return pointer;
}

inline Dispatcher& used(attune_dispatcher* dispatcher) { return *needed(dispatcher, "dispatcher")->used; }

/// Throws invalid_input for a null or misaligned operand; plans assume the alignment.
void check_places(std::span<void* const> operands);

/// Whether there is a bias. Throws invalid_input if key and pointer disagree.
bool has_bias(const GemmKey& key, const void* bias);

}  // namespace attune
