// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string_view>

#include "base/descriptor.h"

namespace attune {

/// Sends what this process and its children print on standard output and error to the end of a file, for its life. The
/// steps of a pipeline's run print as the commands do that they are. One object at a time, and no other thread prints
/// while one is made or destroyed.
class OutputLog {
 public:
  /// Throws io if the file cannot be written.
  explicit OutputLog(const std::filesystem::path& file);
  ~OutputLog();
  OutputLog(const OutputLog&) = delete;
  OutputLog& operator=(const OutputLog&) = delete;

  /// Prints a line in the file, and on what was standard error before.
  void say(std::string_view line) const;
  /// Prints a line that the file has already on what was standard error before.
  void repeat(std::string_view line) const;

 private:
  Descriptor output_, error_;  ///< As they were.
};

}  // namespace attune
