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

/// A kernel that a kind of device brings, because the build makes no images for the kind.
struct KindKernel {
  std::string_view name;        ///< `attune_gemm_reference`, `attune_compare`, `attune_fill_operand`
  const void* image = nullptr;  ///< For Device::load().
};

/// Lowest rates for computing references on a kind of device. Deadlines use them.
struct ReferenceRates {
  double flops_per_s = 2e9;    ///< For one core of the host: a reference's fast path at 2.0 GHz.
  double bytes_per_s = 1.6e9;  ///< In total: operands are filled, outputs compared.
};

/// A kind of device, described as data. Each folder `device/<kind>/` registers one in `void
/// register_<kind>_devices(std::vector<DeviceKind>&)`.
struct DeviceKind {
  std::string_view name;
  std::string_view prefix{};                    ///< Prefix of its ids: `cpu` of `cpu:0`; empty: the name.
  std::vector<DeviceInfo> (*list)() = nullptr;  ///< Cheap; empty without devices of this kind.
  /// Opens an id that list() returned. `max_units`: see open_device().
  std::unique_ptr<Device> (*open)(std::string_view id, int64_t max_units) = nullptr;
  /// Clock limits of a device that list() returned; null: the driver reports none. Any process and thread may call it.
  /// Throws nothing.
  ClockState (*clock_state)(std::string_view id) = nullptr;
  DeviceNumbers numbers = DeviceNumbers::devices;
  Timing timing = Timing::events;  ///< How launches are timed, if their plans allow it.
  ContestConstants contest{};      ///< Found by experiment on such devices (docs/measurement.md).
  size_t max_open_problems = 2;    ///< Problems that one executor keeps open.
  /// Minimum alignment in bytes of applications' allocations in its memory: operands are timed at it. The default is
  /// PyTorch's on a CPU.
  uint32_t allocation_alignment = 64;
  double load_deadline_s = 60;  ///< Time allowed to prepare a candidate.
  double run_deadline_s = 2;    ///< Minimum time allowed for a launch.
  ReferenceRates reference{};
  /// Whether its units are cores of the host. Its kernels then run on the calling thread and on other threads of the
  /// process, whose thread limit is the number of units, and references are computed on them.
  bool units_are_cores = false;
  /// Whether compilers may run during measurements: on devices that share no processor with them.
  bool compiles_beside_measuring = false;
  /// Worker processes that a run has for one device. They prepare candidates in parallel, and one samples while the
  /// others leave the device idle (SharedDevice). One worker if the mere presence of others would disturb a sample.
  uint32_t default_workers = 1, max_workers = 1;
  /// Memory of the device that a worker takes before it measures anything; 0: workers share a processor with the
  /// device. If above 0, and a small part of the device's memory, a second worker stands by.
  uint64_t idle_worker_bytes = 0;
  /// Memory that a candidate needs besides the operands: its kernels, its workspace and what its library allocates.
  uint64_t plan_bytes = 0;
  /// Kernels for references (ReferenceKernel::name), for comparison and for the fill of operands. The host does the
  /// work of missing kernels, up to kMaxReferenceFlops.
  std::span<const KindKernel> kernels{};
  /// Environment variables that its driver reads and workers inherit. A name that ends in `_` is a prefix.
  std::span<const std::string_view> variables{};
  /// Environment variable that names the visible devices of the kind. `visible_name` returns the value that makes a
  /// device of list() the only visible one; an empty value: no value does that. Workers see only their device.
  std::string_view visibility_variable{};
  std::string (*visible_name)(std::string_view id) = nullptr;
  /// PCI address of a device of list(), `0000:3b:00.0`; null: it has none. Workers run on the cores near it.
  std::string (*pci_address)(std::string_view id) = nullptr;
  /// Describes the current users of a device of list() as a clause (`2 processes use it`); empty if idle. Throws
  /// unavailable if that is unknown. Null: usage is unknown, so programs share such devices.
  std::string (*use_of)(std::string_view id) = nullptr;
  /// Free memory of a device of list(), without opening it. Throws unavailable if that is unknown. Null: not asked.
  uint64_t (*free_bytes)(std::string_view id) = nullptr;
  /// Whether a command without --devices works on such devices, not on the host.
  bool precedes_host = false;
};

/// Kinds of this build, then the registered ones, in that order. Fixed at the first call.
std::span<const DeviceKind> device_kinds();
/// Adds a kind to this process, for its life. Call it before the first use of a device. Throws invalid_input for a name
/// that another kind has, and when called too late. Thread-safe.
void register_device_kind(const DeviceKind& kind);
/// Removes a registered kind, unless device_kinds() has been called since. Thread-safe.
void withdraw_device_kind(std::string_view name) noexcept;
/// Sets a function that registers kinds from outside this build. The first device_kinds() calls it once, before the
/// list is fixed; the function must not use devices.
void set_device_loader(void (*load)()) noexcept;
/// Returns the kind of an id such as `cuda:7`, even if this machine has no such device; null if no kind has such ids.
/// Opens nothing.
const DeviceKind* find_device_kind(std::string_view id);
/// Requires: a DeviceInfo of this process has this kind.
const DeviceKind& device_kind(std::string_view name);
/// DeviceKind::units_are_cores of a device; false for a kind that this process lacks, as of a device described in a
/// file.
bool units_are_cores(const DeviceInfo& device);
/// The same of an id, `cpu:0`, or of the first of several; false for an id of no kind.
bool units_are_cores(std::string_view id);
/// Returns the image of a kernel for a kind of device: the build's, else the kind's own; null if there is none.
/// Requires as device_kind().
const void* kernel_image(std::span<const KernelImage> built, std::string_view kernel, std::string_view kind);

}  // namespace attune
