// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "compile/compiler.h"

namespace attune {

// What a pool and a helper say to each other, as payloads of frames: the task, and what the library made of it.
// Decoding throws invalid_input for anything else.
std::string to_payload(const CompileTask& task);
std::string to_payload(const LibraryOutput& output);
CompileTask compile_task_from(std::string_view payload);
LibraryOutput library_output_from(std::string_view payload);

}  // namespace attune
