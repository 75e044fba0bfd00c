// SPDX-License-Identifier: MIT
#include "formats/csv/ban_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/locations.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "formats/csv/csv_document.h"

namespace attune {
namespace {

constexpr const char* kHeader = "candidate,device,problem,reason\n";

bool is_there(const std::filesystem::path& file) {
  std::error_code missing;
  return std::filesystem::exists(std::filesystem::symlink_status(file, missing));
}

/// Reads the lines of a document one by one.
class BanReader {
 public:
  explicit BanReader(const CsvDocument& document)
      : document_(document),
        candidate_(document.require_column("candidate")),
        device_(document.require_column("device")),
        reason_(document.require_column("reason")),
        problem_(document.find_column("problem")) {}

  /// Throws invalid_input with a clause about the line.
  Ban read(size_t row) const {
    // A torn last line would else ban more than it says: without its device, the kernel of every device.
    if (document_.num_cells(row) != document_.columns().size())
      fail(ErrorCode::invalid_input, "it has {}, the header names {}", counted(document_.num_cells(row), "cell"),
           document_.columns().size());
    const auto cell = [&](size_t column) { return std::string(document_.cell(row, column)); };
    Ban ban{cell(candidate_), cell(device_), problem_ ? cell(*problem_) : "", cell(reason_)};
    if (!is_bannable(ban.candidate))
      fail(ErrorCode::invalid_input, "it names neither a candidate nor a solver: '{}'", shown(ban.candidate));
    if (ban.reason.empty()) fail(ErrorCode::invalid_input, "it states no reason");
    return ban;
  }

 private:
  const CsvDocument& document_;
  size_t candidate_, device_, reason_;
  std::optional<size_t> problem_;
};

}  // namespace

BanFile read_ban_file(const std::filesystem::path& file) {
  BanFile read;
  if (!is_there(file)) return read;
  try {
    if (const auto why = why_not_trusted(file)) fail(ErrorCode::invalid_input, "{}", *why);
    const CsvDocument document = CsvDocument::parse(read_file(file, kMaxBanFileBytes), file.string());
    const BanReader reader(document);
    for (size_t row = 0; row < document.num_rows(); ++row) {
      try {
        read.bans.push_back(reader.read(row));
      } catch (const Error& error) {
        read.notices.push_back(
            fmt::format("{}: a line of banned kernels is skipped: {}", document.where(row), error.what()));
      }
    }
  } catch (const Error& error) {
    read.notices.push_back(fmt::format("the list of banned kernels is skipped: {}", error.what()));
  }
  return read;
}

std::shared_ptr<const BanList> bans_of_user(std::vector<std::string>& notices) {
  const auto overlay = path_if_any(overlay_location);
  if (overlay.empty()) return std::make_shared<const BanList>();
  BanFile read = read_ban_file(overlay / kBanFileName);
  notices.insert(notices.end(), read.notices.begin(), read.notices.end());
  return std::make_shared<const BanList>(std::move(read.bans));
}

void change_ban_file(const std::filesystem::path& file, const std::function<void(std::vector<Ban>& bans)>& change) {
  make_private_folder(file.parent_path());
  const FileLock lock(file, FileLock::Use::shared);
  remove_stale_temporaries(file);
  const BanFile before = read_ban_file(file);
  if (!before.notices.empty())
    fail(ErrorCode::invalid_input, "mend or remove the list first, its other lines would be lost: {}",
         before.notices.front());
  std::vector<Ban> bans = before.bans;
  change(bans);
  if (bans == before.bans) return;
  std::string content = kHeader;
  for (const Ban& ban : bans)
    content += fmt::format("{},{},{},{}\n", csv_cell(ban.candidate), csv_cell(ban.device), csv_cell(ban.problem),
                           csv_cell(ban.reason));
  write_file_atomically(file, content);
}

}  // namespace attune
