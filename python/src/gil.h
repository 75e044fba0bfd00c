// SPDX-License-Identifier: MIT
#pragma once
#include <nanobind/nanobind.h>

#include <utility>

namespace attune::python {

/// Keeps the calling thread for ever, asleep: the interpreter has ended under it and no code of it may run any more.
[[noreturn]] void park() noexcept;

/// While it lives, other threads of Python run. A daemon thread that wants to go on in Python when the interpreter has
/// ended is parked. Python itself (before 3.14) ends such a thread by unwinding its stack, which std::terminate() stops
/// at the first frame that nothing may be thrown through; nanobind's own have no other.
class GilRelease {
 public:
  GilRelease() noexcept : thread_(PyEval_SaveThread()) {}
  ~GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* thread_;
};

/// What a call of Python's C interface returns that may run code of Python's, in which threads take turns: parks as
/// GilRelease does. No object may live in the call itself.
template <typename Call>
auto in_python(const Call& call) {
  try {
    return call();
  } catch (...) {  // Nothing is thrown in C but the end of the thread.
    park();
  }
}

}  // namespace attune::python
