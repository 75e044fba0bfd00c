// SPDX-License-Identifier: MIT
#pragma once
#include "fleet/exports/session_export.h"

namespace attune {

/// Options of `attune export`, which `attune tuna export_db` has, too.
struct ExportFlags {
  SessionExportOptions options;
  bool json = false;
};

/// Writes the files. Prints their content and each configuration that they lack. Returns 1 if they lack one.
int run_export(const ExportFlags& flags);

}  // namespace attune
