// SPDX-License-Identifier: MIT
#include "dispatch/threads/application_end.h"

#include <unistd.h>

#include <csignal>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "dispatch/threads/background_thread.h"

namespace attune {
namespace {

void take_ending_signals() noexcept {
  sigset_t ending;
  ::sigemptyset(&ending);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2}) {
    struct sigaction action {};
    const bool is_default = ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL;
    if (is_default) ::sigaddset(&ending, signal);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
}

}  // namespace

bool has_application_ended() noexcept {
  try {
    // The state is the main thread's. It counts among the threads until the process ends.
    const std::string status = read_file_if_any("/proc/self/stat").value_or("");
    const auto fields = split(std::string_view(status).substr(status.rfind(')') + 1), ' ');
    constexpr size_t kState = 1, kThreads = 18;
    if (fields.size() <= kThreads || fields[kState] != "Z") return false;
    if (parse_int(fields[kThreads]) == 1 + BackgroundThread::num_alive()) return true;
    take_ending_signals();
  } catch (...) {
    // No memory: the next look may have some.
  }
  return false;
}

}  // namespace attune
