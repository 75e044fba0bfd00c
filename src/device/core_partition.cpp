// SPDX-License-Identifier: MIT
#include "device/core_partition.h"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/machine.h"

namespace attune {
namespace {

struct FreeTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
struct FreeBitmap {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

/// The part of the machine that this process may use.
std::unique_ptr<hwloc_topology, FreeTopology> load_topology(const std::vector<int>& cores) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0 || hwloc_topology_load(topology) != 0)
    fail(ErrorCode::device, "hwloc cannot read the processor topology ({})", std::strerror(errno));
  std::unique_ptr<hwloc_topology, FreeTopology> loaded(topology);
  const Bitmap allowed(hwloc_bitmap_alloc());
  for (const int core : cores) hwloc_bitmap_set(allowed.get(), static_cast<unsigned>(core));
  hwloc_topology_restrict(topology, allowed.get(), 0);
  return loaded;
}

}  // namespace

std::vector<std::vector<int>> partition_cores(size_t num_parts) {
  const std::vector<int> cores = allowed_cores();
  if (num_parts == 0 || cores.size() < num_parts) {
    fail(ErrorCode::invalid_input, "there are fewer cores than devices: {} cores, {} devices", cores.size(), num_parts);
  }
  const auto topology = load_topology(cores);
  hwloc_obj_t root = hwloc_get_root_obj(topology.get());
  std::vector<hwloc_bitmap_t> sets(num_parts, nullptr);
  if (hwloc_distrib(topology.get(), &root, 1, sets.data(), static_cast<unsigned>(num_parts), INT_MAX, 0) != 0)
    fail(ErrorCode::device, "hwloc cannot divide the processors");
  std::vector<std::vector<int>> parts;
  size_t smallest = cores.size();
  for (hwloc_bitmap_t set : sets) {
    const Bitmap owned(set);
    std::vector<int>& part = parts.emplace_back();
    for (int core = hwloc_bitmap_first(set); core >= 0; core = hwloc_bitmap_next(set, core)) part.push_back(core);
    smallest = std::min(smallest, part.size());
  }
  for (auto& part : parts) part.resize(smallest);
  return parts;
}

}  // namespace attune
