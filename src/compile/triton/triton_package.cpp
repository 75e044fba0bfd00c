// SPDX-License-Identifier: MIT
#include "compile/triton/triton_package.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.h"
#include "base/library/embedded_file.h"
#include "base/mutex.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "base/variable.h"
#include "process/run_command.h"
#include "process/temporary_folder.h"

namespace attune {

std::span<const EmbeddedFile> triton_scripts();  // Generated.

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kTestedVersions = {"3.6", "3.9"};
constexpr Milliseconds kFindDeadline{20'000};  // A cold disk; a warm one takes 60 ms.
constexpr uint64_t kFindBytes = 64 << 10;
constexpr const char* kVendorPython = "/usr/bin/python3";
constexpr std::string_view kRemedy =
    "run `tools/setup --with-triton`, or `pip install triton` and set ATTUNE_PYTHON to that Python";

/// A program and a folder with packages for it; empty: its own.
struct PythonChoice {
  std::string program, packages;
  auto operator<=>(const PythonChoice&) const = default;
};

PythonChoice chosen_python() {
  if (const char* named = variable_or_null("ATTUNE_PYTHON")) {
    const bool is_name = std::string_view(named).find('/') == std::string_view::npos;
    const fs::path program = is_name ? find_on_path(named) : fs::path(named);
    if (!program.is_absolute() || !is_runnable_program(program))
      fail(ErrorCode::unavailable,
           "ATTUNE_PYTHON expects a Python program, an absolute path or a name on PATH, got '{}'", shown(named));
    return {program.string(), {}};
  }
  const fs::path vendor = fs::path(ATTUNE_VENDOR_FOLDER) / "triton";
  std::error_code ignored;
  if (fs::is_directory(vendor / "triton", ignored) && is_runnable_program(kVendorPython) &&
      !why_not_trusted(vendor / "triton"))
    return {kVendorPython, vendor.string()};
  const fs::path program = find_on_path("python3");
  if (program.empty()) fail(ErrorCode::unavailable, "there is no python3 on PATH to run Triton: {}", kRemedy);
  return {program.string(), {}};
}

/// Letters, digits, and what a version has besides.
bool is_safe_name(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+_-";
  return text.size() >= 3 && text.size() <= 100 && text.find_first_not_of(kAllowed) == text.npos && text[0] != '.';
}

/// A Python that did not come to its end may do so another time: on a cold disk, without memory.
class NoAnswer : public Error {
 public:
  using Error::Error;
};

TritonPackage found_package(const PythonChoice& choice) {
  const TemporaryFolder folder("triton");
  ChildCommand command{
      .arguments = {choice.program, "-I", "-B", "-c", std::string(triton_script("find_package.py")), choice.packages},
      .environment = separate_python_environment(folder.path().string()),
      .folder = folder.path()};
  // The program may be a script that looks for the real one.
  command.environment["PATH"] = program_search_path();
  const CommandResult result = run_command(std::move(command), kFindDeadline, kFindBytes);
  const auto answer = nlohmann::json::parse(marked_line(result.output, "\nattune-triton: "), nullptr, false);
  if (!answer.is_object()) {
    const std::string why =
        fmt::format("Python does not tell which Triton it has (it {}), set ATTUNE_PYTHON to another: '{}'{}",
                    result.status.describe(), choice.program,
                    trim(result.output).empty() ? "" : ": " + shown(trim(result.output).substr(0, 200)));
    if (result.status.end != WaitStatus::End::exited) throw NoAnswer(ErrorCode::unavailable, why);
    fail(ErrorCode::unavailable, "{}", why);
  }
  try {
    if (!answer.contains("flaw")) {
      TritonPackage package{.python = answer.at("python"),
                            .packages = choice.packages,
                            .folder = answer.at("folder"),
                            .version = answer.at("version"),
                            .hash = answer.at("hash")};
      // They become a command, and a folder of the kernel cache.
      const bool is_usable = fs::path(package.python).is_absolute() && fs::path(package.folder).is_absolute() &&
                             is_safe_name(package.version) && is_safe_name(package.hash);
      if (is_usable) return package;
      fail(ErrorCode::unavailable, "Python does not tell which Triton it has, set ATTUNE_PYTHON to another: '{}'",
           choice.program);
    }
    if (answer.at("flaw") == "absent")
      fail(ErrorCode::unavailable, "Python has no package triton, {}: '{}'", kRemedy, choice.program);
    fail(ErrorCode::unavailable,
         "the package triton is {}, install it again (pip install --force-reinstall triton): '{}'",
         answer.at("flaw").get<std::string>(), shown(answer.value("file", choice.program)));
  } catch (const nlohmann::json::exception&) {
    fail(ErrorCode::unavailable, "Python does not tell which Triton it has, set ATTUNE_PYTHON to another: '{}'",
         choice.program);
  }
}

}  // namespace

TritonPackage triton_package() {
  struct Answer {
    TritonPackage package;
    std::string failure;
  };
  static Mutex mutex;
  static std::map<PythonChoice, Answer>& known = *new std::map<PythonChoice, Answer>;  // Threads may end after main().
  const PythonChoice choice = chosen_python();
  const Lock lock(mutex);
  auto found = known.find(choice);
  if (found == known.end()) {
    Answer answer;
    try {
      answer.package = found_package(choice);
    } catch (const NoAnswer&) {
      throw;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) throw;
      answer.failure = error.what();
    }
    found = known.emplace(choice, std::move(answer)).first;
  }
  if (!found->second.failure.empty()) fail(ErrorCode::unavailable, "{}", found->second.failure);
  return found->second.package;
}

std::string_view marked_line(std::string_view output, std::string_view mark) noexcept {
  const size_t at = output.rfind(mark);
  if (at == output.npos) return {};
  output.remove_prefix(at + mark.size());
  return output.substr(0, output.find('\n'));
}

bool is_tested_triton(std::string_view version) noexcept {
  return std::any_of(kTestedVersions.begin(), kTestedVersions.end(), [&](std::string_view tested) {
    return version.starts_with(tested) && version.substr(tested.size(), 1) == ".";
  });
}

std::map<std::string, std::string> separate_python_environment(const std::string& folder) {
  return {{"PATH", "/usr/bin:/bin"},
          {"LANG", "C.UTF-8"},
          {"HOME", folder},
          {"TMPDIR", folder},
          {"XDG_CACHE_HOME", folder + "/cache"}};
}

std::string_view triton_script(std::string_view name) {
  for (const EmbeddedFile& script : triton_scripts()) {
    if (script.name == name) return script.bytes;
  }
  fail(ErrorCode::internal, "this build has no such script: '{}'", name);
}

}  // namespace attune
