// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "attune/attune.h"

namespace {

/// Allocations of this thread that still succeed; below 0: all do. `once`: only the next one after them fails.
thread_local constinit int64_t left = -1;
thread_local constinit bool once = false;
thread_local constinit bool has_failed = false;
/// Whether the thread loads a library. The static initialisers of one that lacks memory end the process, as oneDNN 3's
/// do; no caller can prevent it.
thread_local constinit bool is_loading = false;

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (left == 0 && !is_loading) {
    if (once) left = -1;
    has_failed = true;
    return nullptr;
  }
  if (left > 0 && !is_loading) --left;
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  return alignment <= alignof(std::max_align_t) ? std::malloc(bytes == 0 ? 1 : bytes)
                                                : std::aligned_alloc(alignment, whole == 0 ? alignment : whole);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* const memory = allocate(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

extern "C" void* dlopen(const char* file, int mode) {
  static const auto next = reinterpret_cast<void* (*)(const char*, int)>(::dlsym(RTLD_NEXT, "dlopen"));
  const bool before = std::exchange(is_loading, true);
  void* const library = next(file, mode);
  is_loading = before;
  return library;
}

// The whole set, so that a sanitizer sees pairs.
void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 1); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t at) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(at));
}
void* operator new[](std::size_t bytes, std::align_val_t at) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(at));
}
void* operator new(std::size_t bytes, std::align_val_t at, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(at));
}
void* operator new[](std::size_t bytes, std::align_val_t at, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(at));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept { std::free(memory); }

namespace attune {
namespace {

/// Lets the allocations of a call fail, after the first `num`.
template <typename Call>
int with_failure(int64_t num, bool only_one, const Call& call) {
  has_failed = false;
  once = only_one;
  left = num;
  const int status = call();
  left = -1;
  return status;
}

class FailedAllocations : public testing::TestWithParam<bool> {
 protected:
  static constexpr int64_t kN = 16, kK = 16, kMostM = 4096;

  static int open(attune_dispatcher*& dispatcher) {
    attune_options options = ATTUNE_OPTIONS_INIT;
    options.device = "fake:0";
    return attune_open(&options, &dispatcher);
  }
  int gemm(attune_dispatcher* dispatcher, int64_t m) {
    std::array<char, 100> text;
    std::snprintf(text.data(), text.size(), "gemm_a16w16 m=%ld n=16 k=16 dtype=fp32", static_cast<long>(m));
    attune_gemm_key key = ATTUNE_GEMM_KEY_INIT;
    const int status = attune_problem_key(text.data(), &key);
    if (status != ATTUNE_OK) return status;
    return attune_gemm(dispatcher, &key, x_.data(), w_.data(), nullptr, out_.data(), nullptr);
  }
  /// Calls with 0, 1, 2 … allocations until none fails; returns their number. Each call must end with a status: the
  /// right one if no allocation failed.
  template <typename Call>
  int64_t call_until_all_succeed(const Call& call) {
    constexpr int64_t kMost = 20'000;
    for (int64_t num = 0; num < kMost; ++num) {
      const int status = with_failure(num, GetParam(), [&] { return call(num); });
      if (!has_failed) {
        EXPECT_EQ(status, ATTUNE_OK) << attune_last_error();
        return num;
      }
      EXPECT_TRUE(status == ATTUNE_OK || status == ATTUNE_UNAVAILABLE) << num << ": " << attune_last_error();
    }
    return kMost;
  }

  std::vector<float> x_ = std::vector<float>(kMostM * kK), w_ = std::vector<float>(kN * kK),
                     out_ = std::vector<float>(kMostM * kN);
};

TEST_P(FailedAllocations, InOpeningEndNoProcess) {
  const int64_t num = call_until_all_succeed([&](int64_t) {
    attune_dispatcher* dispatcher = nullptr;
    const int status = open(dispatcher);
    return status == ATTUNE_OK ? attune_close(dispatcher) : status;
  });
  EXPECT_GT(num, 10);
}

TEST_P(FailedAllocations, InACallEndNoProcess) {
  attune_dispatcher* dispatcher = nullptr;
  ASSERT_EQ(open(dispatcher), ATTUNE_OK);
  int64_t m = 0;
  EXPECT_GT(call_until_all_succeed([&](int64_t) { return gemm(dispatcher, ++m % kMostM + 1); }), 10) << "first calls";
  ASSERT_EQ(gemm(dispatcher, 1), ATTUNE_OK);
  EXPECT_LT(call_until_all_succeed([&](int64_t) { return gemm(dispatcher, 1); }), 50) << "hits";
  EXPECT_EQ(attune_close(dispatcher), ATTUNE_OK);
}

/// What a process does once, such as opening modules, fails in a child of its own.
TEST_P(FailedAllocations, InAProcesssFirstCallsEndNoProcess) {
  for (const int64_t num : {0, 1, 2, 5, 13, 50, 200, 1000, 5000}) {
    const pid_t child = ::fork();
    if (child == 0) {
      attune_dispatcher* dispatcher = nullptr;
      const auto all = [&] {
        const int status = open(dispatcher);
        return status == ATTUNE_OK ? gemm(dispatcher, 3) : status;
      };
      const int status = with_failure(num, GetParam(), all);
      ::_exit(status == ATTUNE_OK || status == ATTUNE_UNAVAILABLE ? 0 : 100 + status);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << num;
  }
}

INSTANTIATE_TEST_SUITE_P(, FailedAllocations, testing::Bool(),
                         [](const auto& param) { return param.param ? "one" : "all_later_ones"; });

}  // namespace
}  // namespace attune
