// SPDX-License-Identifier: MIT
#include "compile/cache_entry.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/blocked_write_signals.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/trusted_path.h"
#include "compile/compiler.h"
#include "compile/elf_file.h"

namespace attune::cache_entry {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 2;
constexpr size_t kMaxNameBytes = 200;

bool is_trusted(const fs::path& path, mode_t kind) noexcept {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == kind && is_only_ours_to_write(status);
}

bool is_absent(const fs::path& path) noexcept {
  struct stat status {};
  return ::lstat(path.c_str(), &status) != 0 && errno == ENOENT;
}

std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (is_name(name) && is_trusted(entry->path(), S_IFDIR)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Throws nlohmann's exceptions for a text that is not a description; a description of another format has no arch.
/// `rejected`: whether it must describe a rejection.
Entry parse(std::string_view text, bool rejected) {
  const auto json = nlohmann::json::parse(text);
  Entry entry{.content = rejected ? Content::rejected : Content::right, .binary = {}, .rejection = {}};
  Binary& binary = entry.binary;
  if (json.at("format").get<int>() != kFormat) return entry;
  binary.arch = json.at("arch").get<std::string>();
  binary.recipe = json.at("recipe").get<std::string>();
  binary.toolchain = json.at("toolchain").get<std::string>();
  binary.sha256 = json.at("sha256").get<std::string>();
  binary.metadata = json.at("metadata").get<std::map<std::string, std::string>>();
  if (rejected) entry.rejection = json.at("rejection").get<std::string>();
  return entry;
}

std::string first_bytes(const fs::path& file) {
  std::string bytes(sizeof(Elf64_Ehdr), '\0');
  bytes.resize(FileReader(file).read(bytes));
  return bytes;
}

}  // namespace

bool is_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMaxNameBytes && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                  c == '+' || c == '-';
         });
}

bool is_trusted_root(const fs::path& root) noexcept {
  struct stat status {};
  return ::stat(root.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && is_only_ours_to_write(status);
}

bool is_trusted_folder(const fs::path& folder) noexcept { return is_trusted(folder, S_IFDIR); }

Entry read(const fs::path& root, std::string_view arch, std::string_view recipe, std::string_view toolchain) {
  if (!is_name(arch) || !is_name(recipe) || !is_name(toolchain)) return {};
  if (!is_trusted_root(root)) return {is_absent(root) ? Content::none : Content::not_ours, {}};
  fs::path folder = root;
  for (const std::string_view name : {arch, recipe, toolchain}) {
    folder /= name;
    if (!is_trusted_folder(folder)) return {is_absent(folder) ? Content::none : Content::not_ours, {}};
  }
  const bool has_binary = is_trusted(folder / kBinary, S_IFREG);
  if ((!has_binary && !is_absent(folder / kBinary)) || !is_trusted(folder / kDescription, S_IFREG))
    return {Content::not_ours, {}};
  try {
    Entry entry = parse(read_file(folder / kDescription, kMaxDescriptionBytes), !has_binary);
    Binary& binary = entry.binary;
    binary.file = folder / kBinary;
    const bool is_in_its_place = binary.arch == arch && binary.recipe == recipe && binary.toolchain == toolchain;
    if (!is_in_its_place || !is_of_this_command(binary)) return {Content::wrong, {}};
    return entry;
  } catch (const nlohmann::json::exception&) {
    return {Content::wrong, {}};
  } catch (const Error&) {  // Another process has removed it, or its name is too long.
    return {is_absent(folder) ? Content::none : Content::wrong, {}};
  }
}

bool is_of_this_command(const Binary& binary) {
  const auto name = binary.metadata.find("compiler"), number = binary.metadata.find("command");
  const Compiler* compiler = name == binary.metadata.end() ? nullptr : find_compiler(name->second);
  return !compiler ||
         (number != binary.metadata.end() && number->second == std::to_string(compiler->command_version()));
}

Binary described_by(std::string_view text) {
  try {
    return parse(text, false).binary;
  } catch (const nlohmann::json::exception&) {
    fail(ErrorCode::invalid_input, "a kernel's description is damaged");
  }
}

bool fits(std::string_view arch, std::string_view file) {
  constexpr std::string_view kCuda = "sm_";
  const auto made_for = cubin_architecture(file);
  if (!made_for || !arch.starts_with(kCuda)) return true;
  const std::string_view number = arch.substr(kCuda.size());  // `90` or `90a`
  return number.substr(0, number.find_first_not_of("0123456789")) == std::to_string(*made_for);
}

bool is_intact(const Binary& binary) {
  try {
    return sha256_of_file(binary.file) == binary.sha256 && fits(binary.arch, first_bytes(binary.file));
  } catch (const Error&) {
    return false;
  }
}

void describe(const fs::path& folder, const Binary& binary, std::string_view rejection) {
  nlohmann::json json = {{"format", kFormat},       {"arch", binary.arch},
                         {"recipe", binary.recipe}, {"toolchain", binary.toolchain},
                         {"sha256", binary.sha256}, {"metadata", binary.metadata}};
  if (!rejection.empty()) json["rejection"] = rejection;
  const fs::path file = folder / kDescription;
  const BlockedWriteSignals blocked;
  // Metadata may hold a compiler's output in any encoding.
  const std::string text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  if (!write_own_file(file, text) || ::chmod(file.c_str(), 0600) != 0)
    fail(ErrorCode::io, "cannot write to the kernel cache, free some space: '{}'", file.string());
}

std::vector<Place> places(const fs::path& root) {
  std::vector<Place> all;
  if (!is_trusted_root(root)) return all;
  for (const std::string& arch : folders_in(root)) {
    for (const std::string& recipe : folders_in(root / arch)) {
      for (std::string& toolchain : toolchains(root, arch, recipe)) all.push_back({arch, recipe, std::move(toolchain)});
    }
  }
  return all;
}

std::vector<std::string> toolchains(const fs::path& root, std::string_view arch, std::string_view recipe) {
  if (!is_name(arch) || !is_name(recipe)) return {};
  std::vector<std::string> names = folders_in(root / arch / recipe);
  std::erase_if(
      names, [&](const std::string& name) { return !is_trusted(root / arch / recipe / name / kDescription, S_IFREG); });
  return names;
}

}  // namespace attune::cache_entry
