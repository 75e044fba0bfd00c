// SPDX-License-Identifier: MIT
#include "process/child_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/variable.h"

namespace attune {

namespace fs = std::filesystem;

std::string program_search_path() {
  const char* path = variable_or_null("PATH");
  return path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
}

bool is_runnable_program(const fs::path& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(file.c_str(), X_OK) == 0;
}

fs::path find_on_path(std::string_view name) {
  const std::string path = program_search_path();
  for (const std::string_view folder : split(path, ':')) {
    if (!folder.starts_with('/')) continue;
    fs::path file = fs::path(folder) / name;
    if (is_runnable_program(file)) return file;
  }
  return {};
}

}  // namespace attune
