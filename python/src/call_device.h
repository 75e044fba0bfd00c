// SPDX-License-Identifier: MIT
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "product_interface.h"

namespace attune::python {

/// The device that the arrays of one call are on, and the stream that its work goes to. The first array decides; one on
/// another device is refused. Requires the GIL.
class CallDevice {
 public:
  /// `stream`: what the caller passed: None, an address of the driver's, or an object that has one (`cuda_stream` as
  /// PyTorch's, `ptr` as CuPy's, or the protocol `__cuda_stream__`).
  explicit CallDevice(nanobind::handle stream) : stream_(nanobind::borrow(stream)) {}
  /// The host alone: an array elsewhere is refused.
  CallDevice() : stream_(nanobind::none()), is_host_only_(true) {}

  /// Enters an array of the host.
  void enter_host(const char* role) { enter(role, {DeviceKind::host, 0, nullptr}); }
  /// Enters an array on a device of DLPack's numbers, and returns the number of the stream that its library shall make
  /// it ready for, as DLPack has it. Without a stream of the caller's it is PyTorch's current one for PyTorch's
  /// tensors, the legacy default stream for others. Throws ValueError for a device of another kind or a stream that is
  /// none, TypeError for a second device.
  nanobind::object enter(const char* role, nanobind::handle array, int64_t device_type, int64_t device_index);
  /// Throws ValueError for a stream beside arrays of the host.
  const CallPlace& place() const;

 private:
  void enter(const char* role, const CallPlace& its);
  uintptr_t address_of_stream(nanobind::handle array, int64_t device_index) const;

  nanobind::object stream_;
  CallPlace place_{DeviceKind::host, 0, nullptr};
  std::string first_role_;
  bool is_host_only_ = false;
};

}  // namespace attune::python
