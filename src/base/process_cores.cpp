// SPDX-License-Identifier: MIT
#include "base/process_cores.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/machine.h"
#include "base/variable.h"

namespace attune {
namespace {

constexpr const char* kBindingVariables[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};

bool may_bind() {
  return std::any_of(std::begin(kBindingVariables), std::end(kBindingVariables),
                     [](const char* name) { return variable_or_null(name) != nullptr; });
}

/// Whether a library's file is an OpenMP runtime: `libgomp.so.1`, `libgomp-24e2ab19.so.1`, `libiomp5.so`, `libomp.so`.
bool is_openmp(std::string_view file) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return name.starts_with("libgomp") || name.starts_with("libiomp5") || name.starts_with("libomp.");
}

/// An application may have several: wheels of Python packages contain their own.
std::vector<std::string> openmp_runtimes() {
  std::vector<std::string> files;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        if (info->dlpi_name != nullptr && is_openmp(info->dlpi_name))
          static_cast<std::vector<std::string>*>(to)->emplace_back(info->dlpi_name);
        return 0;
      },
      &files);
  return files;
}

/// Adds the processors of a runtime's places (OpenMP 4.5: omp_get_num_places and its siblings); it has none if it does
/// not bind threads.
void add_places(const std::string& runtime, std::vector<int>& cores) {
  void* const library = ::dlopen(runtime.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return;
  const auto num_places = reinterpret_cast<int (*)()>(::dlsym(library, "omp_get_num_places"));
  const auto num_cores = reinterpret_cast<int (*)(int)>(::dlsym(library, "omp_get_place_num_procs"));
  const auto cores_of = reinterpret_cast<void (*)(int, int*)>(::dlsym(library, "omp_get_place_proc_ids"));
  if (num_places != nullptr && num_cores != nullptr && cores_of != nullptr) {
    const int count = num_places();
    for (int place = 0; place < count; ++place) {
      std::vector<int> ids(static_cast<size_t>(std::max(0, num_cores(place))));
      if (!ids.empty()) cores_of(place, ids.data());
      cores.insert(cores.end(), ids.begin(), ids.end());
    }
  }
  ::dlclose(library);
}

}  // namespace

std::vector<int> process_cores() {
  std::vector<int> cores = allowed_cores();
  if (cores.empty() || !may_bind()) return cores;
  for (const std::string& runtime : openmp_runtimes()) add_places(runtime, cores);
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return cores;
}

}  // namespace attune
