// SPDX-License-Identifier: MIT
#include "compile/elf_file.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace attune {
namespace {

/// Copies the records: positions in a file need not be aligned.
template <typename Record>
std::vector<Record> records_at(std::string_view file, uint64_t offset, uint64_t count) {
  if (offset > file.size() || count > (file.size() - offset) / sizeof(Record))
    fail(ErrorCode::invalid_input, "the binary is damaged, a table extends beyond its end; compile it again");
  std::vector<Record> records(count);
  if (count != 0) std::memcpy(records.data(), file.data() + offset, count * sizeof(Record));
  return records;
}

std::vector<Elf64_Shdr> sections_of(std::string_view file) {
  const auto header = records_at<Elf64_Ehdr>(file, 0, 1).front();
  return records_at<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
}

std::string_view text_at(std::string_view file, const Elf64_Shdr& texts, uint64_t offset) {
  if (texts.sh_offset > file.size() || texts.sh_size > file.size() - texts.sh_offset || offset >= texts.sh_size)
    fail(ErrorCode::invalid_input, "the binary is damaged, a name extends beyond its end; compile it again");
  const std::string_view rest = file.substr(texts.sh_offset + offset, texts.sh_size - offset);
  return rest.substr(0, rest.find('\0'));
}

bool is_exported(const Elf64_Sym& symbol) {
  const auto binding = ELF64_ST_BIND(symbol.st_info), visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  return symbol.st_shndx != SHN_UNDEF && (binding == STB_GLOBAL || binding == STB_WEAK) &&
         (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

bool is_elf(std::string_view file) noexcept {
  return file.size() >= sizeof(Elf64_Ehdr) && std::memcmp(file.data(), ELFMAG, SELFMAG) == 0 &&
         file[EI_CLASS] == ELFCLASS64 && file[EI_DATA] == ELFDATA2LSB;
}

/// The largest number before a word in the assembler's report: 40 of `Used 40 registers, used 1 barriers`.
std::optional<uint64_t> largest_before(std::string_view log, std::string_view word) {
  std::optional<uint64_t> largest;
  for (size_t at = log.find(word); at != log.npos; at = log.find(word, at + 1)) {
    size_t begin = at;
    while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9') --begin;
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(log.data() + begin, log.data() + at, number);
    if (begin < at && error == std::errc()) largest = std::max(largest.value_or(0), number);
  }
  return largest;
}

}  // namespace

bool is_shared_object(std::string_view file) noexcept {
  if (!is_elf(file)) return false;
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof(header));
  return header.e_type == ET_DYN;
}

std::optional<uint32_t> cubin_architecture(std::string_view file) noexcept {
  constexpr uint8_t kFirstVersionWithShift = 8;
  if (!is_elf(file)) return std::nullopt;
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.e_machine != EM_CUDA) return std::nullopt;
  const int shift = header.e_ident[EI_ABIVERSION] >= kFirstVersionWithShift ? 8 : 0;
  return header.e_flags >> shift & 0xff;
}

std::optional<uint64_t> code_bytes(std::string_view file) {
  if (!is_elf(file)) return std::nullopt;
  uint64_t bytes = 0;
  for (const Elf64_Shdr& section : sections_of(file)) {
    if ((section.sh_flags & SHF_EXECINSTR) == 0 || section.sh_type != SHT_PROGBITS) continue;
    if (section.sh_offset > file.size() || section.sh_size > file.size() - section.sh_offset)
      fail(ErrorCode::invalid_input, "the binary is damaged, its code extends beyond its end; compile it again");
    bytes += section.sh_size;
  }
  return bytes;
}

std::optional<std::set<std::string, std::less<>>> exported_symbols(std::string_view file) {
  if (!is_elf(file)) return std::nullopt;
  const auto sections = sections_of(file);
  const Elf64_Shdr* symbols = nullptr;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type == SHT_DYNSYM || (section.sh_type == SHT_SYMTAB && !symbols)) symbols = &section;
  }
  std::set<std::string, std::less<>> names;
  if (!symbols) return names;
  if (symbols->sh_link >= sections.size())
    fail(ErrorCode::invalid_input, "the binary is damaged, its symbols have no names; compile it again");
  for (const Elf64_Sym& symbol :
       records_at<Elf64_Sym>(file, symbols->sh_offset, symbols->sh_size / sizeof(Elf64_Sym))) {
    if (is_exported(symbol)) names.emplace(text_at(file, sections[symbols->sh_link], symbol.st_name));
  }
  return names;
}

std::map<std::string, std::string> ptxas_report(std::string_view log) {
  std::map<std::string, std::string> found;
  const auto add = [&](const char* name, std::optional<uint64_t> value) {
    if (value) found.emplace(name, std::to_string(*value));
  };
  add("registers", largest_before(log, " registers"));
  const auto stored = largest_before(log, " bytes spill stores"), loaded = largest_before(log, " bytes spill loads");
  if (stored && loaded) add("spills", *stored + *loaded);
  add("shared_bytes", largest_before(log, " bytes smem"));
  return found;
}

}  // namespace attune
