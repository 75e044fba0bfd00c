// SPDX-License-Identifier: MIT
#include "compile/triton/user_kernel_folder.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/locations.h"
#include "base/mutex.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "base/variable.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxKernelFileBytes = 16 << 20;
constexpr unsigned kKernelFileMode = 0600;
constexpr const char* kKernelFileEnding = ".json";

StoredKernel read_kernel(const std::string& name, const fs::path& file) {
  StoredKernel stored{.name = name, .kernel = nullptr, .why = {}};
  try {
    if (const auto why = why_not_trusted(file)) {
      stored.why = *why;
      return stored;
    }
    auto kernel = std::make_shared<const UserKernel>(UserKernel::from_json(read_file(file, kMaxKernelFileBytes)));
    check_gemm_kernel(*kernel);
    if (kernel->name() == name)
      stored.kernel = std::move(kernel);
    else
      stored.why = fmt::format("the file was changed after it was stored, remove it: '{}'", file.string());
  } catch (const Error& error) {
    stored.why = error.what();
  }
  return stored;
}

/// Throws invalid_input if something that is no file lies in the place of a kernel's file.
void check_place(const fs::path& file) {
  std::error_code ignored;
  const fs::file_type type = fs::status(file, ignored).type();
  if (type == fs::file_type::regular || type == fs::file_type::not_found) return;
  fail(ErrorCode::invalid_input, "{} lies where the kernel is stored, remove it: '{}'",
       type == fs::file_type::directory ? "a folder" : "a pipe or a device", file.string());
}

}  // namespace

fs::path user_kernel_folder() {
  const fs::path home = path_if_any(home_location);
  return home.empty() ? home : home / "triton";
}

std::string store_user_kernel(const UserKernel& kernel) {
  check_home_location();
  const fs::path folder = user_kernel_folder();
  make_private_folder(folder);
  std::string name = kernel.name();
  const fs::path file = folder / (name + kKernelFileEnding);
  check_place(file);
  if (!stored_user_kernel(name).kernel) write_file_atomically(file, kernel.to_json(), kKernelFileMode);
  if (const StoredKernel stored = stored_user_kernel(name); !stored.kernel)
    fail(ErrorCode::invalid_input, "{}", stored.why);
  return name;
}

std::vector<StoredKernel> stored_user_kernels() {
  struct Known {
    FileStamp stamp;
    StoredKernel stored;
  };
  static Mutex mutex;
  static std::map<fs::path, Known>& known = *new std::map<fs::path, Known>;  // Threads may end after main().
  std::vector<StoredKernel> all;
  const fs::path folder = user_kernel_folder();
  if (folder.empty()) return all;
  std::error_code ignored;
  const Lock lock(mutex);
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    const fs::path& file = entry->path();
    if (file.extension() != kKernelFileEnding) continue;
    const FileStamp stamp = file_stamp(file);
    Known& one = known[file];
    if (one.stored.name.empty() || one.stamp != stamp) one = {stamp, read_kernel(file.stem().string(), file)};
    all.push_back(one.stored);
  }
  std::ranges::sort(all, {}, &StoredKernel::name);
  return all;
}

StoredKernel stored_user_kernel(std::string_view name) {
  for (StoredKernel& one : stored_user_kernels()) {
    if (one.name != name) continue;
    if (!one.kernel) one.why = fmt::format("the kernel '{}' cannot be used: {}", shown(name), one.why);
    return one;
  }
  return {.name = std::string(name),
          .kernel = nullptr,
          .why = fmt::format("the kernel '{}' is not stored here, name its file again (tune --kernel) or copy its file "
                             "into the folder '{}'",
                             shown(name), user_kernel_folder().string())};
}

std::vector<std::string> chosen_user_kernels() {
  const char* const chosen = variable_or_null(kUserKernelsVariable);
  std::vector<std::string> names;
  if (chosen == nullptr) return names;
  for (const std::string_view name : split(std::string_view(chosen), ',')) {
    if (!trim(name).empty()) names.emplace_back(trim(name));
  }
  return names;
}

}  // namespace attune
