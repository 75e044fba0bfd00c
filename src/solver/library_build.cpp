// SPDX-License-Identifier: MIT
#include "solver/library_build.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/sha256.h"

namespace attune {
namespace {

struct Search {
  std::string_view file_name;
  std::string path, build_id;
};

std::string hex_of(const unsigned char* bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

/// A note is a name's length, a descriptor's length and a type, then both, each padded to four bytes (elf(5)).
std::string build_id_of(const unsigned char* notes, size_t size) {
  const auto padded = [](size_t bytes) { return (bytes + 3) & ~size_t{3}; };
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const size_t name = at + sizeof note, descriptor = name + padded(note.n_namesz);
    if (descriptor + note.n_descsz > size) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0)
      return hex_of(notes + descriptor, note.n_descsz);
    at = descriptor + padded(note.n_descsz);
  }
  return {};
}

int visit(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (std::filesystem::path(info->dlpi_name).filename() != search.file_name) return 0;
  search.path = info->dlpi_name;
  for (int i = 0; i < info->dlpi_phnum && search.build_id.empty(); ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader says where it mapped the segment as a number.
    const auto* notes = reinterpret_cast<const unsigned char*>(info->dlpi_addr + header.p_vaddr);
    search.build_id = build_id_of(notes, header.p_memsz);
  }
  return 1;
}

}  // namespace

std::string library_build(std::string_view file_name) {
  Search search{file_name, {}, {}};
  dl_iterate_phdr(visit, &search);
  if (search.path.empty() || !search.build_id.empty()) return search.build_id;
  try {
    return "sha256:" + sha256_of_file(search.path);
  } catch (const Error&) {
    return {};  // The file was replaced while the library is loaded: its build is unknown.
  }
}

}  // namespace attune
