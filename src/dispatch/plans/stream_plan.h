// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "attune/plan.h"
#include "device/device.h"
#include "dispatch/plans/graph_holds.h"
#include "dispatch/plans/workspace.h"

namespace attune {

/// Wraps a plan of a device whose work waits in streams. A plan that needs a workspace has one in the device's memory
/// for each stream that it is run on, so launches on two streams do not disturb each other; its callers give none. One
/// is reserved now, for the first stream, and counts as its PlanTraits::device_bytes; another stream costs an
/// allocation, which waits for the device. Beyond kMaxStreams the workspaces are freed and made anew, but for the time
/// of a capture, which forbids to wait: until it ends another stream costs one more. With an application's allocator
/// all of them are its own, none is reserved, and they do not count.
///
/// On a stream that its owner captures, the plan runs on a workspace that the graph alone uses, and `holds` keeps plan
/// and workspace as long as the graph. A plan that cannot be captured throws unavailable there.
///
/// The end of the plan waits for all that was enqueued. Its runs must not overlap (PlanTraits::reentrant is false if it
/// has a workspace). Device, holds and source must outlive it. Throws device without memory.
std::unique_ptr<Plan> stream_plan(std::unique_ptr<Plan> plan, Device& device, GraphHolds& holds,
                                  const WorkspaceSource& source = {});

/// Number of streams for which a plan keeps workspaces.
inline constexpr size_t kMaxStreams = 16;

}  // namespace attune
