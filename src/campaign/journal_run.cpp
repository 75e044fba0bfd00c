// SPDX-License-Identifier: MIT
#include "campaign/journal_run.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "attune/version.h"
#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/machine.h"
#include "base/text.h"
#include "campaign/devices/open_devices.h"

extern char** environ;

namespace attune {
namespace {

std::vector<std::string> command_line() {
  const std::string content = read_file("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (const std::string_view argument : split(content, '\0')) arguments.emplace_back(argument);
  if (!arguments.empty() && arguments.back().empty()) arguments.pop_back();  // The text after the last NUL is empty.
  return arguments;
}

/// Whether libraries or Attune read the variable. Journals may be shared, so names that suggest a secret are excluded.
bool is_of_interest(std::string_view variable) {
  static constexpr std::array<std::string_view, 13> kPrefixes = {"ATTUNE_", "AITER_", "OMP_",    "GOMP_", "OPENBLAS_",
                                                                 "BLIS_",   "MKL_",   "ONEDNN_", "DNNL_", "LIBXSMM_",
                                                                 "CUDA_",   "HIP_",   "MALLOC_"};
  static constexpr std::array<std::string_view, 7> kSecrets = {"TOKEN", "SECRET", "PASSW",  "CREDENTIAL",
                                                               "_KEY",  "AUTH",   "PRIVATE"};
  const auto starts = [&](std::string_view prefix) { return variable.starts_with(prefix); };
  const auto holds = [&](std::string_view word) { return variable.find(word) != std::string_view::npos; };
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), starts) &&
         std::none_of(kSecrets.begin(), kSecrets.end(), holds);
}

std::map<std::string, std::string> environment_of_interest() {
  std::map<std::string, std::string> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos && is_of_interest(text.substr(0, equals)))
      found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

RunBegin begin_of(const DeviceInfo& device, size_t num_problems) {
  return {.command = command_line(),
          .version = kVersion,
          .host = host_name(),
          .pid = ::getpid(),
          .device = device.key(),
          .fingerprint = device.fingerprint(),
          .description = device.description(),
          .environment = environment_of_interest(),
          .num_problems = num_problems};
}

}  // namespace

JournalRun::JournalRun(Journal& journal, const DeviceInfo& device, size_t num_problems)
    : journal_(&journal), number_(journal.begin_run(begin_of(device, num_problems))) {}

JournalRun::JournalRun(const std::string& journal_option, const DeviceInfo& device) {
  std::error_code ignored;
  if (journal_option.empty() && !std::filesystem::exists(journal_location().path, ignored)) return;
  try {
    own_ = open_sql_journal(journal_file(journal_option));
    number_ = own_->begin_run(begin_of(device, 0));
    journal_ = own_.get();
  } catch (const Error& error) {
    if (!journal_option.empty()) throw;
    print_line(stderr, fmt::format("note: this run is not recorded: {}", error.what()));
  }
}

JournalRun::~JournalRun() {
  constexpr int kUnknown = -1;
  try {
    end("failed", kUnknown);
  } catch (const std::exception&) {
    // The error that ends the command is the one to report.
  }
}

void JournalRun::end(std::string_view ending, int exit_status, const Versions& versions) {
  Journal* const journal = std::exchange(journal_, nullptr);
  if (journal == nullptr) return;
  const Entry entry = RunEnd{std::string(ending), exit_status, versions};
  journal->append({&entry, 1});
}

}  // namespace attune
