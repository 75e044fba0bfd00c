// SPDX-License-Identifier: MIT
#include "base/library/separate_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/descriptor.h"
#include "base/library/kept_statics.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

/// A part of a file; empty if it is not all there.
std::string read_part(const Descriptor& file, uint64_t offset, uint64_t bytes) {
  constexpr uint64_t kMax = uint64_t{1} << 28;
  if (bytes > kMax) return {};
  std::string part(bytes, '\0');
  return ::pread(file.number(), part.data(), bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes)
             ? part
             : std::string();
}

template <typename Record>
std::vector<Record> records(const std::string& part) {
  std::vector<Record> all(part.size() / sizeof(Record));
  if (!all.empty()) std::memcpy(all.data(), part.data(), all.size() * sizeof(Record));
  return all;
}

/// The sections of an ELF file by their types.
class Sections {
 public:
  explicit Sections(const fs::path& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    const auto header = records<Elf64_Ehdr>(file_.number() < 0 ? "" : read_part(file_, 0, sizeof(Elf64_Ehdr)));
    if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
        header[0].e_ident[EI_CLASS] != ELFCLASS64 || header[0].e_shoff == 0)
      return;
    headers_ = records<Elf64_Shdr>(read_part(file_, header[0].e_shoff, header[0].e_shnum * sizeof(Elf64_Shdr)));
  }

  const Elf64_Shdr* find(uint32_t type) const {
    const auto found = std::ranges::find(headers_, type, &Elf64_Shdr::sh_type);
    return found == headers_.end() ? nullptr : &*found;
  }
  std::string content(const Elf64_Shdr* section) const {
    return section == nullptr ? std::string() : read_part(file_, section->sh_offset, section->sh_size);
  }
  /// The strings that a section's records name.
  std::string strings_of(const Elf64_Shdr* section) const {
    return section == nullptr || section->sh_link >= headers_.size() ? "" : content(&headers_[section->sh_link]);
  }

 private:
  Descriptor file_;
  std::vector<Elf64_Shdr> headers_;
};

std::string text_at(const std::string& strings, uint64_t offset) {
  return offset < strings.size() ? strings.c_str() + offset : std::string();
}

/// The handle of all that the program and what it links or preloads define: the scope in which names are looked up
/// first.
void* global_scope() { return ::dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD); }

const link_map* library_with(const void* address) {
  Dl_info info{};
  link_map* map = nullptr;
  return address != nullptr && ::dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0
             ? map
             : nullptr;
}

/// Whether an opened library has one of the names under which it would be opened.
bool is_one_of(const link_map* library, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [library](const std::string& name) {
    void* const handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return false;
    link_map* map = nullptr;
    const bool is_same = ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map == library;
    ::dlclose(handle);
    return is_same;
  });
}

/// Those that the process does not have yet.
std::vector<std::string> not_loaded(std::vector<std::string> libraries) {
  std::erase_if(libraries, [](const std::string& name) {
    void* const handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) ::dlclose(handle);
    return handle != nullptr;
  });
  return libraries;
}

struct Conflict {
  std::string symbol, library;
};

/// A name that the library would take from another one than those that it links.
std::optional<Conflict> conflict_of(const LibraryNeeds& needs) {
  if (needs.symbols.empty()) return std::nullopt;
  std::vector<std::string> symbols = needs.symbols;
  // OpenBLAS' table of kernels, which all its builds name so, also those whose functions have other names.
  if (std::ranges::any_of(needs.libraries, [](const std::string& one) { return one.starts_with("libopenblas"); }))
    symbols.emplace_back("gotoblas");
  for (const std::string& symbol : symbols) {
    const link_map* const owner = library_with(::dlsym(global_scope(), symbol.c_str()));
    if (owner != nullptr && !is_one_of(owner, needs.libraries))
      return Conflict{symbol, *owner->l_name == '\0' ? "the program" : owner->l_name};
  }
  return std::nullopt;
}

/// Why the library cannot keep its own names; empty: it can.
std::string why_not_separable(const LibraryNeeds& needs) {
  // These end the process that sets RTLD_DEEPBIND, because it would hide their functions.
  for (const char* const runtime : {"__asan_init", "__hwasan_init", "__msan_init", "__tsan_init"}) {
    if (::dlsym(global_scope(), runtime) != nullptr) return "a sanitizer forbids to keep them apart";
  }
  if (std::ranges::find(needs.libraries, "libattune_allocator.so") == needs.libraries.end() &&
      library_with(::dlsym(global_scope(), "malloc")) != library_with(::dlsym(global_scope(), "__libc_start_main")))
    return "the application's allocator is not libc's, and the library does not link libattune_allocator";
  return {};
}

}  // namespace

LibraryNeeds needs_of_library(const fs::path& path) {
  const Sections sections(path);
  LibraryNeeds needs;
  const Elf64_Shdr* const dynamic = sections.find(SHT_DYNAMIC);
  std::string strings = sections.strings_of(dynamic);
  for (const auto& entry : records<Elf64_Dyn>(sections.content(dynamic))) {
    if (entry.d_tag == DT_NEEDED) needs.libraries.push_back(text_at(strings, entry.d_un.d_val));
  }
  const Elf64_Shdr* const table = sections.find(SHT_DYNSYM);
  strings = sections.strings_of(table);
  const auto versions = records<Elf64_Half>(sections.content(sections.find(SHT_GNU_versym)));
  const auto symbols = records<Elf64_Sym>(sections.content(table));
  void* const libc = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  for (size_t i = 0; i < symbols.size(); ++i) {
    const bool has_version = i < versions.size() && (versions[i] & 0x7fff) > VER_NDX_GLOBAL;
    if (symbols[i].st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbols[i].st_info) != STB_GLOBAL || has_version) continue;
    const std::string name = text_at(strings, symbols[i].st_name);
    // `__` and `_Z` begin the names of compilers' libraries, as a sanitizer's, and C++. libattune_allocator gives
    // libc's names without a version.
    if (!name.starts_with("__") && !name.starts_with("_Z") &&
        (libc == nullptr || ::dlsym(libc, name.c_str()) == nullptr))
      needs.symbols.push_back(name);
  }
  return needs;
}

void* open_separately(const fs::path& file, std::string& why) {
  const LibraryNeeds needs = needs_of_library(file);
  int flags = RTLD_NOW | RTLD_LOCAL;
  if (const auto conflict = conflict_of(needs)) {
    if (const std::string reason = why_not_separable(needs); !reason.empty()) {
      why = fmt::format("the process has another library's {} ('{}'), and {}: '{}'", conflict->symbol,
                        conflict->library, reason, file.string());
      return nullptr;
    }
    flags |= RTLD_DEEPBIND;
  }
  const std::vector<std::string> new_libraries = not_loaded(needs.libraries);
  void* const library = ::dlopen(file.c_str(), flags);
  if (library == nullptr) {
    const char* const reason = ::dlerror();
    why = reason != nullptr ? reason : "the loader gives no reason";
    return nullptr;
  }
  for (const std::string& name : new_libraries) keep_statics(name);
  return library;
}

}  // namespace attune
