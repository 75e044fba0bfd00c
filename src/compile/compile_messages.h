// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "compile/compiler.h"

namespace attune {

// Payloads of frames between a pool and a helper: the task, and the output of the library. Decoding throws
// invalid_input for any other content.
std::string to_payload(const CompileTask& task);
std::string to_payload(const LibraryOutput& output);
CompileTask compile_task_from(std::string_view payload);
LibraryOutput library_output_from(std::string_view payload);

}  // namespace attune
