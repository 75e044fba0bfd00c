// SPDX-License-Identifier: MIT
#include "campaign/interrupt.h"

#include <csignal>

namespace attune {
namespace {

std::atomic<bool> interrupted = false;
std::atomic<int> interrupting_signal = 0;
std::atomic<int> num_handlers = 0;  // A pipeline's run has one for its life, and one of each run in it.

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

}  // namespace

InterruptHandler::InterruptHandler() {
  if (num_handlers++ == 0) set_signal_handler(on_interrupt);
}
InterruptHandler::~InterruptHandler() {
  if (--num_handlers == 0) set_signal_handler(SIG_DFL);
}

const std::atomic<bool>& interrupt_flag() noexcept { return interrupted; }

int interrupt_status() noexcept {
  constexpr int kSignals = 128;
  return kSignals + interrupting_signal;
}

}  // namespace attune
