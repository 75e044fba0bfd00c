// SPDX-License-Identifier: MIT
#pragma once
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attune {

/// Environment variables of a test: set or unset for the life of the object, then as they were before. No other thread
/// may read the environment when it is made or destroyed.
class TestEnvironment {
 public:
  /// Unsets the variables. `names` are literals.
  explicit TestEnvironment(std::span<const char* const> names) {
    for (const char* name : names) {
      remember(name);
      ::unsetenv(name);
    }
  }
  /// Sets one variable; `name` is a literal.
  TestEnvironment(const char* name, const std::string& value) {
    remember(name);
    ::setenv(name, value.c_str(), 1);
  }
  ~TestEnvironment() {
    for (const auto& [name, value] : before_) value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  }
  TestEnvironment(const TestEnvironment&) = delete;
  TestEnvironment& operator=(const TestEnvironment&) = delete;

 private:
  void remember(const char* name) {
    const char* value = std::getenv(name);
    before_.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
  }

  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

}  // namespace attune
