// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace attune {

/// Facts about the first processor in /proc/cpuinfo. The kernel's flags are used instead of cpuid: they omit extensions
/// that the operating system has not enabled (AMX, AVX-512 under some hypervisors).
struct CpuInfo {
  std::string model;     ///< Contains no commas.
  std::string identity;  ///< `GenuineIntel/6/207/2`: vendor, family, model and stepping; empty if unknown.
  std::set<std::string, std::less<>> flags;
};
CpuInfo parse_cpuinfo(std::string_view text);

/// The architecture in the keys of records and tables: the psABI level (`x86-64-v2`, `-v3`, `-v4`; `x86-64` below),
/// then, in this order, extensions that change a winner and are not implied by an earlier suffix:
///   `+bf16`  AVX512-BF16 (implies VNNI)
///   `+vnni`  AVX512-VNNI or AVX-VNNI, where there is no BF16
///   `+amx`   AMX-BF16 (comes with AVX512-FP16 in every processor sold so far)
/// For another instruction set, the name that uname -m prints.
std::string architecture_of(const CpuInfo& cpu);

/// Facts that kernels can depend on beyond the model's name, in one line: identity and enabled instruction sets.
std::string processor_of(const CpuInfo& cpu);

/// Upper bounds of a core's arithmetic per clock cycle, multiplication and addition counted apart, by data type name.
/// Two FMA units of the widest vectors, one AMX unit; a core that has less is below the bound, never above.
std::map<std::string, double> flops_per_cycle(const CpuInfo& cpu);

}  // namespace attune
