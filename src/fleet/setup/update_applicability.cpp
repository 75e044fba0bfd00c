// SPDX-License-Identifier: MIT
#include "fleet/setup/update_applicability.h"

#include <map>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "fleet/setup/session_device.h"
#include "ops/op.h"
#include "solver/registry.h"

namespace attune {
namespace {

const Solver& solver_here(const FleetSolver& one, int64_t session) {
  const Solver* const solver = registry().find(one.id);
  if (solver == nullptr)
    fail(ErrorCode::invalid_input,
         "session {} has a solver that this program lacks, use the program that began it or begin another session: {}",
         session, one.id);
  return *solver;
}

}  // namespace

ApplicabilityCounts update_applicability(FleetStore& store, int64_t session, const std::string& tag) {
  const FleetSession pinned = store.session(session);
  if (pinned.state != name(SessionState::open))
    fail(ErrorCode::invalid_input, "session {} is {}, begin another: attune session init -l REASON", session,
         pinned.state);
  const DeviceInfo device = device_of_session(pinned);
  std::map<std::string, std::vector<const Solver*>> by_op;
  for (const FleetSolver& one : pinned.solvers) by_op[one.op].push_back(&solver_here(one, session));
  ApplicabilityCounts counts;
  std::vector<FleetStore::Applicability> all;
  store.visit_configurations(tag, [&](const FleetConfiguration& one) {
    ++counts.num_configurations;
    const Problem problem = Problem::parse(one.key);
    for (const Solver* const solver : by_op[one.op]) {
      const Support support = solver->supports(problem, device);
      counts.num_applicable += support.yes ? 1 : 0;
      all.push_back({one.id, std::string(solver->id()), support.reason, support.yes});
    }
  });
  if (counts.num_configurations == 0)
    fail(ErrorCode::invalid_input, "the store has no configurations{}, run first: attune configs import -t {} -f FILE",
         tag.empty() ? "" : " of this tag", tag.empty() ? "TAG" : shown(tag));
  counts.num_pairs = all.size();
  store.set_applicability(session, all);
  return counts;
}

}  // namespace attune
