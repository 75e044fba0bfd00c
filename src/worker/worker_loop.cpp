// SPDX-License-Identifier: MIT
#include "worker/worker_loop.h"

#include <fenv.h>
#include <unistd.h>
#include <csignal>

#include <cerrno>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/core_binding.h"
#include "device/devices.h"
#include "device/probe.h"
#include "measure/blocking_calls.h"
#include "measure/local_executor.h"
#include "process/channel/channel.h"
#include "worker/announcement.h"
#include "worker/messages.h"

namespace attune {
namespace {

/// Process state that a candidate may have changed for later ones.
class ProcessState {
 public:
  ProcessState() {
    ::sigprocmask(SIG_SETMASK, nullptr, &mask_);
    ::fegetenv(&floats_);
    folder_ = ::getcwd(nullptr, 0);
  }
  ~ProcessState() { ::free(folder_); }
  ProcessState(const ProcessState&) = delete;
  ProcessState& operator=(const ProcessState&) = delete;
  void restore() const {
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
    ::fesetenv(&floats_);  // Rounding and denormals: objects compiled for speed change them when loaded.
    if (folder_ != nullptr && ::chdir(folder_) != 0) fail(ErrorCode::internal, "the worker's folder was removed");
  }

 private:
  sigset_t mask_{};
  fenv_t floats_{};
  char* folder_ = nullptr;
};

/// State of a worker between requests.
class Worker {
 public:
  Worker(const Registry& solvers, std::string_view build) : solvers_(solvers), build_(build) {}

  /// Runs a request and marks the page, so that the following bytes on the channel count as the answer.
  Reply answer(const WorkerRequest& request) {
    Reply answer = do_request(request);
    announcer_.answer();
    return answer;
  }

 private:
  Reply do_request(const WorkerRequest& request) {
    try {
      process_state_.restore();
      return std::visit([this](const auto& one) { return handle(one); }, request);
    } catch (const Error& error) {
      return reply::Failure{error.code(), error.what()};
    } catch (const std::exception& error) {
      return reply::Failure{ErrorCode::internal, error.what()};
    }
  }

  Reply handle(const request::Hello& hello) {
    if (hello.build != build_)
      fail(ErrorCode::unavailable, "the worker is from another build: found {}, expected {}", build_, hello.build);
    if (!hello.cores.empty()) bind_to_cores({hello.cores.begin(), hello.cores.end()});
    device_ = open_device(hello.device);
    probe(*device_);
    executor_ = std::make_unique<LocalExecutor>(*device_, solvers_, &announcer_);
    executor_->skip_solvers(hello.skipped);
    executor_->set_memory_share(hello.memory_share);
    executor_->set_memory_reserve(hello.memory_reserve);
    executor_->set_stored_toolchains(hello.stored_toolchains);
    return reply::Ready{device_->info(), build_,
                        device_->memory().free_bytes().value_or(std::numeric_limits<uint64_t>::max())};
  }
  Reply handle(const request::Open& open) { return with_time(attune::open(executor(), open)); }
  Reply handle(const request::Admit& admit) { return with_time(attune::admit(executor(), admit)); }
  Reply handle(const request::Sample& sample) { return with_time(attune::sample(executor(), sample)); }
  Reply handle(const request::Close& close) {
    executor().close(close.id);
    return reply::Completion{};
  }
  Reply handle(const request::Drop& drop) {
    for (const Slot slot : drop.slots) executor().drop(slot);
    return reply::Completion{};
  }

  template <typename Answer>
  Answer with_time(Answer answer) {
    const TimeUse all = executor().workers().time;
    answer.time = all;
    answer.time -= std::exchange(told_, all);
    return answer;
  }

  Executor& executor() {
    if (!executor_) fail(ErrorCode::internal, "a worker expects the request hello first");
    return *executor_;
  }

  const Registry& solvers_;
  std::string build_;
  ProcessState process_state_;
  PageAnnouncer announcer_{kWorkerAnnouncements, kWorkerChannel};
  std::unique_ptr<Device> device_;
  std::unique_ptr<LocalExecutor> executor_;
  TimeUse told_;  // As far as answers said it.
};

}  // namespace

int run_worker(const Registry& solvers, std::string_view build) {
  // The supervisor ends a worker; signals that a terminal sends to the whole group are the supervisor's to handle.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  std::signal(SIGXFSZ, SIG_DFL);  // a candidate that writes beyond its limit dies of it
  InheritedChannel channel(kWorkerChannel);
  Worker worker(solvers, build);
  try {
    while (const auto frame = channel.read()) {
      if (!channel.write({frame->number, to_payload(worker.answer(request_from(frame->payload)))})) return 1;
    }
  } catch (const std::exception& error) {
    ::dprintf(2, "attune worker: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace attune
