// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace attune {

/// Symbols that a 64-bit little-endian ELF file (shared object, cubin) exports: its dynamic symbols, or all global ones
/// of a file without a dynamic table. Empty for a file of another kind. Throws invalid_input when the file is
/// inconsistent.
std::optional<std::set<std::string, std::less<>>> exported_symbols(std::string_view file);

/// Bytes of machine code in such a file: the sizes of its executable sections. Nothing for a file of another kind.
/// Throws like exported_symbols().
std::optional<uint64_t> code_bytes(std::string_view file);

/// Whether the file has the header of a 64-bit little-endian ELF shared object.
bool is_shared_object(std::string_view file) noexcept;

/// Architecture of a cubin, an ELF file for one of NVIDIA's GPUs: 90 of `sm_90` and `sm_90a`. Nothing for a file of
/// another kind. Source: EF_CUDA_SM and EF_CUDA_SM_MASK of LLVM's ELF.h; a cubin of CUDA 13 has ABI version 8.
std::optional<uint32_t> cubin_architecture(std::string_view file) noexcept;

/// The facts in the report of NVIDIA's assembler (`ptxas -v`): `registers`, `spills` (bytes stored and loaded) and
/// `shared_bytes` (static), of the only or the largest kernel. Facts that the report lacks are missing.
std::map<std::string, std::string> ptxas_report(std::string_view log);

}  // namespace attune
