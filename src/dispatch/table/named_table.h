// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "core/device_info.h"
#include "ops/family.h"

namespace attune {

/// Says why a file that a variable names must not replace other tables of the family.
struct NamedTableCheck {
  std::optional<std::string> why_not;  ///< A sentence: no such file, a shape list, another family's table, a torn file.
  bool has_rows = true;  ///< False: it has rows, but none that can serve the device. True for a header alone.
};

/// Checks a file by its columns and rows; its name says nothing. Reads rows up to the first that can serve `device`
/// (null: up to none). A row can serve if it is for this device, has a usable time and names a kernel of this program;
/// whether the kernel can run is known where it is made. Throws nothing of attune::Error.
NamedTableCheck check_named_table(const std::filesystem::path& file, const FamilySpec& family,
                                  const DeviceInfo* device);

}  // namespace attune
