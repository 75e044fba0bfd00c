// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/device/instruction_sets.h"

namespace attune {

/// Facts about the first processor in /proc/cpuinfo. The kernel's flags replace cpuid: they omit extensions that the
/// operating system has not enabled (AMX, AVX-512 under some hypervisors).
struct CpuInfo {
  std::string model;     ///< Contains no commas.
  std::string identity;  ///< `GenuineIntel/6/207/2`: vendor, family, model and stepping; empty if unknown.
  std::set<std::string, std::less<>> flags;
};
CpuInfo parse_cpuinfo(std::string_view text);

/// Exactly the instruction sets that the processor's flags state: of level 0 on another architecture.
InstructionSets instruction_sets_of(const CpuInfo& cpu);

/// The architecture in the keys of records and tables: InstructionSets::gfx(); on another architecture the output of
/// uname -m.
std::string architecture_of(const CpuInfo& cpu);

/// Facts that kernels can depend on beyond the model's name, in one line: identity and enabled instruction sets.
std::string processor_of(const CpuInfo& cpu);

/// Upper bounds of a core's arithmetic per clock cycle, by data type name. Multiplication and addition count as two.
/// Assumes two vector units of the widest vectors and one AMX unit; a core with fewer is below the bound, never above:
///   fp32        2 units × lanes of 32 bits × 2 (FMA)
///   bf16, fp16  the same, since they are widened; twice that with AVX512-BF16 (VDPBF16PS) and AVX512-FP16
///   int8        2 units × lanes of 8 bits × 2, with and without VNNI: VPMADDUBSW multiplies as many bytes as
///               VPDPBUSD, which also adds up four products
///   AMX         a tile product takes 16 cycles: 16×16×32 of bf16 and fp16, 16×16×64 of int8 (Intel's optimization
///               reference manual: 1024 and 2048 operations a cycle)
/// All types of 8 and 4 bits have one bound, the highest of int8, bf16 and fp16. Their numbers are exact in one of
/// these (e2m1 doubled, in int8), so a right kernel may widen them. No processor sold has a unit that multiplies them
/// faster than int8. int32 and e8m0 have no bound. Flags decide, not the architecture's name, which leaves faster sets
/// open (InstructionSets::of).
std::map<std::string, double> flops_per_cycle(const CpuInfo& cpu);

}  // namespace attune
