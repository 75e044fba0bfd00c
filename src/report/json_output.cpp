// SPDX-License-Identifier: MIT
#include "report/json_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace attune {
namespace {

using nlohmann::ordered_json;

std::string text_of(const ordered_json& document) {
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

/// Prints a value with all lines but the first indented.
void print_indented(const ordered_json& value, std::string_view indent) {
  std::string text = text_of(value);
  // A line end is always one of the layout: those in strings are escaped.
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', end + 1))
    text.insert(end + 1, indent);
  std::fputs(text.c_str(), stdout);
}

}  // namespace

void print_json(const ordered_json& document) { std::printf("%s\n", text_of(document).c_str()); }

void JsonPrinter::begin_member(std::string_view name) {
  std::printf("%s\n  %s: ", has_members_ ? "," : "{", text_of(name).c_str());
  has_members_ = true;
}

void JsonPrinter::member(std::string_view name, const ordered_json& value) {
  begin_member(name);
  print_indented(value, "  ");
}

void JsonPrinter::begin_list(std::string_view name) {
  begin_member(name);
  std::fputs("[", stdout);
  has_items_ = false;
}

void JsonPrinter::item(const ordered_json& value) {
  std::fputs(has_items_ ? ",\n    " : "\n    ", stdout);
  has_items_ = true;
  print_indented(value, "    ");
}

void JsonPrinter::end_list() { std::fputs(has_items_ ? "\n  ]" : "]", stdout); }

void JsonPrinter::end() { std::fputs(has_members_ ? "\n}\n" : "{}\n", stdout); }

}  // namespace attune
