// SPDX-License-Identifier: MIT
#include "core/binary.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace attune {
namespace {

/// Writes each text after its length, so that different lists of texts never have the same key.
void add(std::string& key, std::string_view text) { key += fmt::format("{}:{}\n", text.size(), text); }

void add(std::string& key, const std::vector<std::string>& texts) {
  key += fmt::format("{}\n", texts.size());
  for (const std::string& text : texts) add(key, text);
}

}  // namespace

std::string CompileTask::recipe() const {
  std::string key = "recipe 1\n";
  add(key, compiler);
  add(key, source);
  add(key, arch);
  add(key, options);
  add(key, entries);
  return hash128(key).hex();
}

std::vector<BinaryIdentity> identities(std::span<const Binary> binaries) {
  std::vector<BinaryIdentity> all;
  for (const Binary& binary : binaries) all.push_back(binary.identity());
  return all;
}

std::vector<BinaryMetadata> compiler_reports(std::span<const Binary> binaries) {
  std::vector<BinaryMetadata> reports;
  bool is_any = false;
  for (const Binary& binary : binaries) {
    BinaryMetadata& report = reports.emplace_back(binary.metadata);
    for (const char* of_the_task : {"candidate", "compiler", "command", "options", "entries"})
      report.erase(of_the_task);
    is_any = is_any || !report.empty();
  }
  if (!is_any) reports.clear();
  return reports;
}

}  // namespace attune
