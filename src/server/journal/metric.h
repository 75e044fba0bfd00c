// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attune {

/// A number of a journal, or several by their labels, for monitoring.
struct Metric {
  std::string name, type, help;
  std::vector<std::pair<std::string, std::string>> samples;  ///< Labels (`state="open",…`, or none) and value.
};

/// The Prometheus text format, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/), which
/// wants all samples of a name together. `journals`: the same metrics of each; the label `journal`, its number from 1,
/// is there if there are several.
std::string metrics_text(std::span<const std::vector<Metric>> journals);

}  // namespace attune
