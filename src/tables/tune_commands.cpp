// SPDX-License-Identifier: MIT
#include "tables/tune_commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "dispatch/table/table_sources.h"
#include "formats/csv/untuned_table.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

/// Quotes a word of a command line for a shell.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+=@%-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Returns the table that new rows belong to; empty: the family's default file.
std::string output_for(const FamilySpec& family, std::span<const Table> named) {
  if (named.empty()) {
    const auto sources = table_sources(family);
    return sources.variable.empty() || sources.files.empty() ? "" : sources.files.front().file.string();
  }
  const auto own =
      std::find_if(named.begin(), named.end(), [&](const Table& table) { return table.family().op == family.op; });
  return own == named.end() ? std::string(family.default_file) : own->documents().front().name();
}

}  // namespace

std::vector<std::string> tune_commands(const FamilySpec& family, const TuneCommandInputs& inputs) {
  std::vector<std::string> commands;
  std::error_code missing;
  fs::path input = inputs.captures.front();
  if (fs::is_directory(input, missing)) input /= untuned_file_name(family);
  if (inputs.captures.size() > 1 || !fs::exists(input, missing)) {
    input = untuned_file_name(family);
    std::string merge = fmt::format("attune capture merge -o {} --op {}", input.string(), family.op);
    for (const fs::path& source : inputs.captures) merge += " " + shell_word(source.string());
    commands.push_back(merge);
  }
  std::string tune = fmt::format("attune tune -i {} --op {}", shell_word(input.string()), family.op);
  if (const std::string output = output_for(family, inputs.named_tables); !output.empty())
    tune += " -o " + shell_word(output);
  const DeviceChoice& device = inputs.device;
  if (!device.ids.empty()) tune += " --devices " + shell_word(device.ids);
  if (inputs.require != Requirement::none) tune += fmt::format(" --require {}", text(inputs.require));
  if (device.threads > 0) tune += fmt::format(" --threads {}", device.threads);
  commands.push_back(tune);
  return commands;
}

std::vector<std::string> tune_commands(std::span<const CalledShape> shapes, const TuneCommandInputs& inputs) {
  std::vector<std::string> commands;
  for (const FamilySpec& family : families()) {
    const auto is_its = [&](const CalledShape& shape) { return shape.problem.op() == family.op; };
    if (!family.tunable || std::none_of(shapes.begin(), shapes.end(), is_its)) continue;
    for (std::string& command : tune_commands(family, inputs)) commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace attune
