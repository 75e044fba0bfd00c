// SPDX-License-Identifier: MIT
#include "call_device.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "attributes.h"
#include "errors.h"

namespace nb = nanobind;

namespace attune::python {
namespace {

constexpr int64_t kCudaManaged = 13;  // kDLCUDAManaged; nanobind has no name for it.
constexpr int kLegacyDefault = 1;     // DLPack's number of the stream whose address is null.

std::string text(const CallPlace& place) {
  return place.kind == DeviceKind::host ? "the CPU" : "cuda:" + std::to_string(place.index);
}

uintptr_t number(nb::handle value) {
  uintptr_t address = 0;
  if (!nb::try_cast(value, address)) fail_type("stream must be the address of a stream, or an object that has one");
  return address;
}

}  // namespace

void CallDevice::enter(const char* role, const CallPlace& its) {
  if (is_host_only_ && its.kind != DeviceKind::host)
    fail_value(std::string(role) + " must be on the CPU, it is on " + text(its));
  if (first_role_.empty()) {
    first_role_ = role;
    place_ = its;
  } else if (place_.kind != its.kind || place_.index != its.index) {
    fail_type("all arrays of a call must be on one device, " + first_role_ + " is on " + text(place_) + " and " + role +
              " on " + text(its));
  }
}

nb::object CallDevice::enter(const char* role, nb::handle array, int64_t device_type, int64_t device_index) {
  if (device_type == nb::device::cpu::value) {
    enter_host(role);
    return nb::none();
  }
  if (device_type != nb::device::cuda::value && device_type != kCudaManaged)
    fail_value(std::string(role) + " must be on the CPU or a CUDA device, its DLPack device is of type " +
               std::to_string(device_type));
  const bool is_first = first_role_.empty();
  enter(role, {DeviceKind::cuda, static_cast<int32_t>(device_index), nullptr});
  if (is_first) place_.stream = reinterpret_cast<void*>(address_of_stream(array, device_index));
  // Null would be ambiguous there.
  return nb::int_(place_.stream == nullptr ? uintptr_t{kLegacyDefault} : reinterpret_cast<uintptr_t>(place_.stream));
}

uintptr_t CallDevice::address_of_stream(nb::handle array, int64_t device_index) const {
  if (stream_.is_none()) {
    // PyTorch enqueues what makes and reads its tensors on its current stream, which does not wait for another one.
    if (!has_attribute(array, "is_cuda")) return 0;
    return number(nb::module_::import_("torch").attr("cuda").attr("current_stream")(device_index).attr("cuda_stream"));
  }
  uintptr_t address = 0;
  if (nb::try_cast(stream_, address)) {
    if (address == kLegacyDefault) return 0;
    return address;
  }
  for (const char* name : {"cuda_stream", "ptr"}) {
    if (has_attribute(stream_, name)) return number(stream_.attr(name));
  }
  if (has_attribute(stream_, "__cuda_stream__")) return number(stream_.attr("__cuda_stream__")()[1]);
  fail_type("stream must be the address of a stream, or an object that has one");
}

const CallPlace& CallDevice::place() const {
  if (place_.kind == DeviceKind::host && !stream_.is_none()) fail_value("stream must be None for arrays on the CPU");
  return place_;
}

}  // namespace attune::python
