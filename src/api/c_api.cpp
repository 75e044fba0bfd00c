// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "api/c_calls.h"
#include "attune/version.h"

namespace {

using namespace attune;

constexpr size_t kCountersSize = 96, kKeySize = 56;
constexpr size_t kFirstCountersSize = 56;  ///< Size before plan_bytes was added.
static_assert(sizeof(attune_hit) == kHitSize && sizeof(attune_counters) == kCountersSize);

/// The handle of one of the process's own dispatchers, and those that were made before it. Never freed.
struct GlobalHandle {
  attune_dispatcher handle;
  GlobalHandle* former = nullptr;
};
constinit std::atomic<GlobalHandle*> newest_handle{nullptr};

/// Takes no lock, which a child of fork() could find taken.
attune_dispatcher* handle_of(Dispatcher& global) {
  std::unique_ptr<GlobalHandle> made;
  GlobalHandle* newest = newest_handle.load();
  while (true) {
    for (GlobalHandle* one = newest; one != nullptr; one = one->former) {
      if (one->handle.used == &global) return &one->handle;
    }
    if (!made) made.reset(new GlobalHandle{{nullptr, &global, 0}});
    made->former = newest;
    if (newest_handle.compare_exchange_strong(newest, made.get())) return &made.release()->handle;
  }
}

}  // namespace

extern "C" {

const char* attune_version(void) { return kVersion; }

const char* attune_status_name(int status) {
  if (status == ATTUNE_OK) return "ok";
  if (status < ATTUNE_OK || status > ATTUNE_INTERNAL) return "unknown";
  return name(static_cast<ErrorCode>(status - 1)).data();  // A literal.
}

const char* attune_match_name(uint32_t match) {
  return match > ATTUNE_FALLBACK ? "unknown" : name(static_cast<Match>(match)).data();  // A literal.
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
    *dispatcher = handle_of(Dispatcher::global());
  });
}

int attune_global_on(const char* device, attune_dispatcher** dispatcher) {
  return guarded([&] {
    needed(dispatcher, "dispatcher");
    *dispatcher = handle_of(Dispatcher::global(std::string_view(needed(device, "device"))));
  });
}

int attune_close(attune_dispatcher* dispatcher) {
  return guarded([&] {
    if (dispatcher == nullptr) return;
    if (!dispatcher->own) fail(ErrorCode::invalid_input, "the process's own dispatcher cannot be closed");
    if (const int64_t left = dispatcher->num_weights; left > 0)
      fail(ErrorCode::invalid_input, "packed weights of the dispatcher still exist, free them first: {}", left);
    delete dispatcher;
  });
}

int attune_problem_key(const char* text, attune_gemm_key* key) {
  return guarded([&] {
    needed(key, "key");
    give(*key, c_key(gemm_key_of(std::string_view(needed(text, "text")))), kKeySize);
  });
}

int attune_choose(attune_dispatcher* dispatcher, const attune_gemm_key* key, attune_hit* hit) {
  return guarded([&] {
    needed(hit, "hit");
    give(*hit, c_hit(used(dispatcher).choose(gemm_key_of(*needed(key, "key")))), kHitSize);
  });
}

int attune_require(attune_dispatcher* dispatcher, const attune_gemm_key* key, attune_hit* hit) {
  return guarded([&] {
    const attune_hit found = c_hit(used(dispatcher).require(gemm_key_of(*needed(key, "key"))));
    if (hit != nullptr) give(*hit, found, kHitSize);
  });
}

int attune_run(attune_dispatcher* dispatcher, const attune_gemm_key* key, void* const* operands, size_t num_operands,
               void* stream) {
  return guarded([&] {
    const GemmKey problem = gemm_key_of(*needed(key, "key"));
    if (num_operands > 0) needed(operands, "operands");
    used(dispatcher).run(problem, std::span(operands, num_operands), stream);
  });
}

int attune_gemm(attune_dispatcher* dispatcher, const attune_gemm_key* key, const void* x, const void* w,
                const void* bias, void* out, void* stream) {
  return guarded([&] {
    const GemmKey problem = gemm_key_of(*needed(key, "key"));
    // One list holds inputs and output; the inputs are not written.
    std::array<void*, 4> operands = {const_cast<void*>(x), const_cast<void*>(w), const_cast<void*>(bias), out};
    const size_t count = has_bias(problem, bias) ? 4 : 3;
    if (count == 3) operands[2] = out;
    used(dispatcher).run(problem, std::span<void* const>(operands.data(), count), stream);
  });
}

int attune_run_candidate(attune_dispatcher* dispatcher, const char* problem, const char* candidate,
                         void* const* operands, size_t num_operands, void* stream) {
  return guarded([&] {
    if (num_operands > 0) needed(operands, "operands");
    used(dispatcher)
        .run_candidate(needed(problem, "problem"), needed(candidate, "candidate"), std::span(operands, num_operands),
                       stream);
  });
}

int attune_release_memory(attune_dispatcher* dispatcher, uint64_t* bytes) {
  return guarded([&] {
    const uint64_t freed = used(dispatcher).release_memory();
    if (bytes != nullptr) *bytes = freed;
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
  return guarded(
      [&] { give_text(used(dispatcher).explain(gemm_key_of(*needed(key, "key"))), buffer, capacity, length); });
}

int attune_set_threads(attune_dispatcher* dispatcher, int32_t threads, int32_t* limit) {
  return guarded([&] {
    const int32_t held = used(dispatcher).set_threads(threads);
    if (limit != nullptr) *limit = held;
  });
}

int attune_counts(attune_dispatcher* dispatcher, attune_counters* counters) {
  return guarded(
      [&] { give(*needed(counters, "counters"), c_counters(used(dispatcher).counts()), kFirstCountersSize); });
}

}  // extern "C"
