// SPDX-License-Identifier: MIT
#include "traces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <clocale>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/machine.h"

extern char** environ;

namespace attune {
namespace {

std::string text_of(const sigset_t& set) {
  std::string numbers;
  for (int number = 1; number < NSIG; ++number) {
    if (sigismember(&set, number) == 1) numbers += fmt::format("{} ", number);
  }
  return numbers;
}

/// The masks of threads that exist now, under their ids: threads that a library starts come in addition.
void add_affinity(std::map<std::string, std::string>& state) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string id = task.path().filename().string();
    state["affinity of " + id] = fmt::format("{}", fmt::join(cores_of_thread(std::atoi(id.c_str())), ","));
  }
}

void add_signals(std::map<std::string, std::string>& state) {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    state[fmt::format("signal {}", number)] = fmt::format(
        "{} flags {:#x} mask {}", reinterpret_cast<void*>(action.sa_handler), action.sa_flags, text_of(action.sa_mask));
  }
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  state["blocked signals"] = text_of(blocked);
}

}  // namespace

std::map<std::string, std::string> process_state() {
  std::map<std::string, std::string> state;
  state["environ"] = fmt::format("{}", static_cast<void*>(environ));
  for (char** entry = environ; *entry != nullptr; ++entry)
    state[fmt::format("variable {}", entry - environ)] = fmt::format("{} {}", static_cast<void*>(*entry), *entry);
  add_signals(state);
  add_affinity(state);
  for (const auto limit : {RLIMIT_STACK, RLIMIT_NOFILE, RLIMIT_CORE, RLIMIT_AS, RLIMIT_MEMLOCK}) {
    rlimit value = {};
    getrlimit(limit, &value);
    state[fmt::format("limit {}", static_cast<int>(limit))] = fmt::format("{} {}", value.rlim_cur, value.rlim_max);
  }
  state["folder"] = std::filesystem::current_path().string();
  const mode_t mask = umask(0);
  umask(mask);
  state["umask"] = fmt::format("{:o}", mask);
  state["locale"] = std::setlocale(LC_ALL, nullptr);
#if defined(__x86_64__)
  state["floating-point controls"] = fmt::format("{:#x}", _mm_getcsr() & ~unsigned{_MM_EXCEPT_MASK});
#endif
  return state;
}

std::string differences(const std::map<std::string, std::string>& before,
                        const std::map<std::string, std::string>& after) {
  std::string lines;
  const auto value = [](const auto& state, const std::string& name) {
    const auto found = state.find(name);
    return found == state.end() ? std::string("none") : found->second;
  };
  std::map<std::string, std::string> all = before;
  all.insert(after.begin(), after.end());
  for (const auto& [name, ignored] : all) {
    const std::string old = value(before, name), now = value(after, name);
    const bool is_new_thread = name.starts_with("affinity") && old == "none";
    if (old != now && !is_new_thread) lines += fmt::format("{}: {}, before: {}\n", name, now, old);
  }
  return lines;
}

}  // namespace attune
