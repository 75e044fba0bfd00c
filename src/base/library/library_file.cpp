// SPDX-License-Identifier: MIT
#include "base/library/library_file.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/descriptor.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

/// The folders in which the loader looks for the program's libraries, in its order.
std::vector<fs::path> loader_folders() {
  void* const program = ::dlopen(nullptr, RTLD_NOW);
  Dl_serinfo size{};
  if (program == nullptr || ::dlinfo(program, RTLD_DI_SERINFOSIZE, &size) != 0) return {};
  const auto memory = std::make_unique<std::byte[]>(size.dls_size);
  auto* const info = reinterpret_cast<Dl_serinfo*>(memory.get());
  *info = size;
  if (::dlinfo(program, RTLD_DI_SERINFO, info) != 0) return {};
  std::vector<fs::path> folders;
  for (unsigned i = 0; i < size.dls_cnt; ++i) folders.emplace_back(info->dls_serpath[i].dls_name);
  return folders;
}

template <typename Record>
bool read_at(const Descriptor& file, uint64_t offset, Record& record) {
  return ::pread(file.number(), &record, sizeof record, static_cast<off_t>(offset)) == ssize_t{sizeof record};
}

bool is_within(uint64_t offset, uint64_t bytes, uint64_t size) { return offset <= size && bytes <= size - offset; }

bool has_segments(const Descriptor& file, const Elf64_Ehdr& header, uint64_t size) {
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!read_at(file, header.e_phoff + i * sizeof segment, segment)) return false;
    if (segment.p_type == PT_LOAD && !is_within(segment.p_offset, segment.p_filesz, size)) return false;
  }
  return true;
}

/// Whether the file has its table of sections, which linkers write last, or was made without one.
bool has_sections(const Descriptor& file, const Elf64_Ehdr& header, uint64_t size) {
  if (header.e_shoff == 0) return true;
  if (!is_within(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr), size)) return false;
  if (header.e_shstrndx == SHN_UNDEF || header.e_shstrndx >= header.e_shnum) return true;
  Elf64_Shdr names{};
  return read_at(file, header.e_shoff + header.e_shstrndx * sizeof names, names) && names.sh_type == SHT_STRTAB;
}

}  // namespace

fs::path library_file(const std::string& name) {
  std::error_code error;
  if (name.find('/') != name.npos) return fs::exists(name, error) ? fs::path(name) : fs::path();
  for (const fs::path& folder : loader_folders()) {
    if (fs::path file = folder / name; fs::exists(file, error)) return file;
  }
  return {};
}

std::string flaw_of_library(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const auto size = static_cast<uint64_t>(status.st_size);
  Elf64_Ehdr header{};
  if (!read_at(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  if (has_segments(file, header, size) && has_sections(file, header, size)) return {};
  return fmt::format("the file is cut off or was not written to its end: '{}'", path.string());
}

}  // namespace attune
