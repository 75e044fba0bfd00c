// SPDX-License-Identifier: MIT
#include "dispatch/online/online_queue.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "dispatch/capture/capture_files.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/untuned_table.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

/// Returns a name such as `cpu_0-x86-64-v3-2`; unsafe characters of the device's facts become `_`.
std::string folder_name(const DeviceInfo& device) {
  std::string name = fmt::format("{}-{}-{}", device.id, device.gfx, device.num_units);
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '-' && letter != '+') letter = '_';
  }
  return name;
}

/// A parsed queue file, and which of its rows are shapes.
struct QueueFile {
  CsvDocument document;
  std::vector<std::optional<Problem>> problems;  ///< By row; empty: no shape.
  std::vector<std::string> notices;
};

/// Throws invalid_input for a file that is no shape list at all.
QueueFile read_queue(const fs::path& file, const FamilySpec& family) {
  QueueFile queue{CsvDocument::read(file), {}, {}};
  const KeyCells cells(queue.document, family, Strictness::shape);
  for (size_t row = 0; row < queue.document.num_rows(); ++row) {
    try {
      queue.document.check_cells(row);
      queue.problems.emplace_back(cells.problem(row));
    } catch (const Error& error) {
      queue.problems.emplace_back();
      queue.notices.push_back(fmt::format("a line is not a shape and is skipped: {}", error.what()));
    }
  }
  return queue;
}

}  // namespace

OnlineQueue::OnlineQueue(const fs::path& state, const DeviceInfo& device)
    : folder_(state / "online" / folder_name(device)), log_(state / "online" / "log.txt") {}

fs::path OnlineQueue::file(const FamilySpec& family) const { return folder_ / untuned_file_name(family); }

size_t OnlineQueue::add(const FamilySpec& family, std::span<const Problem> problems) const {
  // A short wait: the dispatcher's thread has other work and tries again later.
  constexpr double kLockWaitS = 0.2;
  return add_shapes(file(family), family, problems, kLockWaitS);
}

bool OnlineQueue::is_waiting() const noexcept {
  try {
    std::error_code missing;
    return std::any_of(families().begin(), families().end(),
                       [&](const FamilySpec& family) { return fs::exists(file(family), missing); });
  } catch (...) {
    return false;  // No memory for a path; the caller asks again soon.
  }
}

std::vector<WaitingShapes> OnlineQueue::read() const {
  std::vector<WaitingShapes> all;
  for (const FamilySpec& family : families()) {
    std::error_code missing;
    if (!fs::exists(file(family), missing)) continue;
    WaitingShapes waiting{.family = &family, .problems = {}, .notices = {}};
    try {
      QueueFile queue = read_queue(file(family), family);
      waiting.notices = std::move(queue.notices);
      std::set<std::string> known;
      for (const auto& problem : queue.problems) {
        if (problem && known.insert(key_text(family, *problem)).second) waiting.problems.push_back(*problem);
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_input) throw;
      if (!fs::exists(file(family), missing)) continue;
      waiting.notices.push_back(fmt::format("the queue is not a list of shapes and is moved to '{}.bad': {}",
                                            file(family).string(), error.what()));
    }
    all.push_back(std::move(waiting));
  }
  return all;
}

void OnlineQueue::remove(const FamilySpec& family, std::span<const Problem> problems) const {
  const fs::path path = file(family);
  const FileLock lock(path, FileLock::Use::alone);
  remove_stale_temporaries(path);
  std::error_code error;
  if (!fs::exists(path, error)) return;
  std::set<std::string> gone;
  for (const Problem& problem : problems) gone.insert(key_text(family, problem));
  std::string text;
  try {
    const QueueFile queue = read_queue(path, family);
    for (size_t row = 0; row < queue.problems.size(); ++row) {
      const auto& problem = queue.problems[row];
      if (!problem || gone.contains(key_text(family, *problem))) continue;
      if (text.empty()) text = queue.document.head();
      if (!text.ends_with('\n')) text += '\n';
      text += queue.document.raw(row);
    }
  } catch (const Error& bad) {
    if (bad.code() != ErrorCode::invalid_input) throw;
    fs::path aside = path;
    aside += ".bad";
    fs::rename(path, aside, error);
    if (error) fail(ErrorCode::io, "cannot move the file away ({}), remove it: '{}'", error.message(), path.string());
    return;
  }
  if (!text.empty()) {
    write_file_atomically(path, text, 0600);
    return;
  }
  fs::remove(path, error);
  if (error) fail(ErrorCode::io, "cannot remove the file ({}): '{}'", error.message(), path.string());
}

}  // namespace attune
