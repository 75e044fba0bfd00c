// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "api/c_values.h"
#include "attune/attune_weights.h"
#include "attune/gemm.h"
#include "attune/weights.h"

/// A C caller's handle of a dispatcher, either its own or the process's.
struct attune_dispatcher {
  std::unique_ptr<attune::Dispatcher> own;
  attune::Dispatcher* used = nullptr;
  std::atomic<int64_t> num_weights{0};  ///< Packed by the dispatcher and not yet freed.
};

/// Packed copies. The dispatcher counts them and must outlive them.
struct attune_weights {
  attune_weights(attune_dispatcher& dispatcher, attune::Weights packed) : maker(dispatcher), own(std::move(packed)) {
    ++maker.num_weights;
  }
  ~attune_weights() { --maker.num_weights; }
  attune_weights(const attune_weights&) = delete;
  attune_weights& operator=(const attune_weights&) = delete;

  attune_dispatcher& maker;
  attune::Weights own;
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

/// Throws invalid_input for a null or misaligned pointer; what reads it assumes the alignment.
void check_place(const void* pointer, const char* what);
/// Writes a text into the caller's buffer as attune_explain() says. Throws invalid_input for a null buffer.
void give_text(std::string_view text, char* buffer, size_t capacity, size_t* length);
/// `given`: null for the defaults. Throws invalid_input.
PackOptions pack_options_of(const attune_pack_options* given);

/// Whether there is a bias. Throws invalid_input if key and pointer disagree.
bool has_bias(const GemmKey& key, const void* bias);

}  // namespace attune
