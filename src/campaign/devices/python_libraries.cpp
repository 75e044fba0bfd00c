// SPDX-License-Identifier: MIT
#include "campaign/devices/python_libraries.h"

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "dispatch/plans/attune_program.h"
#include "process/run_command.h"

namespace attune {
namespace {

/// Prints the folders of PyTorch's CUDA libraries, joined by colons, and imports nothing. Wheels for CUDA 12 have a
/// package for each library, those for CUDA 13 one for all; other builds bring the libraries in torch/lib.
constexpr const char* kScript = R"(
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
  const CommandResult result = run_command(command, kDeadline);
  const size_t mark = result.output.rfind(kMark);
  if (!result.status.ok() || mark == std::string::npos)
    fail(ErrorCode::invalid_input, "--libraries-of expects a Python program, and '{}' {}: {}", program.string(),
         result.status.describe(), shown(trim(result.output)));
  const std::string folders(trim(result.output.substr(mark + kMark.size())));
  if (folders.empty())
    fail(ErrorCode::invalid_input,
         "'{}' has no package with cuBLASLt, install PyTorch for CUDA there or leave --libraries-of out",
         program.string());
  ::setenv("ATTUNE_LIBRARIES", folders.c_str(), 1);
}

}  // namespace attune
