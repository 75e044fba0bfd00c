// SPDX-License-Identifier: MIT
#include "cli/flags/help_formatter.h"

namespace attune {

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  const bool is_flag = option->get_expected_max() == 0, is_optional = option->get_expected_min() == 0;
  const std::string type = option->get_type_name();
  std::string text = is_flag ? "" : is_optional ? " [" + type + "]" : " " + type;
  if (!is_optional && !option->get_default_str().empty()) text += "=" + option->get_default_str();
  if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
  if (option->get_required()) text += " " + get_label("REQUIRED");
  if (!option->get_excludes().empty()) text += " " + get_label("Excludes") + ":";
  for (const CLI::Option* other : option->get_excludes()) text += " " + other->get_name();
  return text;
}

}  // namespace attune
