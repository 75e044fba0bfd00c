// SPDX-License-Identifier: MIT
#pragma once
namespace attune {

/// For the library's threads, so that they do not keep a process whose main thread has called pthread_exit(). Returns
/// whether the main thread has ended and no thread is left but those of the library (BackgroundThread): they return,
/// and the process ends with status 0. While other threads are left, the calling thread takes those signals that end a
/// process and for which the application has no handler: the others may block them, as OpenBLAS' own threads may.
/// About 20 µs.
bool has_application_ended() noexcept;

}  // namespace attune
