// SPDX-License-Identifier: MIT
#include "dispatch/table_snapshot_store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "dispatch/table/shared_rows.h"

namespace attune {
namespace {

FileStamp stamp_of(const std::filesystem::path& file) {
  FileStamp stamp{.file = file};
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return stamp;
  stamp.inode = status.st_ino;
  stamp.bytes = static_cast<uint64_t>(status.st_size);
  stamp.changed_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return stamp;
}

/// Names all that a family's rows depend on.
std::string key_of(const FamilySpec& family, const Snapshot::Tables& tables, const DeviceInfo& device,
                   Requirement required) {
  std::string key = fmt::format("{} {} {}", family.op, device.fingerprint(), text(required));
  for (size_t i = 0; i < tables.stamps.size(); ++i) {
    const FileStamp& stamp = tables.stamps[i];
    key += fmt::format("\n{} {} {} {} {}", tables.origins[i], stamp.inode, stamp.bytes, stamp.changed_ns,
                       stamp.file.string());
  }
  return key;
}

}  // namespace

std::vector<std::string> Snapshot::notices() const {
  std::vector<std::string> all;
  for (const Tables& one : tables) {
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
  for (const FamilySpec& family : families()) places_.push_back(table_places(family));
}

bool TableSnapshotStore::are_explicit(size_t family) const {
  return options_.tables.contains(std::string(families()[family].op)) || places_.at(family).strict;
}

TableSources TableSnapshotStore::sources(size_t family) const {
  const auto named = options_.tables.find(std::string(families()[family].op));
  if (named == options_.tables.end()) return table_sources(families()[family], places_[family]);
  TableSources all;
  for (const auto& file : named->second) all.files.push_back({file, Origin::variable});
  return all;
}

std::unique_ptr<Snapshot> TableSnapshotStore::read(const DeviceInfo& device, const Snapshot* before) const {
  auto fresh = std::make_unique<Snapshot>();
  fresh->tables.resize(codes_.size());
  bool changed = before == nullptr;
  for (size_t op = 0; op < codes_.size(); ++op) {
    TableSources all = sources(op);
    Snapshot::Tables& tables = fresh->tables[op];
    for (const TableSource& source : all.files) {
      tables.stamps.push_back(stamp_of(source.file));
      tables.origins.push_back(name(source.origin));
    }
    tables.notices = std::move(all.notices);
    if (before != nullptr && before->tables[op].stamps == tables.stamps &&
        before->tables[op].notices == tables.notices) {
      tables.rows = before->tables[op].rows;
      continue;
    }
    changed = true;
    tables.rows = shared_rows(key_of(families()[op], tables, device, options_.require), [&] {
      return std::make_shared<const RowIndex>(codes_.at(op), std::move(all.files), device, options_.require);
    });
  }
  return changed ? std::move(fresh) : nullptr;
}

}  // namespace attune
