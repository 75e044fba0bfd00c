// SPDX-License-Identifier: MIT
#include "campaign/devices/python_libraries.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "dispatch/plans/attune_program.h"
#include "process/run_command.h"

namespace attune {
namespace {

/// Prints the folders of PyTorch's CUDA libraries, joined by colons, and imports nothing. Wheels for CUDA 12 have a
/// package for each library, those for CUDA 13 one for all; other builds bring the libraries in torch/lib.
constexpr const char* kScript = R"(
import sys
sys.path.pop(0)  # The working folder, where a program that is started as such finds no packages.
import importlib.util, pathlib
found = []
for package, folders in (("nvidia", ("cu13/lib", "cu12/lib", "cublas/lib")), ("torch", ("lib",))):
    spec = importlib.util.find_spec(package)
    for root in (spec.submodule_search_locations or ()) if spec else ():
        found += [str(folder) for folder in (pathlib.Path(root) / name for name in folders) if any(folder.glob("libcublasLt.so.*"))]
print("folders=" + ":".join(found))
)";

}  // namespace

void use_libraries_of(const std::string& python) {
  constexpr Milliseconds kDeadline{20'000};
  constexpr std::string_view kMark = "folders=";
  const std::filesystem::path program =
      python.find('/') == std::string::npos ? find_on_path(python) : std::filesystem::absolute(python);
  if (program.empty() || !is_runnable_program(program))
    fail(ErrorCode::invalid_input, "--libraries-of expects a Python program, and this is none: '{}'", shown(python));
  ChildCommand command;
  command.arguments = {program.string(), "-B", "-c", kScript};
  command.environment = environment_copy();
  CommandResult result;
  try {
    result = run_command(command, kDeadline);
  } catch (const Error& error) {
    fail(ErrorCode::invalid_input, "--libraries-of expects a Python program, and '{}' is none: {}", program.string(),
         error.what());
  }
  const size_t mark = result.output.rfind(kMark);
  if (!result.status.ok() || mark == std::string::npos) {
    const std::string_view said = trim(result.output);
    fail(ErrorCode::invalid_input, "--libraries-of expects a Python program, and '{}' {}{}{}", program.string(),
         result.status.describe(), said.empty() ? "" : ": ", shown(said));
  }
  const size_t begin = mark + kMark.size();
  const std::string folders(
      trim(std::string_view(result.output).substr(begin, result.output.find('\n', begin) - begin)));
  for (const std::string_view folder : split(folders, ':')) {
    std::error_code error;
    if (!folders.empty() && !(folder.starts_with('/') && std::filesystem::is_directory(folder, error)))
      fail(ErrorCode::invalid_input, "--libraries-of: '{}' names a folder of libraries that is none: '{}'",
           program.string(), shown(folder));
  }
  if (folders.empty())
    fail(ErrorCode::invalid_input,
         "'{}' has no package with cuBLASLt, install PyTorch for CUDA there or leave --libraries-of out",
         program.string());
  ::setenv("ATTUNE_LIBRARIES", folders.c_str(), 1);
}

}  // namespace attune
