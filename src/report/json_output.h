// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace attune {

/// Prints a JSON document on standard output. Bytes that are no UTF-8 (in a file's name) are replaced and cause no
/// exception.
void print_json(const nlohmann::ordered_json& document);

/// Prints an object whose lists are too long to be held in memory, byte for byte as print_json() prints it.
class JsonPrinter {
 public:
  JsonPrinter() = default;
  void member(std::string_view name, const nlohmann::ordered_json& value);
  /// A member that is a list; item() and end_list() follow.
  void begin_list(std::string_view name);
  void item(const nlohmann::ordered_json& value);
  void end_list();
  /// Ends the object.
  void end();

 private:
  void begin_member(std::string_view name);
  bool has_members_ = false, has_items_ = false;
};

}  // namespace attune
