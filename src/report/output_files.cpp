// SPDX-License-Identifier: MIT
#include "report/output_files.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

fs::path whole(const fs::path& path) {
  std::error_code ignored;
  auto canonical = fs::weakly_canonical(fs::absolute(path), ignored);
  return ignored ? fs::absolute(path) : canonical;
}

/// The file itself and its companions.
std::vector<std::string> taken_by(const OutputFile& output, std::span<const std::string_view> endings) {
  std::vector<std::string> taken = {whole(output.path).string()};
  for (const std::string_view ending : endings) taken.push_back(taken.front() + std::string(ending));
  return taken;
}

void check(const OutputFile& one, const OutputFile& other, std::span<const std::string_view> endings) {
  const std::string path = whole(one.path).string();
  const auto taken = taken_by(other, endings);
  for (size_t i = 0; i < taken.size(); ++i) {
    std::error_code ignored;
    if (path != taken[i] && !fs::equivalent(path, taken[i], ignored)) continue;
    if (i == 0)
      fail(ErrorCode::invalid_input, "{} and {} name the same file, name two: '{}'", other.flag, one.flag,
           shown(one.path.string(), 500));
    fail(ErrorCode::invalid_input, "{} names a file that is kept beside the one of {}, name another: '{}'", one.flag,
         other.flag, shown(one.path.string(), 500));
  }
}

}  // namespace

void check_distinct_outputs(std::span<const OutputFile> outputs, const OutputFile& journal) {
  constexpr std::string_view kOfOutputs[] = {".lock"}, kOfJournal[] = {"-wal", "-shm", "-journal"};
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].path.empty()) continue;
    if (!journal.path.empty()) check(outputs[i], journal, kOfJournal);
    for (size_t j = 0; j < i; ++j) {
      if (outputs[j].path.empty()) continue;
      check(outputs[i], outputs[j], kOfOutputs);
      check(outputs[j], outputs[i], kOfOutputs);
    }
  }
}

}  // namespace attune
