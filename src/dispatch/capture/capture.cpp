// SPDX-License-Identifier: MIT
#include "attune/capture.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "dispatch/capture/capture_files.h"
#include "dispatch/capture/registered_captures.h"
#include "dispatch/capture/shape_counters.h"
#include "dispatch/table/key_problem.h"
#include "formats/csv/untuned_table.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using ListStatus = ShapeCounters::ListStatus;

std::atomic<bool> was_one_made{false};

/// Returns the name of this process's counts: `<host>.<pid>.<start>`. The start is in nanoseconds, so that neither a
/// reused process number nor a second capture in the process gets the same name.
std::string process_name() {
  std::array<char, 64> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == 0) host = {'h', 'o', 's', 't'};
  std::string name(host.data());
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  std::replace_if(
      name.begin(), name.end(), [&](char c) { return !is_plain(c); }, '_');
  const auto start = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("{}.{}.{}", name, ::getpid(), std::chrono::duration_cast<std::chrono::nanoseconds>(start).count());
}

/// Returns the absolute path, because the process may change its working directory before it writes.
fs::path whole_path(const fs::path& folder) {
  std::error_code error;
  auto whole = fs::absolute(folder, error);
  if (error || folder.empty())
    fail(ErrorCode::invalid_input, "captured shapes need a folder, set ATTUNE_CAPTURE_DIR to one, got '{}'",
         folder.string());
  return whole;
}

/// A shape to be written to the files.
struct Line {
  CalledShape shape;
  std::vector<ListStatus*> standings;  ///< States of this shape as a typed call and as text.
};

/// The place of an entry of families() there.
size_t place_of(const FamilySpec& family) { return static_cast<size_t>(&family - families().data()); }

bool is_fresh(const Line& line) { return *line.standings.front() == ListStatus::fresh; }

}  // namespace

struct Capture::State {
  class Live;
  struct Text {
    Problem problem;
    uint64_t calls = 0;
    ListStatus list_status = ListStatus::fresh;
  };

  explicit State(fs::path where) : folder(std::move(where)), counters(kMaxShapes) {}

  std::string write();
  std::vector<std::vector<Line>> lines();
  void refuse_unreadable(const FamilySpec& family, std::vector<Line>& lines);
  void write_family(const FamilySpec& family, std::vector<Line>& lines, std::string& error);
  Text text_of(const Problem& problem);
  void start_in_child() ATTUNE_REQUIRES(texts_mutex);

  const fs::path folder;
  ShapeCounters counters;
  Mutex texts_mutex;
  std::map<std::string, Text> texts ATTUNE_GUARDED_BY(texts_mutex);
  std::atomic<uint64_t> num_dropped{0}, num_refused{0}, num_texts{0};
  /// Set while a thread writes. This is not a mutex, because the child of a fork must be able to reset it after a
  /// thread that the child lacks.
  std::atomic_flag writing;
  std::string process = process_name();
  std::vector<uint64_t> written_calls = std::vector<uint64_t>(families().size());  ///< Written calls, by family.
};

/// All captures of the process, for the fork() handlers. Never destroyed, because the end of a process may fork.
class Capture::State::Live {
 public:
  static Live& get() {
    static Live& all = *new Live;
    return all;
  }
  void add(State* state) {
    const Lock lock(mutex_);
    all_.push_back(state);
  }
  void remove(State* state) {
    const Lock lock(mutex_);
    std::erase(all_, state);
  }

 private:
  // fork() only waits for locks that are held for microseconds, never for a disk.
  Live() {
    ::pthread_atfork([] { get().lock(); }, [] { get().unlock(); },
                     []() ATTUNE_NO_THREAD_SAFETY_ANALYSIS {
                       for (State* state : get().all_) state->start_in_child();
                       get().unlock();
                     });
  }
  // The analysis cannot follow locks in a loop.
  void lock() ATTUNE_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.lock();
    for (State* state : all_) state->texts_mutex.lock();
  }
  void unlock() ATTUNE_NO_THREAD_SAFETY_ANALYSIS {
    for (State* state : all_) state->texts_mutex.unlock();
    mutex_.unlock();
  }

  Mutex mutex_;
  std::vector<State*> all_ ATTUNE_GUARDED_BY(mutex_);
};

/// Resets the capture in a child: the parent writes the calls made before the fork.
void Capture::State::start_in_child() {
  counters.reset();
  texts.clear();
  num_dropped = num_refused = num_texts = 0;
  process = process_name();
  std::fill(written_calls.begin(), written_calls.end(), 0);
  writing.clear();
}

/// Returns all shapes so far, by family.
std::vector<std::vector<Line>> Capture::State::lines() {
  std::vector<std::vector<Line>> all(families().size());
  uint64_t refused_calls = 0;
  counters.visit([&](const ShapeCounters::CountedShape& counted) {
    const auto& [key, threads, calls, list_status] = counted;
    if (list_status != ListStatus::refused) {
      const KeyCodes& codes = counters.codes().of(key.op());
      if (auto problem = problem_of(codes, key)) {
        all[counters.codes().place(codes)].push_back({{std::move(*problem), calls, threads}, {&list_status}});
        return;
      }
      list_status = ListStatus::refused;
    }
    refused_calls += calls;
  });
  const Lock lock(texts_mutex);
  for (auto& [key, text] : texts) {
    if (text.list_status == ListStatus::refused)
      refused_calls += text.calls;
    else
      all[place_of(*find_family(text.problem.op()))].push_back({{text.problem, text.calls}, {&text.list_status}});
  }
  num_refused = refused_calls;
  return all;
}

/// Removes new shapes that could not be read back, and merges entries of the same shape.
void Capture::State::refuse_unreadable(const FamilySpec& family, std::vector<Line>& lines) {
  std::vector<Problem> fresh;
  for (const Line& line : lines) {
    if (is_fresh(line)) fresh.push_back(line.shape.problem);
  }
  const auto read = fresh.empty() ? std::vector<std::optional<Problem>>() : as_read(family, fresh);
  auto next = read.begin();
  std::unordered_map<std::string, size_t> places;
  std::vector<Line> readable;
  for (Line& line : lines) {
    if (is_fresh(line) && !*next++) {
      *line.standings.front() = ListStatus::refused;
      num_refused += line.shape.calls;
      continue;
    }
    const auto [place, is_new] =
        places.emplace(fmt::format("{} {}", line.shape.problem.key(), line.shape.threads), readable.size());
    if (is_new) {
      readable.push_back(std::move(line));
    } else {
      Line& same = readable[place->second];
      same.shape.calls += line.shape.calls;
      same.standings.push_back(line.standings.front());
    }
  }
  lines = std::move(readable);
}

void Capture::State::write_family(const FamilySpec& family, std::vector<Line>& lines, std::string& error) {
  const auto guarded = [&](auto&& write) {
    try {
      write();
    } catch (const std::exception& failed) {
      if (error.empty()) error = failed.what();
    }
  };
  refuse_unreadable(family, lines);
  if (lines.empty()) return;
  const fs::path file = folder / untuned_file_name(family);
  std::vector<Problem> fresh;
  std::vector<CalledShape> called;
  uint64_t calls = 0;
  std::unordered_set<std::string> listed;
  for (const Line& line : lines) {
    // A list has each shape once, whatever limits it was called under.
    if (is_fresh(line) && listed.insert(line.shape.problem.key()).second) fresh.push_back(line.shape.problem);
    called.push_back(line.shape);
    calls += line.shape.calls;
  }
  guarded([&] {
    if (!fresh.empty()) add_shapes(file, family, fresh);
    for (const Line& line : lines) {
      for (ListStatus* list_status : line.standings) *list_status = ListStatus::listed;
    }
  });
  uint64_t& written = written_calls[place_of(family)];
  if (written == calls) return;
  // The counts are written even if the list could not be: they are a shape list too.
  guarded([&] {
    write_counts(counts_file(file, process), family, called);
    written = calls;
  });
}

std::string Capture::State::write() {
  auto by_family = lines();
  std::string error;
  for (size_t i = 0; i < by_family.size(); ++i) {
    if (!by_family[i].empty()) write_family(families()[i], by_family[i], error);
  }
  return error;
}

bool was_capture_made() noexcept { return was_one_made; }

Capture::Capture(const fs::path& folder) : state_(std::make_unique<State>(whole_path(folder))) {
  was_one_made = true;
  State::Live::get().add(state_.get());
}

Capture::~Capture() {
  flush();
  State::Live::get().remove(state_.get());
}

void Capture::note(const Key& key, int threads) noexcept {
  const auto limit = static_cast<uint16_t>(std::clamp(threads, 0, int{std::numeric_limits<uint16_t>::max()}));
  if (!state_->counters.count(key, limit)) state_->num_dropped.fetch_add(1, std::memory_order_relaxed);
}

/// Converts a new problem to the form in which it will be read.
Capture::State::Text Capture::State::text_of(const Problem& problem) {
  const FamilySpec& family = *find_family(problem.op());
  const Problem named(std::string(family.op), problem.attributes());  // Accepts older names of ops.
  const auto read = as_read(family, {&named, 1});
  if (!read.front()) return {named, 1, ListStatus::refused};
  return {*read.front(), 1, ListStatus::fresh};
}

void Capture::note(const Problem& problem) {
  const Lock lock(state_->texts_mutex);
  auto& texts = state_->texts;
  if (const auto known = texts.find(problem.key()); known != texts.end()) {
    ++known->second.calls;
  } else if (find_family(problem.op()) && texts.size() < kMaxShapes) {
    texts.emplace(problem.key(), state_->text_of(problem));
    ++state_->num_texts;
  } else {
    ++state_->num_dropped;
  }
}

std::string Capture::flush() noexcept {
  while (state_->writing.test_and_set(std::memory_order_acquire)) state_->writing.wait(true);
  std::string error;
  try {
    error = state_->write();
  } catch (const std::exception& failed) {
    error = failed.what();
  }
  state_->writing.clear(std::memory_order_release);
  state_->writing.notify_one();
  return error;
}

uint64_t Capture::num_dropped() const noexcept { return state_->num_dropped + state_->num_refused; }
uint64_t Capture::num_shapes() const noexcept { return state_->counters.num_shapes() + state_->num_texts; }

}  // namespace attune
