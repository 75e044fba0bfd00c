// SPDX-License-Identifier: MIT
#include "compile/cache_entry.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"

namespace attune::cache_entry {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;
constexpr uint64_t kMaxDescriptionBytes = 1 << 20;
constexpr size_t kMaxNameBytes = 200;

bool only_ours_to_write(const struct stat& status) {
  return (status.st_uid == ::geteuid() || status.st_uid == 0) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_trusted(const fs::path& path, mode_t kind) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == kind && only_ours_to_write(status);
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

/// Throws nlohmann's exceptions for what is not a description.
Binary parse(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  Binary binary;
  if (json.at("format").get<int>() != kFormat) fail(ErrorCode::invalid_input, "an entry of another format");
  binary.sha256 = json.at("sha256").get<std::string>();
  binary.metadata = json.at("metadata").get<std::map<std::string, std::string>>();
  return binary;
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
  return ::stat(root.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && only_ours_to_write(status);
}

std::optional<Binary> read(const fs::path& root, std::string_view arch, std::string_view recipe,
                           std::string_view toolchain) {
  if (!is_name(arch) || !is_name(recipe) || !is_name(toolchain) || !is_trusted_root(root)) return std::nullopt;
  fs::path folder = root;
  for (const std::string_view name : {arch, recipe, toolchain}) {
    folder /= name;
    if (!is_trusted(folder, S_IFDIR)) return std::nullopt;
  }
  if (!is_trusted(folder / kBinary, S_IFREG) || !is_trusted(folder / kDescription, S_IFREG)) return std::nullopt;
  try {
    Binary binary = parse(read_file(folder / kDescription, kMaxDescriptionBytes));
    binary.arch = arch;
    binary.recipe = recipe;
    binary.toolchain = toolchain;
    binary.file = folder / kBinary;
    return binary;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const Error&) {  // Removed by another process since, or of a format to come.
    return std::nullopt;
  }
}

bool is_intact(const Binary& binary) {
  try {
    return sha256_of_file(binary.file) == binary.sha256;
  } catch (const Error&) {
    return false;
  }
}

void describe(const fs::path& folder, const Binary& binary) {
  const nlohmann::json json = {{"format", kFormat}, {"sha256", binary.sha256}, {"metadata", binary.metadata}};
  const fs::path file = folder / kDescription;
  std::ofstream stream(file);
  // Metadata may hold what a compiler printed, in whatever encoding.
  stream << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  stream.close();
  if (!stream || ::chmod(file.c_str(), 0600) != 0)
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
