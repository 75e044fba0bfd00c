// SPDX-License-Identifier: MIT
#include "compile/elf_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"

namespace attune {
namespace {

/// A shared object without code: only dynamic symbols and their names.
struct Object {
  std::string names = std::string(1, '\0');
  std::vector<Elf64_Sym> symbols = {{}};
  uint16_t num_sections = 3;
  uint32_t type = SHT_DYNSYM;

  void add(std::string_view name, uint8_t binding, uint8_t visibility, uint16_t section) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<uint32_t>(names.size());
    symbol.st_info = static_cast<uint8_t>(ELF64_ST_INFO(binding, STT_FUNC));
    symbol.st_other = visibility;
    symbol.st_shndx = section;
    symbols.push_back(symbol);
    names += name;
    names += '\0';
  }

  /// Makes the section of names one of code.
  uint64_t names_flags = 0;
  uint32_t names_type = SHT_STRTAB;
  uint64_t more_bytes = 0;  ///< That the section of names claims beyond the end.

  std::string file() const {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shoff = sizeof(header);
    header.e_shnum = num_sections;
    Elf64_Shdr sections[3]{};
    sections[1].sh_type = type;
    sections[1].sh_offset = sizeof(header) + sizeof(sections);
    sections[1].sh_size = symbols.size() * sizeof(Elf64_Sym);
    sections[1].sh_link = 2;
    sections[2].sh_type = names_type;
    sections[2].sh_flags = names_flags;
    sections[2].sh_offset = sections[1].sh_offset + sections[1].sh_size;
    sections[2].sh_size = names.size() + more_bytes;
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
    bytes.append(reinterpret_cast<const char*>(sections), sizeof(sections));
    bytes.append(reinterpret_cast<const char*>(symbols.data()), symbols.size() * sizeof(Elf64_Sym));
    return bytes + names;
  }
};

Object object() {
  Object result;
  result.add("gemm", STB_GLOBAL, STV_DEFAULT, 1);
  result.add("weak", STB_WEAK, STV_PROTECTED, 1);
  result.add("memset", STB_GLOBAL, STV_DEFAULT, SHN_UNDEF);
  result.add("inner", STB_LOCAL, STV_DEFAULT, 1);
  result.add("hidden", STB_GLOBAL, STV_HIDDEN, 1);
  return result;
}

using Names = std::set<std::string, std::less<>>;

TEST(ExportedSymbols, AreWhatTheFileDefinesForOthers) {
  EXPECT_EQ(exported_symbols(object().file()), (Names{"gemm", "weak"}));
}

TEST(ExportedSymbols, AFileWithoutDynamicSymbolsIsReadByItsStaticOnes) {
  Object static_only = object();
  static_only.type = SHT_SYMTAB;
  EXPECT_EQ(exported_symbols(static_only.file()), (Names{"gemm", "weak"}));
}

TEST(ExportedSymbols, AFileWithoutSymbolsHasNone) {
  Object bare = object();
  bare.num_sections = 1;
  EXPECT_EQ(exported_symbols(bare.file()), Names{});
}

TEST(ExportedSymbols, OtherKindsOfFilesAreNotRead) {
  EXPECT_EQ(exported_symbols(""), std::nullopt);
  EXPECT_EQ(exported_symbols("// .version 8.0\n.target sm_90\n" + std::string(100, ' ')), std::nullopt);
  std::string small = object().file();
  small[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(exported_symbols(small), std::nullopt);
}

TEST(ExportedSymbols, EveryTruncatedFileIsRefusedOrReadWithinItsBounds) {
  const std::string file = object().file();
  size_t refused = 0;
  for (size_t size = sizeof(Elf64_Ehdr); size < file.size(); ++size) {
    // The copy has exactly this size, so that AddressSanitizer detects reads beyond it.
    const std::string cut(file.data(), size);
    try {
      exported_symbols(std::string_view(cut.data(), cut.size()));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      ++refused;
    }
  }
  EXPECT_EQ(refused, file.size() - sizeof(Elf64_Ehdr));
}

TEST(ExportedSymbols, NumbersThatOverflowAreRefused) {
  const std::string good = object().file();
  Elf64_Shdr section;
  const size_t at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr);
  const auto with = [&](auto change) {
    std::memcpy(&section, good.data() + at, sizeof(section));
    change(section);
    std::string file = good;
    std::memcpy(file.data() + at, &section, sizeof(section));
    return file;
  };
  EXPECT_THROW(exported_symbols(with([](Elf64_Shdr& s) { s.sh_offset = ~0ULL; })), Error);
  EXPECT_THROW(exported_symbols(with([](Elf64_Shdr& s) { s.sh_size = ~0ULL; })), Error);
  EXPECT_THROW(exported_symbols(with([](Elf64_Shdr& s) { s.sh_link = 7; })), Error);
}

TEST(CodeBytes, AreTheSizesOfExecutableSections) {
  Object code = object();
  EXPECT_EQ(code_bytes(code.file()), 0u);
  code.names_type = SHT_PROGBITS;
  EXPECT_EQ(code_bytes(code.file()), 0u) << "data";
  code.names_flags = SHF_ALLOC | SHF_EXECINSTR;
  EXPECT_EQ(code_bytes(code.file()), code.names.size());
  code.more_bytes = 1;
  EXPECT_THROW(code_bytes(code.file()), Error);
  EXPECT_EQ(code_bytes("// .version 8.0\n.target sm_90\n" + std::string(100, ' ')), std::nullopt);
}

/// The header of a cubin with this ABI version and flags.
std::string cubin_header(uint8_t version, uint32_t flags, uint16_t machine = EM_CUDA) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_ABIVERSION] = version;
  header.e_machine = machine;
  header.e_flags = flags;
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

TEST(ElfFile, TellsTheArchitectureOfACubin) {
  EXPECT_EQ(cubin_architecture(cubin_header(7, 0x5a0d5a)), 90) << "of ptxas 12.8 for sm_90a";
  EXPECT_EQ(cubin_architecture(cubin_header(8, 0xa005a04)), 90) << "of ptxas 13.4 for sm_90a";
  EXPECT_EQ(cubin_architecture(cubin_header(8, 0x6007802)), 120);
  EXPECT_EQ(cubin_architecture(cubin_header(7, 0x5a0d5a, EM_X86_64)), std::nullopt);
  EXPECT_EQ(cubin_architecture(cubin_header(7, 0x5a0d5a).substr(0, 63)), std::nullopt);
  EXPECT_EQ(cubin_architecture("text"), std::nullopt);
}

TEST(PtxasReport, HasTheFactsOfTheLargestKernel) {
  constexpr std::string_view kLog =
      "ptxas info    : Function properties for f\n    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill "
      "loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 256 bytes smem\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 168 registers\n";
  EXPECT_EQ(ptxas_report(kLog),
            (std::map<std::string, std::string>{{"registers", "168"}, {"spills", "32"}, {"shared_bytes", "256"}}));
  EXPECT_TRUE(ptxas_report("no such report: registers, 12 bytes").empty());
}

}  // namespace
}  // namespace attune
