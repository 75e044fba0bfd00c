// SPDX-License-Identifier: MIT
#pragma once
#include <attune/dispatcher.h>

#include <cstdint>

#include "product_interface.h"

namespace attune::python {

/// The process's own dispatcher of the device that a call's arrays are on, whichever device the environment names. The
/// first call for a device opens it; later ones take no lock. Throws like Dispatcher::global(device).
Dispatcher& dispatcher(const CallPlace& place);
/// That of the host.
Dispatcher& host_dispatcher();
/// The limit of threads that its shapes are captured with: 0 on a GPU.
inline int limit_of_threads(const CallPlace& place, const Dispatcher& its) {
  return place.kind == DeviceKind::host ? its.threads() : 0;
}
/// Sum of DispatchCounts::captured_stand_ins of the GPUs' dispatchers that were returned so far.
uint64_t captured_stand_ins();
/// Dispatcher::reload() of all that were returned so far, and of the environment's.
bool reload_all();

}  // namespace attune::python
