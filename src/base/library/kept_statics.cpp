// SPDX-License-Identifier: MIT
#include "base/library/kept_statics.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace attune {
namespace {

int register_nothing(void (*)(void*), void*, void*) noexcept { return 0; }

/// The tables of a loaded library by which the loader has bound its names.
struct Bindings {
  uintptr_t base = 0;
  const char* strings = nullptr;
  const Elf64_Sym* symbols = nullptr;
  std::span<const Elf64_Rela> calls, variables;

  explicit Bindings(const link_map& library) : base(library.l_addr) {
    const Elf64_Rela *first_call = nullptr, *first_variable = nullptr;
    size_t bytes_of_calls = 0, bytes_of_variables = 0;
    for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
      const auto value = entry->d_un.d_val;
      if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(value);
      if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const Elf64_Sym*>(value);
      if (entry->d_tag == DT_JMPREL) first_call = reinterpret_cast<const Elf64_Rela*>(value);
      if (entry->d_tag == DT_RELA) first_variable = reinterpret_cast<const Elf64_Rela*>(value);
      if (entry->d_tag == DT_PLTRELSZ) bytes_of_calls = value;
      if (entry->d_tag == DT_RELASZ) bytes_of_variables = value;
    }
    if (first_call != nullptr) calls = {first_call, bytes_of_calls / sizeof(Elf64_Rela)};
    if (first_variable != nullptr) variables = {first_variable, bytes_of_variables / sizeof(Elf64_Rela)};
  }

  std::string_view name_of(const Elf64_Rela& binding) const {
    return strings + symbols[ELF64_R_SYM(binding.r_info)].st_name;
  }
};

/// The pages that the loader has made read-only after it bound the names.
struct ReadOnlyPages {
  uintptr_t base = 0, first = 0, end = 0;

  explicit ReadOnlyPages(uintptr_t library) : base(library) { ::dl_iterate_phdr(&find, this); }
  bool hold(uintptr_t address) const { return address >= first && address < end; }

 private:
  static int find(dl_phdr_info* library, size_t, void* pages) noexcept {
    auto& found = *static_cast<ReadOnlyPages*>(pages);
    if (library->dlpi_addr != found.base) return 0;
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    for (const auto& segment : std::span(library->dlpi_phdr, library->dlpi_phnum)) {
      if (segment.p_type != PT_GNU_RELRO) continue;
      found.first = (found.base + segment.p_vaddr) & ~(page - 1);
      found.end = (found.base + segment.p_vaddr + segment.p_memsz) & ~(page - 1);
    }
    return 1;
  }
};

void bind(const Bindings& library, const ReadOnlyPages& pages, const Elf64_Rela& binding) noexcept {
  const uintptr_t place = library.base + binding.r_offset;
  const auto page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  void* const page = reinterpret_cast<void*>(place & ~(page_bytes - 1));
  const bool is_read_only = pages.hold(place);
  if (is_read_only && ::mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return;
  *reinterpret_cast<int (**)(void (*)(void*), void*, void*) noexcept>(place) = &register_nothing;
  if (is_read_only) ::mprotect(page, page_bytes, PROT_READ);
}

}  // namespace

void keep_statics(const std::string& name) noexcept {
  void* const handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return;
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) {
    const Bindings library(*map);
    const ReadOnlyPages pages(library.base);
    for (const auto& table : {library.calls, library.variables}) {
      for (const Elf64_Rela& binding : table) {
        const auto type = ELF64_R_TYPE(binding.r_info);
        if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) && library.name_of(binding) == "__cxa_atexit")
          bind(library, pages, binding);
      }
    }
  }
  ::dlclose(handle);
}

}  // namespace attune
