// SPDX-License-Identifier: MIT
#include "report/document/report_output.h"

#include <array>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace attune {

bool begins_as_report(std::string_view text) {
  constexpr std::array<std::string_view, 4> kBeginnings = {
      "# Attune: tuning", "{\n \"version\": 1,\n \"ending\": ", "{\n \"version\": 1,\n \"num_runs\": ",
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"attune\""};
  for (const std::string_view beginning : kBeginnings) {
    if (text.starts_with(beginning)) return true;
  }
  if (!text.starts_with("<!DOCTYPE html>\n")) return false;
  return text.find("<title>Attune report</title>") < 1000 ||
         text.find("<title>Attune difference of tables</title>") < 1000;
}

void check_report_output(const std::filesystem::path& file) {
  check_output(file);
  std::error_code missing;
  if (!std::filesystem::is_regular_file(file, missing) || std::filesystem::file_size(file, missing) == 0) return;
  std::string beginning(2000, '\0');
  beginning.resize(FileReader(file).read(beginning));
  if (!begins_as_report(beginning))
    fail(ErrorCode::invalid_input, "the file exists and does not hold a report, name another: '{}'",
         shown(file.string(), 500));
}

}  // namespace attune
