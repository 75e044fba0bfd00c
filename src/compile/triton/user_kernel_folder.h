// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compile/triton/user_kernel.h"

namespace attune {

/// Names of the kernels that a search tries, separated by commas: `--kernel` sets it.
inline constexpr const char* kUserKernelsVariable = "ATTUNE_TRITON_KERNELS";

/// `triton` in the state folder (home_location()): one file for each kernel, `<name>.json`. Empty where there is no
/// home folder.
std::filesystem::path user_kernel_folder();
/// Writes a kernel's file (0600), unless it is there. Returns the kernel's name. Throws like
/// write_file_atomically(), and invalid_input where the file cannot be trusted.
std::string store_user_kernel(const UserKernel& kernel);

struct StoredKernel {
  std::string name;
  std::shared_ptr<const UserKernel> kernel;  ///< Null: the file cannot be used.
  std::string why;                           ///< A clause; empty: it can.
};
/// The kernels of the folder by name. A file that others could have written, or whose content does not have the hash of
/// its name, is not used. Files that have not changed are read once. Thread-safe.
std::vector<StoredKernel> stored_user_kernels();
/// One of them; `why` names the folder.
StoredKernel stored_user_kernel(std::string_view name);

/// Names in kUserKernelsVariable.
std::vector<std::string> chosen_user_kernels();

}  // namespace attune
