// SPDX-License-Identifier: MIT
#include "campaign/devices/device_view.h"

#include <algorithm>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "device/device_kind.h"
#include "device/devices.h"
#include "formats/device_info/device_info.h"
#include "measure/contenders.h"
#include "search/weight_group.h"
#include "solver/registry.h"
#include "solver/static/static_contenders.h"

namespace attune {
namespace {

/// Returns the described host with fewer threads.
DeviceInfo with_threads_of(DeviceInfo device, int64_t threads) {
  if (threads == 0 || !units_are_cores(device)) return device;
  if (threads > device.num_units)
    fail(ErrorCode::invalid_input, "--threads is above the units of the described device: {}, it has {}", threads,
         device.num_units);
  for (auto& [dtype, gflops] : device.peak_gflops)
    gflops *= static_cast<double>(threads) / static_cast<double>(device.num_units);
  device.num_units = threads;
  if (const auto fact = device.facts.find("num_units"); fact != device.facts.end()) fact->second = threads;
  return device;
}

/// The chosen device of a file, or its only one if none is chosen.
DeviceInfo described_device(const std::string& file, const DeviceChoice& choice) {
  check_is_one_device(choice);
  const auto devices = read_device_info(file);
  const std::string id = !choice.ids.empty() ? choice.ids : devices.size() == 1 ? devices.front().id : "cpu:0";
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const DeviceInfo& one) { return one.id == id; });
  if (found != devices.end()) return with_threads_of(*found, choice.threads);
  std::vector<std::string> ids;
  for (const DeviceInfo& one : devices) ids.push_back(one.id);
  fail(ErrorCode::invalid_input, "{}: describes no such device, choose one of {} with --devices; got '{}'",
       shown(file, 500), shown(join(ids, ", "), 500), shown(id));
}

}  // namespace

DeviceView::DeviceView(const DeviceViewOptions& options) : options_(options) {
  if (options.info_file.empty()) {
    environment_ = open_environment(options.devices, Isolation::none, options.kernels);
    kernels_ = environment_->kernels.get();
    device_ = environment_->device();
    flags_ = environment_->flags;
    return;
  }
  device_ = described_device(options.info_file, options.devices);
  print_notes(registry().notices());
  own_kernels_ = open_kernels(device_, options.kernels);
  kernels_ = own_kernels_.get();
  flags_ = "--devices " + device_.id;
  if (options.devices.threads != 0) flags_ += fmt::format(" --threads {}", options.devices.threads);
}

std::vector<Contender> DeviceView::contenders(const Problem& problem) {
  return environment_ ? attune::contenders(*environment_->executor, problem, {})
                      : static_contenders(registry(), problem, device_);
}

std::optional<std::string> DeviceView::why_unusable(const Candidate& candidate, const Problem& problem,
                                                    std::span<const Contender> contenders) const {
  if (!is_here() && why_unknown(candidate, contenders)) return std::nullopt;
  return attune::why_unusable(candidate, problem, contenders, device_);
}

bool DeviceView::serves_stored(const Candidate& candidate, const Problem& problem,
                               std::span<const Contender> contenders) {
  const Contender* const own = find_contender(contenders, candidate.solver);
  const Solver* const solver = registry().find(candidate.solver);
  const bool lacks_more_than_a_compiler =
      own == nullptr || own->support.yes || solver == nullptr || !solver->supports(problem, device_).yes;
  if (!is_here() || lacks_more_than_a_compiler) return false;
  const PlanStatement made = statement_of(candidate, problem, Requirement::none);
  return made.is_known && !made.why_not;
}

PlanStatement DeviceView::statement_of(const Candidate& candidate, const Problem& problem, Requirement required) {
  if (maker_ == nullptr)
    maker_ = std::make_unique<PlanMaker>(open_device(device_.id, options_.devices.threads), registry(),
                                         kernel_cache_folder(options_.kernels), false);
  auto made = maker_->make(problem, candidate.name(), layout_of(candidate), required);
  if (made.plan) return {};
  if (!made.missing.empty()) return {.is_known = false};
  return {.why_not = std::move(made.why_not)};
}

}  // namespace attune
