// SPDX-License-Identifier: MIT
#include "dispatch/table_snapshot_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/locations.h"
#include "dispatch/table/shared_rows.h"
#include "formats/csv/ban_file.h"

namespace attune {
namespace {

/// Names all that a family's rows depend on.
std::string key_of(const FamilySpec& family, const Snapshot::Tables& tables, const DeviceInfo& device,
                   Requirement required, const BanList& bans) {
  std::string key = fmt::format("{} {} {}\n{}", family.op, device.fingerprint(), text(required), bans.text());
  for (size_t i = 0; i < tables.stamps.size(); ++i) {
    const FileStamp& stamp = tables.stamps[i];
    key += fmt::format("\n{} {} {} {} {}", tables.origins[i], stamp.inode, stamp.size_bytes, stamp.changed_ns,
                       stamp.file.string());
  }
  return key;
}

/// Digest of files in their order; a file that does not exist says nothing. Requires: the stamps were taken before.
std::string contents_of(std::span<const FileStamp> stamps) {
  std::string all;
  for (const FileStamp& stamp : stamps) {
    if (stamp.inode == 0) continue;
    try {
      all += hash128(read_file(stamp.file)).hex() + '\n';
    } catch (const Error&) {
      all += "cannot be read\n";
    }
    // Its rows may be older or newer than the bytes; the next look reads both again.
    if (file_stamp(stamp.file) != stamp)
      all += fmt::format("replaced {} {}\n", ::getpid(), std::chrono::steady_clock::now().time_since_epoch().count());
  }
  return hash128(all).hex();
}

}  // namespace

std::string Snapshot::digest() const {
  std::string all;
  for (const Tables& one : tables) {
    if (one.contents.empty()) return {};
    all += one.contents + '\n';
  }
  return hash128(all + bans->text()).hex();
}

std::vector<std::string> Snapshot::notices() const {
  std::vector<std::string> all = variable_notices;
  all.insert(all.end(), ban_notices.begin(), ban_notices.end());
  for (const Tables& one : tables) {
    if (!one.kept.empty()) all.push_back(one.kept);
    all.insert(all.end(), one.notices.begin(), one.notices.end());
    all.insert(all.end(), one.rows->notices().begin(), one.rows->notices().end());
  }
  return all;
}

std::vector<TableInUse> Snapshot::in_use() const {
  std::vector<TableInUse> all;
  for (size_t op = 0; op < tables.size(); ++op) {
    for (size_t i = 0; i < tables[op].stamps.size(); ++i) {
      const FileStamp& stamp = tables[op].stamps[i];
      all.push_back({std::string(families()[op].op), stamp.file, std::string(tables[op].origins[i]), stamp.inode != 0});
    }
  }
  return all;
}

TableSnapshotStore::TableSnapshotStore(const DispatcherOptions& options, const FamilyCodes& codes)
    : options_(options), codes_(codes) {
  read_environment();
}

void TableSnapshotStore::read_environment() {
  places_.clear();
  variable_notices_ = table_variable_notices();
  ban_file_ = fixed_path(path_if_any(overlay_location));
  if (!ban_file_.empty()) ban_file_ /= kBanFileName;
  for (const FamilySpec& family : families()) {
    TablePlaces& places = places_.emplace_back(table_places(family));
    for (auto& file : places.named) file = fixed_path(file);
    places.overlay = fixed_path(places.overlay);
    places.configs = fixed_path(places.configs);
  }
}

bool TableSnapshotStore::are_explicit(size_t family) const {
  return options_.tables.contains(std::string(families()[family].op)) || places_.at(family).strict;
}

NamedTableCheck TableSnapshotStore::check_named(const std::filesystem::path& file, size_t family,
                                                const DeviceInfo& device) const {
  const FileStamp stamp = file_stamp(file);  // Before the file is read: a later change is seen next time.
  CheckedTable& known = checked_[{family, file}];
  if (known.stamp != stamp || known.device != device.fingerprint() || stamp.inode == 0)
    known = {stamp, device.fingerprint(), check_named_table(file, families()[family], &device)};
  return known.check;
}

TableSources TableSnapshotStore::sources(size_t family, const DeviceInfo& device) const {
  const auto named = options_.tables.find(std::string(families()[family].op));
  if (named == options_.tables.end())
    return table_sources(families()[family], places_[family],
                         [&](const std::filesystem::path& file) { return check_named(file, family, device); });
  TableSources all;
  for (const auto& file : named->second) all.files.push_back({file, Origin::variable});
  return all;
}

/// Sets what is banned now; returns whether that differs from `before`.
bool TableSnapshotStore::read_bans(Snapshot& fresh, const Snapshot* before) const {
  fresh.bans_stamp = file_stamp(ban_file_);
  if (before != nullptr && before->bans_stamp == fresh.bans_stamp) {
    fresh.bans = before->bans;
    fresh.ban_notices = before->ban_notices;
    return false;
  }
  BanFile read = ban_file_.empty() ? BanFile() : read_ban_file(ban_file_);
  fresh.bans = std::make_shared<const BanList>(std::move(read.bans));
  fresh.ban_notices = std::move(read.notices);
  return before != nullptr;
}

std::unique_ptr<Snapshot> TableSnapshotStore::read(const DeviceInfo& device, const Snapshot* before) const {
  auto fresh = std::make_unique<Snapshot>();
  fresh->tables.resize(codes_.size());
  const bool bans_changed = read_bans(*fresh, before);
  fresh->variable_notices = variable_notices_;
  bool changed = before == nullptr || bans_changed;
  for (size_t op = 0; op < codes_.size(); ++op) {
    TableSources all = sources(op, device);
    if (before == nullptr && !all.error.empty()) fail(ErrorCode::invalid_input, "{}", all.error);
    Snapshot::Tables& tables = fresh->tables[op];
    for (const TableSource& source : all.files) {
      tables.stamps.push_back(file_stamp(source.file));
      tables.origins.push_back(name(source.origin));
    }
    tables.notices = std::move(all.notices);
    tables.none_serves = !all.why_none_serves.empty();
    if (before != nullptr && !bans_changed && before->tables[op].stamps == tables.stamps &&
        before->tables[op].notices == tables.notices && (!makes_digests_ || !before->tables[op].contents.empty())) {
      tables.rows = before->tables[op].rows;
      tables.contents = before->tables[op].contents;
      tables.kept = before->tables[op].kept;
      continue;
    }
    changed = true;
    // New bans hold at once, and earlier rows do not know them.
    if (before != nullptr && !bans_changed && tables.none_serves &&
        (!before->tables[op].none_serves || !before->tables[op].kept.empty())) {
      tables.rows = before->tables[op].rows;
      tables.contents = before->tables[op].contents;
      tables.kept = all.why_none_serves + "; its earlier rows stay in use";
      continue;
    }
    tables.rows = shared_rows(key_of(families()[op], tables, device, options_.require, *fresh->bans), [&] {
      return std::make_shared<const RowIndex>(codes_.at(op), std::move(all.files), device, options_.require,
                                              fresh->bans);
    });
    if (makes_digests_) tables.contents = contents_of(tables.stamps);
  }
  return changed ? std::move(fresh) : nullptr;
}

std::unique_ptr<Snapshot> TableSnapshotStore::without_rows(const DeviceInfo& device, const Snapshot& other) const {
  auto bare = std::make_unique<Snapshot>();
  bare->tables.resize(codes_.size());
  bare->bans_stamp = other.bans_stamp;
  bare->ban_notices = other.ban_notices;
  bare->bans = other.bans;
  for (size_t op = 0; op < codes_.size(); ++op)
    bare->tables[op].rows = std::make_shared<const RowIndex>(codes_.at(op), std::vector<TableSource>(), device,
                                                             options_.require, bare->bans);
  return bare;
}

}  // namespace attune
