// SPDX-License-Identifier: MIT
#include "device/host/cpu_info.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/text.h"

namespace attune {
namespace {

bool has_all(const CpuInfo& cpu, std::initializer_list<std::string_view> flags) {
  return std::all_of(flags.begin(), flags.end(), [&](std::string_view flag) { return cpu.flags.contains(flag); });
}

bool has_any(const CpuInfo& cpu, std::initializer_list<std::string_view> flags) {
  return std::any_of(flags.begin(), flags.end(), [&](std::string_view flag) { return cpu.flags.contains(flag); });
}

/// x86-64 psABI levels; 0 on another instruction set. cpuinfo calls LZCNT `abm` and SSE3 `pni`.
int x86_level(const CpuInfo& cpu) {
  if (!cpu.flags.contains("lm")) return 0;
  if (!has_all(cpu, {"cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2"})) return 1;
  if (!has_all(cpu, {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"})) return 2;
  if (!has_all(cpu, {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) return 3;
  return 4;
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

std::string architecture_of(const CpuInfo& cpu) {
  const int level = x86_level(cpu);
  if (level == 0) {
    utsname names{};
    return uname(&names) == 0 ? names.machine : "unknown";
  }
  std::string name = level == 1 ? "x86-64" : "x86-64-v" + std::to_string(level);
  if (cpu.flags.contains("avx512_bf16"))
    name += "+bf16";
  else if (has_any(cpu, {"avx512_vnni", "avx_vnni"}))
    name += "+vnni";
  if (cpu.flags.contains("amx_bf16")) name += "+amx";
  return name;
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
  const int level = x86_level(cpu);
  // Two units × lanes × (multiply + add); other instruction sets: four units of 128 bits, as the widest Arm cores have.
  const double fp32 = level == 4 ? 64 : level == 3 || level == 0 ? 32 : 16;
  std::map<std::string, double> rates = {
      {"fp64", fp32 / 2}, {"fp32", fp32}, {"bf16", fp32}, {"fp16", fp32}, {"int8", 4 * fp32}};
  if (level == 0) rates["bf16"] = rates["fp16"] = 4 * fp32;
  if (cpu.flags.contains("avx512_bf16")) rates["bf16"] = 2 * fp32;
  if (cpu.flags.contains("avx512_fp16")) rates["fp16"] = 2 * fp32;
  // A tile product of 16×16×32 bf16 takes 16 cycles.
  if (cpu.flags.contains("amx_bf16")) rates["bf16"] = 1024;
  if (cpu.flags.contains("amx_fp16")) rates["fp16"] = 1024;
  if (cpu.flags.contains("amx_int8")) rates["int8"] = 2048;
  return rates;
}

}  // namespace attune
