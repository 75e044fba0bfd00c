// SPDX-License-Identifier: MIT
#include "base/machine.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/variable.h"

namespace attune {
namespace {

constexpr size_t kWordBits = 8 * sizeof(unsigned long);
/// Lengths of masks in words: of a cpu_set_t, and of 65,536 processors, eight times as many as Linux supports.
constexpr size_t kLeastMaskWords = sizeof(cpu_set_t) / sizeof(unsigned long), kMostMaskWords = 65536 / kWordBits;

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

std::vector<int> cores_of_thread(pid_t thread, ReadAffinity read) {
  std::vector<int> cores;
  std::vector<unsigned long> words(kLeastMaskWords);
  while (read(thread, words.size() * sizeof(unsigned long), reinterpret_cast<cpu_set_t*>(words.data())) != 0) {
    if (errno != EINVAL || words.size() >= kMostMaskWords) return cores;
    words.assign(words.size() * 2, 0);  // The kernel's mask is longer.
  }
  for (size_t core = 0; core < words.size() * kWordBits; ++core) {
    if ((words[core / kWordBits] >> (core % kWordBits) & 1) != 0) cores.push_back(static_cast<int>(core));
  }
  return cores;
}

bool bind_thread(pid_t thread, std::span<const int> cores) noexcept {
  unsigned long words[kMostMaskWords] = {};
  size_t used = kLeastMaskWords;
  for (const int core : cores) {
    const auto word = static_cast<size_t>(core) / kWordBits;
    if (core < 0 || word >= kMostMaskWords) continue;
    words[word] |= 1UL << (static_cast<size_t>(core) % kWordBits);
    used = std::max(used, word + 1);
  }
  return ::sched_setaffinity(thread, used * sizeof(unsigned long), reinterpret_cast<const cpu_set_t*>(words)) == 0;
}

std::vector<int> allowed_cores() { return cores_of_thread(0); }

std::vector<int> process_cores() {
  std::vector<int> cores = allowed_cores();
  if (cores.empty() || !may_bind()) return cores;
  for (const std::string& runtime : openmp_runtimes()) add_places(runtime, cores);
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return cores;
}

std::string host_name() {
  char host[HOST_NAME_MAX + 1] = {};
  ::gethostname(host, sizeof host - 1);
  return host;
}

std::optional<int64_t> meminfo_bytes(std::string_view name, const std::filesystem::path& root) {
  std::string text;
  try {
    text = read_file(root / "proc/meminfo");
  } catch (const Error&) {
    return std::nullopt;
  }
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(name) || !line.substr(name.size()).starts_with(":")) continue;
    const std::string_view value = trim(line.substr(name.size() + 1));  // `123 kB`
    if (const auto kilobytes = parse_int(value.substr(0, value.find(' ')))) return *kilobytes * 1024;
  }
  return std::nullopt;
}

}  // namespace attune
