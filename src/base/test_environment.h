// SPDX-License-Identifier: MIT
#pragma once
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attune {

/// Variables reserved for a test: the constructor unsets them, the destructor restores them. No other thread may read
/// the environment meanwhile.
class TestEnvironment {
 public:
  /// `names` are literals.
  explicit TestEnvironment(std::span<const char* const> names) {
    for (const char* name : names) {
      const char* value = std::getenv(name);
      before_.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
      ::unsetenv(name);
    }
  }
  ~TestEnvironment() {
    for (const auto& [name, value] : before_) value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  }
  TestEnvironment(const TestEnvironment&) = delete;
  TestEnvironment& operator=(const TestEnvironment&) = delete;

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

}  // namespace attune
