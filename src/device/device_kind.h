// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/outcome.h"
#include "device/clock_state.h"
#include "device/device.h"
#include "search/contest_options.h"

namespace attune {

/// Meaning of a list such as `cpu:0,cpu:1`: devices of the machine, parts of the first one's cores, or copies of it.
enum class DeviceNumbers : uint8_t { devices, core_parts, copies };

/// A kernel of the program's own for a kind of device that the build makes no images for: the kind brings it.
struct KindKernel {
  std::string_view name;        ///< `attune_gemm_reference`, `attune_compare`, `attune_fill_operand`
  const void* image = nullptr;  ///< For Device::load().
};

/// Lowest rates at which references are computed for a kind of device, for deadlines.
struct ReferenceRates {
  double flops_per_s = 2e9;    ///< Of one core of the host: a reference's fast path at 2.0 GHz.
  double bytes_per_s = 1.6e9;  ///< Of all: operands are filled, outputs compared.
};

/// A kind of device and what the program knows of all of its kind, as data. Each folder `device/<kind>/` registers one
/// in `void register_<kind>_devices(std::vector<DeviceKind>&)`.
struct DeviceKind {
  std::string_view name;
  std::string_view prefix{};                    ///< Prefix of its ids: `cpu` of `cpu:0`; empty: the name.
  std::vector<DeviceInfo> (*list)() = nullptr;  ///< Cheap; empty without devices of this kind.
  /// Opens an id that list() returned. `max_units`: see open_device().
  std::unique_ptr<Device> (*open)(std::string_view id, int64_t max_units) = nullptr;
  /// What the driver says of the clock of a device that list() returned; null: it says nothing. In any process, by any
  /// thread; it throws nothing.
  ClockState (*clock_state)(std::string_view id) = nullptr;
  DeviceNumbers numbers = DeviceNumbers::devices;
  Timing timing = Timing::events;  ///< How launches are timed, if their plans can be timed so.
  ContestConstants contest{};      ///< Found by experiment on such devices (docs/measurement.md).
  size_t max_open_problems = 2;    ///< Problems that one executor keeps open.
  /// Alignment that applications' allocations in its memory have at least, in bytes: operands are timed at it. The
  /// default is PyTorch's on a CPU.
  uint32_t allocation_alignment = 64;
  double load_deadline_s = 60;  ///< Time allowed to prepare a candidate.
  double run_deadline_s = 2;    ///< Minimum time allowed for a launch.
  ReferenceRates reference{};
  /// Whether its units are cores of the host: its kernels run on the thread that calls them and on others of the
  /// process, whose thread limit is the number of units, and references are computed on them.
  bool units_are_cores = false;
  /// Whether compilers may run while candidates are measured: on devices that share no processor with them.
  bool compiles_beside_measuring = false;
  /// Worker processes that a run has for one device. They prepare candidates side by side, and one samples while the
  /// others do nothing there (SharedDevice). One where the mere presence of others would disturb a sample.
  uint32_t default_workers = 1, max_workers = 1;
  /// Memory of the device that a worker takes before it measures anything; 0: workers share a processor with what they
  /// measure. Where it is not 0, and a small part of the device's memory, a second worker stands by.
  uint64_t idle_worker_bytes = 0;
  /// Kernels for references (ReferenceKernel::name), for comparison and for the fill of operands. What the kind lacks
  /// is done on the host, up to kMaxReferenceFlops.
  std::span<const KindKernel> kernels{};
  /// Variables that its driver reads, which workers inherit. A name that ends in `_` is a prefix.
  std::span<const std::string_view> variables{};
  /// Variable that names the devices of the kind that a process sees, and its value with which one of list() is the
  /// first and only one; an empty value: no variable says that. Workers see their device alone.
  std::string_view visibility_variable{};
  std::string (*visible_name)(std::string_view id) = nullptr;
  /// Address of one of list() on the PCI bus, `0000:3b:00.0`; null: they are on none. Workers run on the cores near it.
  std::string (*pci_address)(std::string_view id) = nullptr;
  /// Who uses one of list(), as a clause: `2 processes use it`; empty: nobody. Throws unavailable where that cannot be
  /// told. Null: programs share such devices, whatever others do.
  std::string (*use_of)(std::string_view id) = nullptr;
  /// Whether a command without --devices works on such devices, not on the host.
  bool precedes_host = false;
};

/// Kinds of this build, then those that were registered, in that order. Fixed at the first call.
std::span<const DeviceKind> device_kinds();
/// Adds a kind to those of this process, for its life. Call it before anything asks for devices. Throws invalid_input
/// for a name that a kind has, and when it comes too late. Thread-safe.
void register_device_kind(const DeviceKind& kind);
/// Takes a registered kind back, unless somebody has asked for devices meanwhile. Thread-safe.
void withdraw_device_kind(std::string_view name) noexcept;
/// Sets a function that registers kinds from outside this build. The first device_kinds() calls it once, before the
/// list is fixed; the function must not ask for devices.
void set_device_loader(void (*load)()) noexcept;
/// Null for an id that belongs to no kind, whether or not the kind has such a device: `cuda:7`. Opens nothing.
const DeviceKind* find_device_kind(std::string_view id);
/// Requires: a DeviceInfo of this process has this kind.
const DeviceKind& device_kind(std::string_view name);
/// DeviceKind::units_are_cores of a device; false for a kind that this process does not have, of a device described in
/// a file.
bool units_are_cores(const DeviceInfo& device);
/// The same of an id, `cpu:0`, or of the first of several; false for an id of no kind.
bool units_are_cores(std::string_view id);
/// Returns the image of a kernel for a kind of device: one of the build's, else the one that the kind brings; null:
/// there is none. Requires as device_kind().
const void* kernel_image(std::span<const KernelImage> built, std::string_view kernel, std::string_view kind);

}  // namespace attune
