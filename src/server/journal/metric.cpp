// SPDX-License-Identifier: MIT
#include "server/journal/metric.h"

#include <fmt/format.h>

namespace attune {

std::string metrics_text(std::span<const std::vector<Metric>> journals) {
  std::string text;
  for (size_t i = 0; i < journals.front().size(); ++i) {
    const Metric& first = journals.front()[i];
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", first.name, first.help, first.type);
    for (size_t j = 0; j < journals.size(); ++j) {
      for (const auto& [own, value] : journals[j][i].samples) {
        std::string labels = own;
        if (journals.size() > 1) labels = fmt::format("journal=\"{}\"{}{}", j + 1, own.empty() ? "" : ",", own);
        text += labels.empty() ? fmt::format("{} {}\n", first.name, value)
                               : fmt::format("{}{{{}}} {}\n", first.name, labels, value);
      }
    }
  }
  return text;
}

}  // namespace attune
