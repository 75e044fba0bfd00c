// SPDX-License-Identifier: MIT
#include "torch_operators.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/hash.h"
#include "base/library/library_file.h"
#include "base/library/separate_library.h"
#include "base/locations.h"
#include "base/trusted_path.h"
#include "device/core_binding.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  fail(ErrorCode::unavailable,
       "{} does not name a library of PyTorch's operators ({}), let `python3 -m attune.torch` make one: '{}'",
       kOperatorsVariable, why, file);
}

void* open_library(const std::string& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) refuse(file, "it is no regular file");  // A FIFO would wait for a writer.
  if (const auto why = why_not_trusted(file, code_file())) refuse(file, *why);
  if (const std::string flaw = flaw_of_library(file); !flaw.empty()) refuse(file, flaw);
  const UnboundThread loading;
  std::string reason;
  void* const library = open_separately(file, reason);
  if (library == nullptr) refuse(file, reason);
  return library;
}

}  // namespace

TorchLibrary open_torch_library(const std::string& file) {
  void* const library = open_library(file);
  const auto operators = reinterpret_cast<python::TorchOperatorsFunction>(::dlsym(library, "attune_torch_operators"));
  if (operators == nullptr) refuse(file, "it has no attune_torch_operators()");
  const python::TorchOperators* const all = operators();
  if (all->interface != python::kOperatorInterface) refuse(file, "it was made for another version of Attune");
  std::error_code error;
  const auto bytes = fs::file_size(all->file, error);
  const std::string build = fmt::format("{} {}", error ? 0 : bytes, all->config);
  return {all, fmt::format("{}.{}", all->version, hash128(build).hex().substr(0, 8))};
}

}  // namespace attune
