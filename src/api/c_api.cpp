// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "api/c_values.h"
#include "attune/version.h"

/// What a C caller holds: its own dispatcher, or the process's.
struct attune_dispatcher {
  std::unique_ptr<attune::Dispatcher> own;
  attune::Dispatcher* used = nullptr;
};

namespace {

using namespace attune;

constexpr size_t kHitSize = 24, kCountersSize = 56, kKeySize = 56;
static_assert(sizeof(attune_hit) == kHitSize && sizeof(attune_counters) == kCountersSize);
constexpr size_t kOperandAlignment = 16;

std::string& last_error() {
  thread_local std::string text;
  return text;
}

int failed(int status, const char* text) noexcept {
  try {
    last_error() = text;
  } catch (...) {
    last_error().clear();  // No memory for the sentence either.
  }
  return status;
}

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

Dispatcher& used(attune_dispatcher* dispatcher) { return *needed(dispatcher, "dispatcher")->used; }

/// A plan trusts the alignment of its operands.
void check_places(std::span<void* const> operands) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == nullptr) fail(ErrorCode::invalid_input, "a null pointer was given for operand {}", i);
    if (reinterpret_cast<uintptr_t>(operands[i]) % kOperandAlignment != 0)
      fail(ErrorCode::invalid_input, "operands are aligned to {} bytes, one is not: {}", kOperandAlignment, i);
  }
}

/// A plan reads as many operands as its problem has.
void check_operands(const GemmKey& key, std::span<void* const> operands) {
  const size_t wanted = (key.flags & GemmKey::bias) != 0 ? 4 : 3;
  // The only op that runs in this version; run() refuses the others by name.
  if (key.op == OpId::gemm_a16w16 && operands.size() != wanted)
    fail(ErrorCode::invalid_input, "the problem has {} operands, not {}", wanted, operands.size());
  check_places(operands);
}

}  // namespace

extern "C" {

const char* attune_version(void) { return kVersion; }
const char* attune_last_error(void) { return last_error().c_str(); }

const char* attune_status_name(int status) {
  if (status == ATTUNE_OK) return "ok";
  if (status < ATTUNE_OK || status > ATTUNE_INTERNAL) return "unknown";
  return name(static_cast<ErrorCode>(status - 1)).data();  // A literal.
}

int attune_open(const attune_options* options, attune_dispatcher** dispatcher) {
  return guarded([&] {
    needed(dispatcher, "dispatcher");
    auto made = std::make_unique<attune_dispatcher>();
    made->own = std::make_unique<Dispatcher>(options == nullptr ? DispatcherOptions() : options_of(*options));
    made->used = made->own.get();
    *dispatcher = made.release();
  });
}

int attune_global(attune_dispatcher** dispatcher) {
  return guarded([&] {
    needed(dispatcher, "dispatcher");
    static auto* const handle = new attune_dispatcher{nullptr, &Dispatcher::global()};
    *dispatcher = handle;
  });
}

int attune_close(attune_dispatcher* dispatcher) {
  return guarded([&] {
    if (dispatcher == nullptr) return;
    if (!dispatcher->own) fail(ErrorCode::invalid_input, "the process's own dispatcher is never closed");
    delete dispatcher;
  });
}

int attune_problem_key(const char* text, attune_gemm_key* key) {
  return guarded([&] {
    needed(key, "key");
    give(*key, c_key(key_of(std::string_view(needed(text, "text")))), kKeySize);
  });
}

int attune_choose(attune_dispatcher* dispatcher, const attune_gemm_key* key, attune_hit* hit) {
  return guarded([&] {
    needed(hit, "hit");
    give(*hit, c_hit(used(dispatcher).choose(key_of(*needed(key, "key")))), kHitSize);
  });
}

int attune_require(attune_dispatcher* dispatcher, const attune_gemm_key* key, attune_hit* hit) {
  return guarded([&] {
    const attune_hit found = c_hit(used(dispatcher).require(key_of(*needed(key, "key"))));
    if (hit != nullptr) give(*hit, found, kHitSize);
  });
}

int attune_run(attune_dispatcher* dispatcher, const attune_gemm_key* key, void* const* operands, size_t num_operands,
               void* stream) {
  return guarded([&] {
    const GemmKey problem = key_of(*needed(key, "key"));
    if (num_operands > 0) needed(operands, "operands");
    const std::span<void* const> all(operands, num_operands);
    check_operands(problem, all);
    used(dispatcher).run(problem, all, stream);
  });
}

int attune_gemm(attune_dispatcher* dispatcher, const attune_gemm_key* key, const void* x, const void* w,
                const void* bias, void* out, void* stream) {
  return guarded([&] {
    const GemmKey problem = key_of(*needed(key, "key"));
    const bool has_bias = (problem.flags & GemmKey::bias) != 0;
    if (has_bias != (bias != nullptr))
      fail(ErrorCode::invalid_input, "the key says {} bias, and there is {}", has_bias ? "a" : "no",
           bias != nullptr ? "one" : "none");
    // Inputs are not written to: one list of operands holds both.
    std::array<void*, 4> operands = {const_cast<void*>(x), const_cast<void*>(w), const_cast<void*>(bias), out};
    if (!has_bias) operands[2] = out;
    const std::span<void* const> all(operands.data(), has_bias ? 4 : 3);
    check_operands(problem, all);
    used(dispatcher).run(problem, all, stream);
  });
}

int attune_run_candidate(attune_dispatcher* dispatcher, const char* problem, const char* candidate,
                         void* const* operands, size_t num_operands, void* stream) {
  return guarded([&] {
    if (num_operands > 0) needed(operands, "operands");
    const size_t num_wanted = used(dispatcher).operands(needed(problem, "problem")).size();
    if (num_operands != num_wanted)
      fail(ErrorCode::invalid_input, "the problem has {} operands, not {}", num_wanted, num_operands);
    const std::span<void* const> all(operands, num_operands);
    check_places(all);
    used(dispatcher).run_candidate(needed(problem, "problem"), needed(candidate, "candidate"), all, stream);
  });
}

int attune_reload(attune_dispatcher* dispatcher, int* changed) {
  return guarded([&] {
    const bool any = used(dispatcher).reload();
    if (changed != nullptr) *changed = any ? 1 : 0;
  });
}

int attune_explain(attune_dispatcher* dispatcher, const attune_gemm_key* key, char* buffer, size_t capacity,
                   size_t* length) {
  return guarded([&] {
    if (capacity > 0) needed(buffer, "buffer");
    const std::string text = used(dispatcher).explain(key_of(*needed(key, "key")));
    if (length != nullptr) *length = text.size();
    if (capacity == 0) return;
    const size_t fits = std::min(text.size(), capacity - 1);
    std::memcpy(buffer, text.data(), fits);
    buffer[fits] = '\0';
  });
}

int attune_counts(attune_dispatcher* dispatcher, attune_counters* counters) {
  return guarded([&] { give(*needed(counters, "counters"), c_counters(used(dispatcher).counts()), kCountersSize); });
}

}  // extern "C"
