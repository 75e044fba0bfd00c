// SPDX-License-Identifier: MIT
#include "gil.h"

#include <unistd.h>

namespace attune::python {

void park() noexcept {
  for (;;) ::pause();
}

GilRelease::~GilRelease() {
  in_python([this] {
    PyEval_RestoreThread(thread_);
    return 0;
  });
}

}  // namespace attune::python
