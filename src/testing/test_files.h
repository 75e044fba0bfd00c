// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

/// Files for tests.
namespace attune {

/// A temporary folder, removed by the destructor.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "attune_test_XXXXXX").string();
    if (::mkdtemp(pattern.data())) path_ = pattern;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path put(const std::string& name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

/// An excerpt in the repository.
inline std::filesystem::path excerpt(const std::string& name) {
  return std::filesystem::path(ATTUNE_SOURCE_DIR) / "tests" / "data" / name;
}

/// The folder of real files, which are too large for the repository; it may not exist.
inline std::filesystem::path shared_data() {
  if (const char* folder = std::getenv("ATTUNE_SHARED_DATA")) return folder;
  return std::filesystem::path(ATTUNE_SOURCE_DIR) / ".." / "shared" / "data";
}

/// The tables shipped by ROCm/aiter; empty if the folder does not exist.
inline std::vector<std::filesystem::path> shipped_tables() {
  std::vector<std::filesystem::path> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shared_data() / "aiter_configs", missing)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace attune
