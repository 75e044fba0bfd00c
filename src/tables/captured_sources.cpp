// SPDX-License-Identifier: MIT
#include "tables/captured_sources.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "base/locations.h"
#include "base/text.h"
#include "device/device_kind.h"
#include "ops/family.h"
#include "ops/op.h"

namespace attune {

namespace fs = std::filesystem;

std::vector<fs::path> capture_sources(std::span<const std::string> named) {
  if (named.empty()) {
    check_access(captures_location());
    return {captures_location().path};
  }
  std::vector<fs::path> sources(named.begin(), named.end());
  for (const fs::path& source : sources) {
    if (!fs::exists(source))
      fail(ErrorCode::invalid_input, "there is no such file or folder, check the path: '{}'",
           shown(source.string(), 500));
  }
  return sources;
}

std::vector<CapturedShapes> captured_shapes(std::span<const std::string> named, const std::string& op) {
  const FamilySpec* const family = family_option(op);
  const auto sources = capture_sources(named);
  if (named.empty() && !fs::exists(sources.front())) return {};
  return read_captures(sources, family);
}

void keep_shapes_of(const DeviceInfo& device, std::vector<CapturedShapes>& captured,
                    std::vector<std::string>& notices) {
  if (!units_are_cores(device)) return;
  std::map<int64_t, size_t> others;
  for (CapturedShapes& one : captured) {
    std::erase_if(one.shapes, [&](const CalledShape& shape) {
      const bool is_other = shape.threads != 0 && shape.threads != device.num_units;
      if (is_other) ++others[shape.threads];
      return is_other;
    });
  }
  std::erase_if(captured, [](const CapturedShapes& one) { return one.shapes.empty(); });
  for (const auto& [threads, count] : others) {
    notices.push_back(fmt::format("{} called under a limit of {}: --threads {} shows them", counted(count, "shape"),
                                  counted(static_cast<size_t>(threads), "thread"), threads));
  }
}

std::string list_of(std::span<const fs::path> sources) {
  std::vector<std::string> names;
  for (const fs::path& source : sources) names.push_back("'" + source.string() + "'");
  return join(names, ", ");
}

Problem as_looked_up(const Problem& problem, const DeviceInfo& device) {
  const Op* op = find_op(problem.op());
  return op ? op->normalise(problem, device) : problem;
}

}  // namespace attune
