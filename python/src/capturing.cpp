// SPDX-License-Identifier: MIT
#include "capturing.h"

#include <attune/dispatcher.h>
#include <attune/error.h>
#include <nanobind/nanobind.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gil.h"

namespace attune::python {
namespace {
std::vector<Capture*> started;  ///< Guarded by the GIL.
}

void ShapeCapture::start() {
  stop();
  started.push_back(&capture_);
}

void ShapeCapture::stop() noexcept { std::erase(started, &capture_); }

void ShapeCapture::flush() {
  std::string why;
  {
    const GilRelease others_run;
    why = capture_.flush();
  }
  if (!why.empty()) throw Error(ErrorCode::io, why);
}

void ShapeCapture::note(const Key& key) noexcept {
  for (Capture* capture : started) capture->note(key, Dispatcher::global().threads());
}
void ShapeCapture::note(const GemmKey& key) noexcept {
  for (Capture* capture : started) capture->note(key, Dispatcher::global().threads());
}

}  // namespace attune::python
