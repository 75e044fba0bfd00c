// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/dtype.h"
#include "core/device/instruction_sets.h"

namespace attune {

/// The 8-bit float of an architecture: e4m3fnuz on CDNA 3 (gfx940 to gfx942), whose matrix instructions have that one
/// alone, e4m3fn elsewhere.
DType fp8_of(std::string_view gfx) noexcept;

/// Facts about one device, as data. `gfx` and `num_units` determine the winner; the rest is for people, rules
/// (`device.<fact>`) and the environment of a record.
struct DeviceInfo {
  std::string id;         ///< `cpu:0`, `cuda:1`, `fake:0`: the form that `--devices` accepts.
  std::string kind;       ///< `host`, `cuda`, `hip`, `fake`.
  std::string gfx;        ///< Architecture: `gfx942`, `sm_90`, `x86-64-v4+bf16+amx`.
  int64_t num_units = 0;  ///< Multiprocessors; on a host the cores given to the device. `cu_num` in tables.
  std::string model;      ///< The vendor's name for it; no commas, blanks are kept.
  /// Details that the model's name leaves open, in one line. On a host: vendor, family, model, stepping and the enabled
  /// instruction sets, since "Intel(R) Xeon(R) Processor" in a virtual machine covers several generations.
  std::string processor;
  int64_t memory_bytes = 0;
  int64_t cache_bytes = 0;               ///< Last-level cache, as reported.
  std::map<std::string, int64_t> facts;  ///< For rules: `shared_bytes`, `l2_bytes` …
  /// By the name of the data type that is multiplied (Work::arithmetic), in GFLOP/s: an upper bound of the rate of
  /// every right kernel, those included that widen the operands first. Read with peak_of().
  std::map<std::string, double> peak_gflops;
  /// Read bandwidth for a working set that exceeds the caches: measured on a host, the memory's highest rate on a GPU;
  /// 0 if not known.
  double bandwidth_gbs = 0;

  /// The instruction sets that `gfx` states or implies. Cheap.
  InstructionSets instruction_sets() const noexcept { return InstructionSets::of(gfx); }
  /// The type that `fp8` stands for in a problem. Cheap.
  DType fp8() const noexcept { return fp8_of(gfx); }
  /// The stated peak of multiplications in a type, in GFLOP/s. Empty: none is stated, and no time is too short for the
  /// arithmetic.
  std::optional<double> peak_of(DType arithmetic) const;

  /// `x86-64-v4+bf16+amx/2`: the key of records and tables.
  std::string key() const { return gfx + "/" + std::to_string(num_units); }
  /// One line with everything that a kernel can depend on, without measured values: kind, architecture, units, model,
  /// processor, caches and other facts, and a GPU's memory in whole GiB (a host's is excluded). Driver and library
  /// versions are in `Versions`. Results of one fingerprint are never used for another.
  std::string description() const;
  /// Hash of description(), 32 hexadecimal digits; entries of the journal carry it.
  std::string fingerprint() const;
  bool operator==(const DeviceInfo&) const = default;
};

}  // namespace attune
