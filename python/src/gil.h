// SPDX-License-Identifier: MIT
#pragma once
#include <nanobind/nanobind.h>

#include <utility>

namespace attune::python {

/// Puts the calling thread to sleep forever: the interpreter has ended, so the thread may not run Python code any more.
[[noreturn]] void park() noexcept;

/// Releases the GIL while it lives. A daemon thread that returns to Python after the interpreter has ended is parked.
/// Before 3.14, Python itself ends such a thread by unwinding its stack, which calls std::terminate() at the first
/// noexcept frame; nanobind's own frames are noexcept.
class GilRelease {
 public:
  GilRelease() noexcept : thread_(PyEval_SaveThread()) {}
  ~GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* thread_;
};

/// Returns the result of a call of Python's C interface that may run Python code, which lets other threads take the
/// GIL. Parks the thread like GilRelease. No object may live inside the call itself.
template <typename Call>
auto in_python(const Call& call) {
  try {
    return call();
  } catch (...) {  // C code throws nothing but the end of the thread.
    park();
  }
}

}  // namespace attune::python
