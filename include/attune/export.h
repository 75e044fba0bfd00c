// SPDX-License-Identifier: MIT
#pragma once

/// Marks the symbols that libattune.so exports; C and C++. The linker's list is src/api/exports.map.
#if defined(__GNUC__)
#define ATTUNE_API __attribute__((visibility("default")))
#else
#define ATTUNE_API
#endif
