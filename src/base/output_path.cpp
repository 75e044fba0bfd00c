// SPDX-License-Identifier: MIT
#include "base/output_path.h"

#include "base/error.h"
#include "base/file.h"

namespace attune {

void check_output(const std::filesystem::path& path) {
  try {
    check_writable(path);
  } catch (const Error& error) {
    fail(ErrorCode::invalid_input, "{}", error.what());
  }
}

void check_output_folder(const std::filesystem::path& path) {
  std::filesystem::path folder = std::filesystem::absolute(path);
  // A link that leads nowhere is there: no folder can be made in its place.
  while (!std::filesystem::exists(std::filesystem::symlink_status(folder))) folder = folder.parent_path();
  if (!std::filesystem::is_directory(folder))
    fail(ErrorCode::invalid_input, "expected a folder, got a file, name another: '{}'", folder.string());
}

}  // namespace attune
