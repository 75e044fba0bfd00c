// SPDX-License-Identifier: MIT
#include "store/fleet/fleet_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/mutex.h"

namespace attune {
namespace {

constexpr std::string_view kSqliteMagic{"SQLite format 3\0", 16};
constexpr size_t kIdOffset = 68, kHeaderSize = 100;  // https://sqlite.org/fileformat2.html#the_database_header

/// Descriptors of the stores that this process has opened. They stay open: closing one would drop the locks of the
/// process's connections to that file.
class HeldFiles {
 public:
  bool has(const struct stat& status) {
    const Lock lock(mutex_);
    return held_.contains({status.st_dev, status.st_ino});
  }
  void add(const struct stat& status, int descriptor) {
    const Lock lock(mutex_);
    held_.emplace(std::pair(status.st_dev, status.st_ino), descriptor);
  }

 private:
  Mutex mutex_;
  std::multimap<std::pair<dev_t, ino_t>, int> held_ ATTUNE_GUARDED_BY(mutex_);
};

HeldFiles& held_files() {
  static auto* const files = new HeldFiles;  // Never destroyed: connections of other threads may live longer.
  return *files;
}

[[noreturn]] void fail_to_open(const std::filesystem::path& file, int error) {
  if (error == ELOOP)
    fail(ErrorCode::invalid_input, "a fleet's store must not be a link, name the file itself with {}: '{}'",
         kFleetWords.setting, file.string());
  if (error == ENOSPC || error == EDQUOT)
    fail(ErrorCode::io, "no space left for the fleet's store, free some or name another with {}: '{}'",
         kFleetWords.setting, file.string());
  fail(ErrorCode::invalid_input, "the fleet's store cannot be opened for writing ({}), name another with {}: '{}'",
       std::strerror(error), kFleetWords.setting, file.string());
}

/// Whether a file is known to be a store: its header has the application id. Throws invalid_input for a file that is
/// another program's.
bool has_fleet_header(const std::filesystem::path& file, int descriptor) {
  std::array<unsigned char, kHeaderSize> header{};
  const ssize_t count = ::pread(descriptor, header.data(), header.size(), 0);
  if (count < 0) fail_to_open(file, errno);
  if (count == 0) return false;  // New, or its first transaction is in the log.
  const bool is_database =
      count == kHeaderSize && std::memcmp(header.data(), kSqliteMagic.data(), kSqliteMagic.size()) == 0;
  const unsigned char* const id = &header.at(kIdOffset);
  const auto number =
      static_cast<int>(uint32_t{id[0]} << 24 | uint32_t{id[1]} << 16 | uint32_t{id[2]} << 8 | uint32_t{id[3]});
  // Turning the log on writes a first page without an id; migrate_fleet() then counts the tables.
  if (!is_database || (number != kFleetApplicationId && number != 0)) fail_other_program(file.string());
  return number == kFleetApplicationId;
}

}  // namespace

std::string_view network_file_system(int64_t number) noexcept {
  // statfs(2) and the file systems' own headers.
  constexpr std::pair<int64_t, std::string_view> kNames[] = {
      {0x6969, "NFS"},       {0x517b, "SMB"},        {0xff534d42, "CIFS"},   {0xfe534d42, "SMB"},
      {0x5346414f, "AFS"},   {0x73757245, "Coda"},   {0x564c, "NCP"},        {0x0bd00bd0, "Lustre"},
      {0x47504653, "GPFS"},  {0x00c36400, "CephFS"}, {0x19830326, "BeeGFS"}, {0xaad7aaea, "PanFS"},
      {0x013111a8, "IBRIX"}, {0x7461636f, "OCFS2"},  {0x01161970, "GFS2"}};
  for (const auto& [one, name] : kNames) {
    if (one == (number & 0xffffffff)) return name;
  }
  return {};
}

std::string_view network_file_system(const std::filesystem::path& path) {
  struct statfs system {};
  for (std::filesystem::path at = path; !at.empty(); at = at.parent_path()) {
    if (::statfs(at.c_str(), &system) == 0) return network_file_system(static_cast<int64_t>(system.f_type));
    if (at == at.parent_path()) break;
  }
  return {};
}

void fail_other_program(const std::string& store) {
  fail(ErrorCode::invalid_input, "the store is not a fleet's but another program's, name another with {}: '{}'",
       kFleetWords.setting, store);
}

void claim_fleet_file(const std::filesystem::path& file) {
  if (file.native().find('"') != std::string::npos)  // SOCI cannot open it.
    fail(ErrorCode::invalid_input,
         "the path of a fleet's store must not contain a quotation mark, name another with {}: '{}'",
         kFleetWords.setting, file.string());
  if (const auto network = network_file_system(file); !network.empty())
    fail(
        ErrorCode::invalid_input,
        "the fleet's store is on {}, where SQLite's locks cannot be relied on, name a file on a local disk or a server "
        "with {}: '{}'",
        network, kFleetWords.setting, file.string());
  check_not_planted(file);
  for (const char* end : {"-wal", "-shm"}) {
    struct stat companion {};
    const std::string beside = file.string() + end;
    if (::lstat(beside.c_str(), &companion) == 0 && S_ISLNK(companion.st_mode)) fail_to_open(beside, ELOOP);
  }
  if (file.has_parent_path()) make_private_folder(file.parent_path());
  struct stat status {};
  if (::lstat(file.c_str(), &status) == 0) {
    if (S_ISLNK(status.st_mode)) fail_to_open(file, ELOOP);
    if (!S_ISREG(status.st_mode))
      fail(ErrorCode::invalid_input, "a fleet's store must be a regular file, name another with {}: '{}'",
           kFleetWords.setting, file.string());
    if (held_files().has(status)) return;
  }
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) fail_to_open(file, errno);
  held_files().add(status, descriptor);
  if (!has_fleet_header(file, descriptor)) return;
  constexpr mode_t kOthers = 077;
  if ((status.st_mode & kOthers) == 0 || status.st_uid != ::geteuid()) return;
  if (::fchmod(descriptor, 0600) != 0) fail_to_open(file, errno);
  for (const char* end : {"-wal", "-shm"}) ::chmod((file.string() + end).c_str(), 0600);
}

StoreAddress claimed_address(const std::string& store) {
  StoreAddress address = store_address(store);
  if (!address.is_server()) claim_fleet_file(address.file);
  return address;
}

}  // namespace attune
