// SPDX-License-Identifier: MIT
#include "dispatch/online/online_tuning.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/mutex.h"
#include "base/text.h"
#include "device/device_kind.h"
#include "dispatch/capture/capture_files.h"
#include "dispatch/plans/attune_program.h"
#include "formats/csv/key_cells.h"
#include "process/children.h"
#include "process/reap.h"
#include "process/spawn.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> environment_with(const fs::path& state) {
  std::map<std::string, std::string> all = environment_copy();
  all["ATTUNE_HOME"] = state.string();
  return all;
}

/// Programs that were told to stop without being waited for. They are reaped later; otherwise they would stay zombies
/// until the process ends.
class UnreapedPrograms {
 public:
  static UnreapedPrograms& instance() {
    static UnreapedPrograms& one = *new UnreapedPrograms;  // Never freed: the process may end while a thread is inside.
    return one;
  }
  void add(SpawnResult program) {
    const Lock lock(mutex_);
    programs_.push_back(program);
  }
  void reap() {
    const Lock lock(mutex_);
    std::erase_if(programs_, [](const SpawnResult& program) {
      if (!attune::reap(program.descriptor)) return false;
      OwnedChildren::instance().remove(program.pid);
      ::close(program.descriptor);
      return true;
    });
  }

 private:
  Mutex mutex_;
  std::vector<SpawnResult> programs_ ATTUNE_GUARDED_BY(mutex_);
};

/// Returns the last non-blank line, shortened.
std::string last_line(int descriptor) {
  constexpr off_t kMaxBytes = 4096;
  const off_t size = ::lseek(descriptor, 0, SEEK_END);
  std::string text(static_cast<size_t>(std::clamp<off_t>(size, 0, kMaxBytes)), '\0');
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), std::max<off_t>(0, size - kMaxBytes));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  const std::string_view whole = trim(text);
  const size_t end = whole.rfind('\n');
  return shown(end == std::string_view::npos ? whole : whole.substr(end + 1), 300);
}

}  // namespace

OnlineTuning::OnlineTuning(OnlineOptions options)
    : options_(std::move(options)),
      queue_(fs::absolute(options_.state), options_.device),
      process_(::getpid()),
      environment_(environment_with(fs::absolute(options_.state))) {}

OnlineTuning::~OnlineTuning() { end(); }

void OnlineTuning::tune_for(const DeviceInfo& device) {
  if (!known_.empty() || device.num_units == options_.device.num_units) return;
  options_.device = device;
  queue_ = OnlineQueue(fs::absolute(options_.state), device);
}

void OnlineTuning::want(const Problem& normalised) {
  if (is_ended_ || process_ != ::getpid()) return;
  const FamilySpec* family = find_family(normalised.op());
  if (family == nullptr || !family->tunable) return;
  if (known_.size() >= kMaxShapes) {
    is_full_ = is_full_ || !known_.contains(normalised.key());
    return;
  }
  if (known_.insert(normalised.key()).second) waiting_[family].push_back(normalised);
}

std::vector<std::string> OnlineTuning::poll() {
  std::vector<std::string> messages;
  if (is_ended_ || process_ != ::getpid()) return messages;
  if (is_full_ && !std::exchange(said_full_, true))
    messages.push_back(
        fmt::format("online tuning accepts no more shapes from this process, the limit is {}", kMaxShapes));
  UnreapedPrograms::instance().reap();
  enqueue(messages);
  reap(messages);
  start(messages);
  return messages;
}

/// Failed writes are tried again, and reported when the reason changes.
void OnlineTuning::enqueue(std::vector<std::string>& messages) {
  const auto now = Clock::now();
  if (waiting_.empty() || now < next_write_) return;
  size_t num_added = 0;
  try {
    while (!waiting_.empty()) {
      const auto& [family, problems] = *waiting_.begin();
      // Shapes that a reader refuses would make it refuse the whole list.
      std::vector<Problem> readable;
      for (auto& problem : as_read(*family, problems)) {
        if (problem) readable.push_back(std::move(*problem));
      }
      if (!readable.empty()) num_added += queue_.add(*family, readable);
      waiting_.erase(waiting_.begin());
    }
    last_write_error_.clear();
  } catch (const Error& error) {
    next_write_ = now + options_.pause;
    if (std::exchange(last_write_error_, error.what()) != error.what())
      messages.push_back(fmt::format("shapes cannot be queued for online tuning: {}", error.what()));
  }
  // Delay the start, so that a burst of shapes does not cause one start each: if another process tunes, our program
  // ends at once.
  constexpr std::chrono::milliseconds kGap(1000);
  if (num_added > 0 && num_failures_ == 0 && !has_no_device_)
    next_start_ = std::min(next_start_, last_start_ + std::min(options_.pause, kGap));
}

void OnlineTuning::reap(std::vector<std::string>& messages) {
  if (running_.pid == 0) return;
  const auto status = attune::reap(running_.process);
  if (!status) return;
  next_start_ = Clock::now() + options_.pause;
  const bool is_known = status->end != WaitStatus::End::lost;
  const std::string told = last_line(running_.output);
  OwnedChildren::instance().remove(running_.pid);
  forget_running();
  has_no_device_ = status->end == WaitStatus::End::exited && status->code == kNoDevice;
  constexpr int kLonger = 8;
  if (status->ok()) {
    num_failures_ = 0;
  } else if (status->end == WaitStatus::End::exited && status->code == kWaits) {
    num_failures_ = 0;
    next_start_ = Clock::now() + kLonger * options_.pause;
  } else if (has_no_device_) {
    // One may become free, so the program looks again, more seldom than it is started for shapes.
    next_start_ = Clock::now() + kLonger * options_.pause;
    if (!std::exchange(said_no_device_, true)) messages.push_back("online tuning waits: " + told);
  } else if (is_known || !told.empty()) {
    failed(fmt::format("attune online {}{}{}", is_known ? status->describe() : "ended", told.empty() ? "" : ": ", told),
           messages);
  }
  // Otherwise the application reaped it or ignores SIGCHLD, so its status is unknown. A working program writes nothing
  // to this output.
}

void OnlineTuning::failed(const std::string& how, std::vector<std::string>& messages) {
  ++num_failures_;
  next_start_ = Clock::now() + options_.pause * (1 << std::min(num_failures_, kMaxFailures));
  messages.push_back(fmt::format("{}; {}, its log: '{}'", how,
                                 num_failures_ < kMaxFailures ? "it is started again later" : "online tuning stops",
                                 queue_.log().string()));
}

void OnlineTuning::start(std::vector<std::string>& messages) {
  if (running_.pid != 0 || num_failures_ >= kMaxFailures || Clock::now() < next_start_ || !queue_.is_waiting()) return;
  last_start_ = Clock::now();
  // Collects output written before the log exists, such as a missing shared library or an unknown command.
  const int output = ::memfd_create("attune-online", MFD_CLOEXEC);
  try {
    ChildCommand command;
    command.arguments = {options_.program.string(), "online", "--device", options_.device.id, "--background"};
    if (!options_.shares_device) command.arguments.emplace_back("--unused");
    if (units_are_cores(options_.device))
      command.arguments.insert(command.arguments.end(), {"--threads", std::to_string(options_.device.num_units)});
    command.environment = environment_;
    if (output >= 0) command.output = fmt::format("/proc/self/fd/{}", output);
    const SpawnResult spawned = spawn(command);
    running_ = {spawned.pid, spawned.descriptor, output};
  } catch (const Error& error) {
    if (output >= 0) ::close(output);
    failed(error.what(), messages);
  }
}

void OnlineTuning::forget_running() noexcept {
  if (running_.process >= 0) ::close(running_.process);
  if (running_.output >= 0) ::close(running_.output);
  running_ = {};
}

void OnlineTuning::end() noexcept {
  // A forked child has its own copies of the descriptors, but not the program.
  const bool is_ours = process_ == ::getpid();
  if (running_.pid != 0 && is_ours) {
    // Signal through the descriptor: if the application has reaped the program, its number may belong to another
    // process.
    ::syscall(SYS_pidfd_send_signal, running_.process, SIGTERM, nullptr, 0);
    try {
      UnreapedPrograms::instance().add({running_.pid, std::exchange(running_.process, -1)});
    } catch (...) {
      // Out of memory: the program stays a zombie until this process ends.
    }
  }
  if (is_ours) is_ended_ = true;
  forget_running();
}

}  // namespace attune
