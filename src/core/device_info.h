// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace attune {

/// Facts about one device, as data. What changes a winner is in `gfx` and `num_units`; the rest is for people,
/// rules (`device.<fact>`) and the environment of a record.
struct DeviceInfo {
  std::string id;         ///< `cpu:0`, `cuda:1`, `fake:0`: what `--devices` takes.
  std::string kind;       ///< `host`, `cuda`, `hip`, `fake`.
  std::string gfx;        ///< Architecture: `gfx942`, `sm_90`, `x86-64-v4+bf16+amx`.
  int64_t num_units = 0;  ///< Multiprocessors; on a host the cores given to the device. Tables call it `cu_num`.
  std::string model;      ///< As the vendor calls it; no commas, blanks are kept.
  /// What the model's name leaves open, in one line: on a host vendor, family, model, stepping and the instruction
  /// sets that are enabled, since a virtual machine's "Intel(R) Xeon(R) Processor" is several generations.
  std::string processor;
  int64_t memory_bytes = 0;
  int64_t cache_bytes = 0;               ///< Last level, as reported.
  std::map<std::string, int64_t> facts;  ///< For rules: `shared_bytes`, `l2_bytes` …
  std::map<std::string, double>
      peak_gflops;           ///< By data type name: an upper bound of the rate, for the roofline floor.
  double bandwidth_gbs = 0;  ///< Read bandwidth for a working set that exceeds the caches; 0 if not measured.

  /// `x86-64-v4+bf16+amx/2`: what records and tables are keyed by.
  std::string key() const { return gfx + "/" + std::to_string(num_units); }
  /// One line with everything that a kernel can depend on and nothing that is measured: kind, architecture, units,
  /// model, processor, caches and other facts, a GPU's memory in whole GiB (a host's is no part of it). Driver and
  /// library versions are `Versions`. Results of one fingerprint are never another's.
  std::string description() const;
  /// The hash of description(), 32 hexadecimal digits: what entries of the journal carry.
  std::string fingerprint() const;
  bool operator==(const DeviceInfo&) const = default;
};

}  // namespace attune
