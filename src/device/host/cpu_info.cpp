// SPDX-License-Identifier: MIT
#include "device/host/cpu_info.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/text.h"

namespace attune {
namespace {

bool has_all(const CpuInfo& cpu, std::initializer_list<std::string_view> flags) {
  return std::all_of(flags.begin(), flags.end(), [&](std::string_view flag) { return cpu.flags.contains(flag); });
}

/// x86-64 psABI levels; 0 on another instruction set. cpuinfo calls LZCNT `abm` and SSE3 `pni`.
int x86_level(const CpuInfo& cpu) {
  if (!cpu.flags.contains("lm")) return 0;
  if (!has_all(cpu, {"cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2"})) return 1;
  if (!has_all(cpu, {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"})) return 2;
  if (!has_all(cpu, {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) return 3;
  return 4;
}

std::map<std::string, double> rates_of(double fp32, double bf16, double fp16, double int8) {
  std::map<std::string, double> rates = {{"fp64", fp32 / 2}, {"fp32", fp32}, {"bf16", bf16}, {"fp16", fp16}};
  for (const char* narrow : {"int8", "int4", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e2m1"})
    rates[narrow] = std::max({int8, bf16, fp16});
  return rates;
}

/// Four units of 128 bits, as the widest Arm cores have. Matrix products of bf16 (2×4·4×2, BFMMLA) are four times as
/// fast as FMA, of int8 (2×8·8×2, SMMLA) eight times.
std::map<std::string, double> arm_flops_per_cycle() {
  constexpr double kFp32 = 32;
  return rates_of(kFp32, 4 * kFp32, 4 * kFp32, 8 * kFp32);
}

}  // namespace

CpuInfo parse_cpuinfo(std::string_view text) {
  CpuInfo cpu;
  for (const std::string_view line : split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      if (!cpu.flags.empty()) break;  // The blank line after the first processor.
      continue;
    }
    const std::string_view field = trim(line.substr(0, colon)), value = trim(line.substr(colon + 1));
    if (field == "model name") cpu.model = value;
    if (field == "vendor_id" || field == "CPU implementer") cpu.identity = value;
    if (field == "cpu family" || field == "model" || field == "stepping" || field == "CPU part" ||
        field == "CPU variant")
      cpu.identity += "/" + std::string(value);
    if (field == "flags" || field == "Features") {
      for (const std::string_view flag : split(value, ' ')) {
        if (!flag.empty()) cpu.flags.emplace(flag);
      }
    }
  }
  std::erase(cpu.model, ',');
  return cpu;
}

InstructionSets instruction_sets_of(const CpuInfo& cpu) {
  using enum InstructionSet;
  static constexpr std::array<std::pair<std::string_view, InstructionSet>, 7> kFlags = {{{"avx_vnni", avx_vnni},
                                                                                         {"avx512_vnni", avx512_vnni},
                                                                                         {"avx512_bf16", avx512_bf16},
                                                                                         {"avx512_fp16", avx512_fp16},
                                                                                         {"amx_bf16", amx_bf16},
                                                                                         {"amx_int8", amx_int8},
                                                                                         {"amx_fp16", amx_fp16}}};
  InstructionSets sets(x86_level(cpu));
  if (sets.level() == 0) return sets;
  for (const auto& [flag, set] : kFlags) {
    if (cpu.flags.contains(flag)) sets.add(set);
  }
  return sets;
}

std::string architecture_of(const CpuInfo& cpu) {
  const InstructionSets sets = instruction_sets_of(cpu);
  if (sets.level() > 0) return sets.gfx();
  utsname names{};
  return uname(&names) == 0 ? names.machine : "unknown";
}

std::string processor_of(const CpuInfo& cpu) {
  static constexpr std::array<std::string_view, 7> kFamilies = {"sse", "ssse3", "avx", "fma", "f16c", "amx", "sve"};
  std::string text = cpu.identity;
  for (const std::string& flag : cpu.flags) {
    const auto starts = [&](std::string_view family) { return flag.starts_with(family); };
    if (std::any_of(kFamilies.begin(), kFamilies.end(), starts)) text += (text.empty() ? "" : " ") + flag;
  }
  return text;
}

std::map<std::string, double> flops_per_cycle(const CpuInfo& cpu) {
  using enum InstructionSet;
  const InstructionSets sets = instruction_sets_of(cpu);
  if (sets.level() == 0) return arm_flops_per_cycle();
  const double fp32 = sets.has(avx512) ? 64 : sets.has(avx2) ? 32 : 16;
  const double bf16 = sets.has(amx_bf16) ? 1024 : sets.has(avx512_bf16) ? 2 * fp32 : fp32;
  const double fp16 = sets.has(amx_fp16) ? 1024 : sets.has(avx512_fp16) ? 2 * fp32 : fp32;
  const double int8 = sets.has(amx_int8) ? 2048 : 4 * fp32;
  return rates_of(fp32, bf16, fp16, int8);
}

}  // namespace attune
