// SPDX-License-Identifier: MIT
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "core/device_info.h"
#include "core/outcome.h"
#include "core/space/search_space.h"

/// Spaces of real solvers, planted times of their configs, and lists that must not change.
namespace attune {

/// A solver's space for one problem on one device, and the indices with which a search of it starts.
struct GoldenSpace {
  std::string name;
  Problem problem;
  DeviceInfo device;
  std::vector<uint64_t> start;
  SearchSpace space;
};

/// The spaces of golden_spaces.txt, or one of them: a line has name, problem, units of the device, start and space,
/// separated by tabs.
inline std::vector<GoldenSpace> golden_spaces(std::string_view only = "") {
  const std::string text = read_file(ATTUNE_SOURCE_DIR "/tests/data/golden_spaces.txt");
  std::vector<GoldenSpace> spaces;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const auto cells = split(line, '\t');
    if (!only.empty() && cells.at(0) != only) continue;
    GoldenSpace one{.name = std::string(cells.at(0)), .problem = Problem::parse(cells.at(1))};
    one.device.num_units = parse_int(cells.at(2)).value();
    for (const std::string_view index : split(cells.at(3), ' '))
      one.start.push_back(static_cast<uint64_t>(parse_int(index).value()));
    one.space = SearchSpace::from_json(cells.at(4));
    spaces.push_back(std::move(one));
  }
  return spaces;
}

inline GoldenSpace golden_space(std::string_view name) { return golden_spaces(name).at(0); }

/// The planted result of a config: one of eight fails, the others take a time that depends on the index alone and is
/// similar for neighbours.
inline std::pair<Status, double> planted_result(const SearchSpace& space, uint64_t index) {
  const uint64_t luck = derive_seed(index, "planted");
  if (luck % 8 == 0) return {Status::wrong_result, 0};
  double us = 100 + 0.001 * static_cast<double>(luck % 1000);
  const auto values = space.values_at(index);
  for (size_t i = 0; i < values.size(); ++i) {
    const Parameter& parameter = space.parameters()[i];
    if (values[i] != nullptr) us += 5 * std::abs(static_cast<double>(values[i] - parameter.values.data()) - 1);
  }
  return {Status::ok, us};
}

/// Compares lines with a file of this tree, or, with ATTUNE_WRITE_GOLDEN=1, writes it anew.
inline void expect_golden(const std::string& file, const std::vector<std::string>& lines, std::string_view advice) {
  const std::string path = std::string(ATTUNE_SOURCE_DIR "/") + file;
  if (std::getenv("ATTUNE_WRITE_GOLDEN") != nullptr) write_file_atomically(path, join(lines, "\n") + "\n");
  const std::string text = read_file(path);
  const auto golden = split(text, '\n');
  ASSERT_EQ(golden.size(), lines.size() + 1) << advice;
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i], golden[i]) << advice;
}

}  // namespace attune
