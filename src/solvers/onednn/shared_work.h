// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace attune {

/// Below so many elements the calling thread works alone: waking the others would take longer.
inline constexpr int64_t kMinSharedElements = 16'384;

using WorkOnPart = void (*)(void* work, int64_t begin, int64_t end);
void share_parts(int64_t units, int threads, WorkOnPart run, void* work);

/// Calls `work(begin, end)` with equal parts of 0 … `units` on as many threads as there are in the calling thread's
/// team of OpenMP, at most `threads`.
template <typename Work>
void share_work(int64_t units, int threads, Work work) {
  share_parts(
      units, threads, [](void* all, int64_t begin, int64_t end) { (*static_cast<Work*>(all))(begin, end); }, &work);
}

}  // namespace attune
