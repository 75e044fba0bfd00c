// SPDX-License-Identifier: MIT
#include "campaign/interrupt.h"

#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <vector>

#include "base/line_output.h"
#include "store/journal.h"

namespace attune {
namespace {

std::atomic<bool> interrupted = false;
std::atomic<int> interrupting_signal = 0;
std::atomic<int> num_handlers = 0;  // Nested: a pipeline's run has one, and so does each run in it.

extern "C" void on_interrupt(int signal) {
  interrupting_signal = signal;
  if (interrupted.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

void set_signal_handler(void (*handler)(int)) {
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
  // A closed terminal sends SIGHUP. Under nohup the process ignores it, and so does the run.
  if (std::signal(SIGHUP, handler) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

/// Reports once why it waits, and ends the wait with the first signal.
bool wait_for_journal(double waited_s, const std::filesystem::path& journal) {
  static std::atomic<bool> is_said = false;
  if (waited_s >= 1 && !is_said.exchange(true))
    print_notes(std::vector{fmt::format(
        "waiting up to a minute for the journal, which another process has locked: '{}'", journal.string())});
  return !interrupted;
}

}  // namespace

InterruptHandler::InterruptHandler() {
  if (num_handlers++ > 0) return;
  set_signal_handler(on_interrupt);
  std::signal(SIGPIPE, SIG_IGN);
  set_journal_wait(wait_for_journal);
}
InterruptHandler::~InterruptHandler() {
  if (--num_handlers > 0) return;
  set_journal_wait(nullptr);
  // SIGPIPE stays ignored: the last output of the program must not kill it either.
  set_signal_handler(SIG_DFL);
}

const std::atomic<bool>& interrupt_flag() noexcept { return interrupted; }

int interrupt_status() noexcept {
  constexpr int kSignals = 128;
  return kSignals + interrupting_signal;
}

}  // namespace attune
