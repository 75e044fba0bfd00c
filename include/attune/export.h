// SPDX-License-Identifier: MIT
#pragma once

/// Marks what libattune.so offers; C and C++. The linker's list is src/api/exports.map.
#if defined(__GNUC__)
#define ATTUNE_API __attribute__((visibility("default")))
#else
#define ATTUNE_API
#endif
