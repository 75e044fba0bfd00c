// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string_view>

#include "base/descriptor.h"

namespace attune {

/// Sends the output of this process and its children (standard output and error) to the end of a file, for its life.
/// The steps of a pipeline's run print as their commands do. One object at a time, and no other thread prints while one
/// is made or destroyed.
class OutputLog {
 public:
  /// Throws io if the file cannot be written.
  explicit OutputLog(const std::filesystem::path& file);
  ~OutputLog();
  OutputLog(const OutputLog&) = delete;
  OutputLog& operator=(const OutputLog&) = delete;

  /// Prints a line to the file and to the original standard error.
  void say(std::string_view line) const;
  /// Prints a line that is already in the file to the original standard error.
  void repeat(std::string_view line) const;

 private:
  Descriptor output_, error_;  ///< As they were.
};

}  // namespace attune
