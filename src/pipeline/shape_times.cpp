// SPDX-License-Identifier: MIT
#include "pipeline/shape_times.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "formats/csv/table.h"
#include "formats/driver/driver_lines.h"
#include "ops/op.h"
#include "tables/captured_sources.h"

namespace attune {
namespace {

/// Lines of a tuned table whose rows are of another device; none for a list of shapes.
std::set<size_t> foreign_lines(const std::string& file, const FamilySpec& family, const DeviceInfo& device) {
  std::set<size_t> lines;
  CsvDocument document = CsvDocument::read(file);
  if (!document.find_column("us")) return lines;
  const Table table = Table::of({std::move(document)}, &family, WrongRows::skipped);
  for (const TableRow& row : table.rows()) {
    if (row.gfx != device.gfx || row.num_units != device.num_units) lines.insert(row.line);
  }
  return lines;
}

/// The problems of a file with lines of MIOpenDriver.
ShapeList driver_shapes(const std::string& file, const ShapeOptions& options) {
  ShapeList list{.family = &family_of_foreign_file("conv", options.op, "a file of MIOpenDriver lines"),
                 .shapes = {},
                 .notices = {}};
  DriverFile lines = read_driver_lines(file);
  list.notices = std::move(lines.notices);
  for (DriverProblem& one : lines.problems) list.shapes.push_back({std::move(one.problem), one.line});
  return list;
}

}  // namespace

DeviceShapes read_device_shapes(const std::string& file, const ShapeOptions& options, const DeviceInfo& device) {
  const bool is_driver = is_driver_file(file);
  ShapeList list = is_driver ? driver_shapes(file, options) : read_shapes(file, options);
  DeviceShapes found{.shapes = {}, .notices = std::move(list.notices)};
  if (find_op(list.family->op) == nullptr)
    fail(ErrorCode::invalid_input, "this build computes no {}, see `attune list ops`: '{}'", list.family->op, file);
  const auto foreign = is_driver ? std::set<size_t>() : foreign_lines(file, *list.family, device);
  for (Shape& shape : list.shapes) {
    if (foreign.contains(shape.line)) continue;
    try {
      shape.problem = as_looked_up(shape.problem, device);
    } catch (Error& error) {
      error.add_context(fmt::format("{}:{}", file, shape.line));
      throw;
    }
    found.shapes.push_back(std::move(shape));
  }
  if (const size_t num_left_out = list.shapes.size() - found.shapes.size(); num_left_out > 0)
    found.notices.push_back(fmt::format("{} of another device than {}: not timed, the file is '{}'",
                                        counted(num_left_out, "row"), device.key(), file));
  return found;
}

ShapeTimes time_shape(const Shape& shape, const TableLookup& tables, Executor& executor,
                      const InterleavedOptions& options) {
  ShapeTimes times{.shape = shape, .kernel = {}, .baseline = {}, .served = {}, .reason = {}};
  try {
    times.kernel = served_kernel(tables, shape.problem, executor, options.tick);
    const bool has_default = !times.kernel.baseline.solver.empty();
    std::vector<Candidate> both;
    if (has_default) both.push_back(times.kernel.baseline);
    if (times.kernel.served != times.kernel.baseline) both.push_back(times.kernel.served);
    auto timed = time_interleaved(executor, shape.problem, both, options);
    if (has_default) times.baseline = timed.front();
    times.served = std::move(timed.back());
    if (!has_default) times.served->comparison = without_ratio(times.served->comparison);
    if (!times.ok())
      times.reason = fmt::format("{}: {}", name(times.served->outcome.status), times.served->outcome.detail);
  } catch (const Error& error) {
    times.reason = error.what();
  }
  return times;
}

}  // namespace attune
