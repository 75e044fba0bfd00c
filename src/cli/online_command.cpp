// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <ctime>
#include <iterator>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "campaign/online_attempts.h"
#include "campaign/open_devices.h"
#include "campaign/tune_method.h"
#include "campaign/tune_options.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "device/devices.h"
#include "dispatch/online/online_queue.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/untuned_table.h"
#include "ops/op.h"
#include "process/temporary_folder.h"
#include "report/result_table.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

struct OnlineCommandOptions {
  std::string device = "cpu:0", timeout = "5m";
  uint64_t max_trials = 24;
  double quiet_wait_s = 0;
  bool background = false, retry = false;
  pid_t starter = 0;
};

/// Maximum number of shapes in one run of the tuner. They share the wait between finals and confirm; a process whose
/// starter has gone ends after them.
constexpr size_t kMaxAtOnce = 4;

/// Detaches the process from its starter and lowers its priority. spawn() asks the kernel to kill it when the starting
/// thread ends; this process may instead finish its current shapes.
void leave_starter() {
  ::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
  constexpr int kNiceness = 10;
  static_cast<void>(::nice(kNiceness));
}

/// Redirects standard output and error to the log.
void write_to_log(const fs::path& log) {
  constexpr off_t kMaxBytes = 1 << 20;
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file < 0) fail(ErrorCode::io, "cannot open the log ({}): '{}'", std::strerror(errno), log.string());
  struct stat status {};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > kMaxBytes)
    static_cast<void>(!::ftruncate(file, 0));
  std::fflush(nullptr);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  ::close(file);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // Keeps the order of the output.
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

/// Tunes the queue's shapes, a few at a time, with the same run as `attune tune`.
class OnlineRun {
 public:
  OnlineRun(const OnlineCommandOptions& options, const DeviceInfo& device, const OnlineQueue& queue)
      : options_(options),
        device_(device),
        queue_(queue),
        attempts_(queue.folder() / "attempts.csv"),
        folder_("online") {}

  /// Returns the given-up shapes to the queue.
  void retry() {
    const auto problems = attempts_.forget_all();
    for (const FamilySpec& family : families()) {
      std::vector<Problem> own;
      std::copy_if(problems.begin(), problems.end(), std::back_inserter(own),
                   [&](const Problem& problem) { return problem.op() == family.op; });
      if (!own.empty()) queue_.add(family, own);
    }
    attempts_.save();
  }

  /// Whether the starter has ended without stopping this process.
  bool is_orphan() const { return options_.background && ::getppid() != options_.starter; }

  /// Runs until nothing waits or the starter is gone. Returns a nonzero exit status if it was stopped.
  int work() {
    while (!is_orphan()) {
      const auto [family, problems] = next();
      if (family == nullptr) return 0;
      if (const int status = tune(*family, problems); status != 0) return status;
    }
    return 0;
  }

  void summarise() const {
    print_line(stderr, fmt::format("online tuning on {}: {} tuned, {} given up; its queue: '{}'", device_.id,
                                   counted(num_tuned_, "shape"), num_given_up_, queue_.folder().string()));
  }

 private:
  struct Batch {
    const FamilySpec* family = nullptr;  ///< Null: nothing waits.
    std::vector<Problem> problems;
  };

  /// Returns why a shape cannot be tuned on this device; empty: it can.
  std::string why_not(const FamilySpec& family, const Problem& problem) const {
    if (!family.tunable) return fmt::format("this version cannot tune {}", family.op);
    try {
      op_of(problem).normalise(problem, device_);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }

  void give_up(const Problem& problem, const std::string& reason) {
    if (attempts_.given_up(problem) != reason) attempts_.give_up(problem, reason);
    ++num_given_up_;
    print_line(stderr, fmt::format("given up: {}: {}", problem.key(), reason));
  }

  /// Returns the next shapes to tune, and removes untunable shapes and invalid lines from the queue.
  Batch next() {
    for (const WaitingShapes& waiting : queue_.read()) {
      for (const std::string& notice : waiting.notices) print_line(stderr, "note: " + notice);
      const FamilySpec& family = *waiting.family;
      std::vector<Problem> left, out;
      for (const Problem& problem : waiting.problems) {
        std::string reason = attempts_.given_up(problem);
        if (reason.empty()) reason = why_not(family, problem);
        if (reason.empty()) {
          left.push_back(problem);
          continue;
        }
        give_up(problem, reason);
        out.push_back(problem);
      }
      // Save the attempts first: a shape removed from the queue must not be tried forever because it is requested
      // again.
      if (!out.empty()) attempts_.save();
      if (!out.empty() || !waiting.notices.empty() || left.empty()) queue_.remove(family, out);
      if (!left.empty()) return {&family, chosen_of(left)};
    }
    return {};
  }

  /// A shape whose tuning ended the process before is tuned alone, because it may be the cause.
  std::vector<Problem> chosen_of(const std::vector<Problem>& left) const {
    std::vector<Problem> chosen;
    for (const Problem& problem : left) {
      if (attempts_.is_suspect(problem) || chosen.size() == kMaxAtOnce) continue;
      chosen.push_back(problem);
    }
    if (chosen.empty()) chosen.push_back(left.front());
    return chosen;
  }

  TuneOptions tune_options(const FamilySpec& family, const fs::path& input) const {
    TuneOptions options;
    options.input = input.string();
    options.op = family.op;
    options.output = (overlay_location().path / family.default_file).string();
    options.devices = options_.device;
    options.timeout = options_.timeout;
    options.max_trials = options_.max_trials;
    options.quiet_wait_s = options_.quiet_wait_s;
    options.batch = 1;  // Publishes each row as soon as it is known.
    return options;
  }

  int tune(const FamilySpec& family, const std::vector<Problem>& problems) {
    const fs::path input = folder_.path() / untuned_file_name(family);
    write_file_atomically(input, untuned_text(family, problems), 0600);
    make_private_folder(overlay_location().path);
    for (const Problem& problem : problems) attempts_.begin(problem);
    attempts_.save();
    CampaignResult run;
    try {
      run = run_campaign(tune_options(family, input));
    } catch (const Error& error) {
      const bool may_be_theirs = error.code() == ErrorCode::device || error.code() == ErrorCode::internal;
      settle(family, problems, run.shapes, may_be_theirs ? End::failed : End::stopped);
      throw;
    } catch (...) {
      settle(family, problems, run.shapes, End::failed);
      throw;
    }
    constexpr int kSignals = 128;
    settle(family, problems, run.shapes, run.status > kSignals ? End::stopped : End::good);
    return run.status > kSignals ? run.status : 0;
  }

  /// How a run ended. `stopped`: by a signal, a file or a journal, which no shape causes; `failed`: a shape may be the
  /// cause.
  enum class End : uint8_t { good, stopped, failed };
  /// Removes tuned shapes from the queue, and gives up failed ones; unfinished shapes stay if the run was cut short.
  /// Their attempts count if a shape may be the cause.
  void settle(const FamilySpec& family, const std::vector<Problem>& problems, const std::vector<TuneResult>& results,
              End end) {
    std::vector<Problem> out;
    for (const Problem& problem : problems) {
      const std::string key = key_text(family, problem);
      const auto found = std::find_if(results.begin(), results.end(),
                                      [&](const TuneResult& one) { return key_text(family, one.problem) == key; });
      const bool is_tuned = found != results.end() && (found->decision || found->ending == Ending::kept);
      const bool may_go_on = end != End::good && (found == results.end() || found->ending == Ending::cut);
      if (is_tuned) {
        attempts_.done(problem);
        ++num_tuned_;
      } else if (may_go_on) {
        if (end == End::stopped) attempts_.undone(problem);
        continue;
      } else {
        give_up(problem, found == results.end() ? "it was left out of the run"
                                                : fmt::format("{}: {}", name(found->ending), found->reason));
      }
      out.push_back(problem);
    }
    attempts_.save();
    queue_.remove(family, out);
  }

  const OnlineCommandOptions& options_;
  const DeviceInfo& device_;
  const OnlineQueue& queue_;
  OnlineAttempts attempts_;
  TemporaryFolder folder_;
  size_t num_tuned_ = 0, num_given_up_ = 0;
};

/// Takes the turn; returns nothing if another process has it.
std::optional<FileLock> take_turn(const OnlineQueue& queue) {
  try {
    return std::optional<FileLock>(std::in_place, queue.turn(), FileLock::Use::alone, 0);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timeout) throw;
    return std::nullopt;
  }
}

/// Ensures that no shape is left in the queue. An application writes a shape first and then starts this program. If the
/// program finds the turn taken it ends, and relies on the holder, which looks at the queue again *after* releasing the
/// turn. Either the shape was written before that look, which then sees it; or it was written after the turn was free,
/// and the program started for it gets the turn. If two find the turn free, one gets it, the other ends, and the same
/// holds for the one that got it. A killed process releases the turn without a look: the applications start another,
/// though not at once (OnlineOptions::pause).
int run_online(OnlineCommandOptions options) {
  options.starter = ::getppid();
  if (options.background) leave_starter();
  TuneOptions checked;
  checked.timeout = options.timeout;
  static_cast<void>(tuner_options(checked));  // Refuses invalid options before a folder is created.
  check_home_location();
  const DeviceInfo device = open_device(options.device)->info();
  const OnlineQueue queue(fs::absolute(home_location().path), device);
  make_private_folder(queue.folder());
  bool is_first = true;
  while (is_first || queue.is_waiting()) {
    const auto turn = take_turn(queue);
    if (!turn) {
      if (!options.background && is_first)
        print_line(stderr, fmt::format("another process tunes what waits for {}, this one is not needed", device.id));
      return 0;
    }
    if (is_first && options.background) {
      write_to_log(queue.log());
      print_line(stderr, fmt::format("-- {}, process {}, {}", now_text(), ::getpid(), device.key()));
    }
    OnlineRun run(options, device, queue);
    if (is_first && options.retry) run.retry();
    const int status = run.work();
    run.summarise();
    if (status != 0 || run.is_orphan()) return status;
    is_first = false;
  }
  return 0;
}

}  // namespace

void add_online_command(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<OnlineCommandOptions>();
  auto* verb = app.add_subcommand(
      "online", "Tunes the shapes that applications with ATTUNE_ONLINE_TUNING=1 have missed, then ends");
  verb->add_option("--device", options->device, "Whose shapes: cpu:0")->capture_default_str();
  verb->add_option("--max-trials", options->max_trials, "Candidates asked for a solver at most")
      ->capture_default_str()
      ->check(positive_number_error);
  verb->add_option("--timeout", options->timeout, "Time for one shape; one that takes longer is given up")
      ->capture_default_str();
  verb->add_option("--quiet-wait", options->quiet_wait_s,
                   "Seconds to wait at the start until other programs are quiet; a server never is")
      ->capture_default_str()
      ->check(amount_error);
  verb->add_flag("--retry", options->retry, "Tune what was given up as well");
  verb->add_flag("--background", options->background,
                 "As an application starts it: little priority, all output to online/log.txt of the state folder, and "
                 "the end when the application has gone");
  verb->footer(
      "Winners go to the tables in overlay/ of the state folder, evidence to the journal: attune paths. Shapes that "
      "no\nkernel wins or that take too long are given up, with the reason in attempts.csv beside the queue.\n"
      "  attune online --device cpu:0 --retry");
  verb->callback([options, &chosen] { chosen = [options] { return run_online(*options); }; });
}

}  // namespace attune
