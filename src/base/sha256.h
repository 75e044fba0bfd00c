// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace attune {

/// SHA-256 as 64 lower-case hexadecimal digits: for content that may have been damaged or exchanged. About 1.4 GB/s
/// where the processor has the instructions.
std::string sha256(std::string_view bytes);
/// Of a file's content. Throws as FileReader.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace attune
