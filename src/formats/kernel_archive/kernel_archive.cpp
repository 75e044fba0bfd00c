// SPDX-License-Identifier: MIT
#include "formats/kernel_archive/kernel_archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/blocked_write_signals.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "compile/cache_entry.h"
#include "compile/compilation.h"
#include "compile/compiler.h"
#include "process/temporary_folder.h"

namespace attune::kernel_archive {
namespace {

namespace fs = std::filesystem;

/// A field of a member's header: `ustar` of POSIX.1-1988.
struct Field {
  size_t at, size;
};
constexpr size_t kBlock = 512;
constexpr Field kName{0, 100}, kMode{100, 8}, kUser{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12},
    kSum{148, 8}, kType{156, 1}, kMagic{257, 8}, kPrefix{345, 155};
constexpr std::string_view kUstar(
    "ustar\0"
    "00",
    8);
constexpr char kRegular = '0';

std::string_view text_of(std::string_view header, Field field) {
  const std::string_view text = header.substr(field.at, field.size);
  return text.substr(0, text.find('\0'));
}

void put_number(std::string& header, Field field, uint64_t value) {
  const std::string digits = fmt::format("{:0{}o}", value, field.size - 1);
  header.replace(field.at, digits.size(), digits);
}

std::optional<uint64_t> number_of(std::string_view header, Field field) {
  const std::string_view digits = trim(text_of(header, field));
  if (digits.empty() || digits.find_first_not_of("01234567") != digits.npos) return std::nullopt;
  uint64_t value = 0;
  for (const char digit : digits) value = 8 * value + static_cast<uint64_t>(digit - '0');  // Of 12 digits at most.
  return value;
}

/// The sum of a header's bytes, its own field as blanks.
uint64_t sum_of(std::string_view header) {
  const auto add = [](uint64_t sum, char byte) { return sum + static_cast<unsigned char>(byte); };
  const std::string_view own = header.substr(kSum.at, kSum.size);
  return std::accumulate(header.begin(), header.end(), uint64_t{kSum.size * ' '}, add) -
         std::accumulate(own.begin(), own.end(), uint64_t{0}, add);
}

std::string header_of(const std::string& folder, std::string_view name, uint64_t size) {
  if (folder.size() > kPrefix.size)
    fail(ErrorCode::invalid_input, "the names of a kernel's folders are too long for an archive: '{}'", folder);
  std::string header(kBlock, '\0');
  header.replace(kPrefix.at, folder.size(), folder);
  header.replace(kName.at, name.size(), name);
  for (const auto& [field, value] :
       {std::pair<Field, uint64_t>{kMode, 0600}, {kUser, 0}, {kGroup, 0}, {kSize, size}, {kTime, 0}})
    put_number(header, field, value);
  header[kType.at] = kRegular;
  header.replace(kMagic.at, kUstar.size(), kUstar);
  put_number(header, kSum, sum_of(header));
  return header;
}

/// A file that appears under its name when it is complete.
class NewFile {
 public:
  explicit NewFile(fs::path target) : target_(std::move(target)), path_(target_.string() + ".XXXXXX") {
    descriptor_ = ::mkostemp(path_.data(), O_CLOEXEC);
    if (descriptor_ < 0) fail_write();
  }
  ~NewFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  void write(std::string_view bytes) {
    const BlockedWriteSignals blocked;
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) fail_write();
      bytes.remove_prefix(written < 0 ? 0 : static_cast<size_t>(written));
    }
  }
  void complete() {
    if (::fsync(descriptor_) != 0 || ::rename(path_.c_str(), target_.c_str()) != 0) fail_write();
    ::close(std::exchange(descriptor_, -1));
  }

 private:
  [[noreturn]] void fail_write() const {
    fail(ErrorCode::io, "cannot write the archive ({}), name another file: '{}'", std::strerror(errno),
         target_.string());
  }
  fs::path target_;
  std::string path_;
  int descriptor_ = -1;
};

void write_member(NewFile& to, const std::string& folder, std::string_view name, std::string_view content) {
  to.write(header_of(folder, name, content.size()));
  to.write(content);
  to.write(std::string((kBlock - content.size() % kBlock) % kBlock, '\0'));
}

/// A kernel of an archive, checked: its description is of its place, and its content of its description.
struct ArchivedKernel {
  Binary binary;  ///< Without a file.
  std::string content;
};

class ArchiveReader {
 public:
  explicit ArchiveReader(const fs::path& file) : path_(file), file_(file) {}

  /// Nothing: that was the last one. Throws invalid_input.
  std::optional<ArchivedKernel> next() {
    const auto described = member(cache_entry::kDescription, cache_entry::kMaxDescriptionBytes);
    if (!described) return std::nullopt;
    ArchivedKernel kernel;
    try {
      kernel.binary = cache_entry::described_by(described->content);
    } catch (const Error& error) {
      refuse(error.what());
    }
    const Binary& binary = kernel.binary;
    for (const std::string& name : {binary.arch, binary.recipe, binary.toolchain}) {
      if (!cache_entry::is_name(name)) refuse("a description has no valid names");
    }
    if (described->folder != binary.arch + '/' + binary.recipe + '/' + binary.toolchain)
      refuse("a description is of another place than its path");
    auto content = member(cache_entry::kBinary, kMaxBinaryBytes);
    if (!content || content->folder != described->folder) refuse("a description is not followed by its kernel");
    kernel.content = std::move(content->content);
    if (sha256(kernel.content) != binary.sha256) refuse("a kernel does not have the digest of its description");
    if (!cache_entry::fits(binary.arch, kernel.content)) refuse("a kernel is of another architecture than its folder");
    return kernel;
  }

 private:
  struct Member {
    std::string folder, content;
  };

  /// The next member, which must have this name; nothing at the end.
  std::optional<Member> member(std::string_view name, uint64_t max_bytes) {
    const std::string header = bytes(kBlock);
    if (std::ranges::all_of(header, [](char byte) { return byte == 0; })) return std::nullopt;
    if (header.substr(kMagic.at, kMagic.size) != kUstar || number_of(header, kSum) != sum_of(header))
      refuse("this is no header of a file");
    if (header[kType.at] != kRegular) refuse("only plain files are expected");
    const auto size = number_of(header, kSize);
    if (text_of(header, kName) != name) refuse(fmt::format("the file '{}' is expected", name));
    if (!size || *size > max_bytes) refuse(fmt::format("a file of at most {} bytes is expected", max_bytes));
    Member found{std::string(text_of(header, kPrefix)), bytes(*size)};
    bytes((kBlock - *size % kBlock) % kBlock);
    return found;
  }

  std::string bytes(uint64_t count) {
    std::string read;
    while (read.size() < count) {
      const size_t before = read.size();
      read.resize(std::min<uint64_t>(count, before + kPiece));  // A size that is not there allocates nothing.
      const size_t got = file_.read(std::span(read).subspan(before));
      read.resize(before + got);
      if (got == 0) refuse("it ends too early");
    }
    at_ += count;
    return read;
  }

  [[noreturn]] void refuse(std::string_view why) const {
    fail(ErrorCode::invalid_input,
         "{}: not an archive of `attune kernels export`, or a damaged one, before byte {}: {}",
         shown(path_.string(), 500), at_, why);
  }

  static constexpr uint64_t kPiece = 1 << 20;
  const fs::path path_;
  FileReader file_;
  uint64_t at_ = 0;
};

}  // namespace

size_t write(const fs::path& file, const KernelCache& cache) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(file, error)))
    fail(ErrorCode::invalid_input, "the archive exists, name a new file: '{}'", file.string());
  NewFile archive(file);
  size_t count = 0;
  for (const Binary& binary : cache.list()) {
    std::string content;
    try {
      content = read_file(binary.file, kMaxBinaryBytes);
    } catch (const Error&) {
      continue;  // Another process has removed it.
    }
    if (sha256(content) != binary.sha256) continue;
    const fs::path folder = binary.file.parent_path();
    const std::string place = binary.arch + '/' + binary.recipe + '/' + binary.toolchain;
    write_member(archive, place, cache_entry::kDescription,
                 read_file(folder / cache_entry::kDescription, cache_entry::kMaxDescriptionBytes));
    write_member(archive, place, cache_entry::kBinary, content);
    ++count;
  }
  archive.write(std::string(2 * kBlock, '\0'));
  archive.complete();
  return count;
}

Added add(const fs::path& file, KernelCache& cache) {
  for (ArchiveReader whole(file); whole.next();) continue;
  Added added;
  const TemporaryFolder folder("import");
  ArchiveReader archive(file);
  while (auto kernel = archive.next()) {
    if (!cache_entry::is_of_this_command(kernel->binary)) {
      ++added.outdated;
      continue;
    }
    kernel->binary.file = folder.path() / cache_entry::kBinary;
    write_task_file(kernel->binary.file, kernel->content);
    cache.add(std::move(kernel->binary));
    ++added.kernels;
  }
  return added;
}

}  // namespace attune::kernel_archive
