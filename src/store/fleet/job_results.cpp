// SPDX-License-Identifier: MIT
#include "store/fleet/job_results.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "store/fleet/kernels/hex_bytes.h"

namespace attune {

std::string why_missing(FleetSql& sql, int64_t session, const std::string& configuration) {
  std::vector<std::string> open, failures;
  bool has_jobs = false;
  sql.each<std::string, std::string, std::string, std::string, std::string>(
      "SELECT step, solver, state, class, detail FROM job WHERE session = :s AND configuration = :c ORDER BY id",
      [&](const std::string& step, const std::string& solver, const std::string& state, const std::string& failure,
          const std::string& detail) {
        has_jobs = true;
        const std::string what = solver.empty() ? step : step + " of " + solver;
        if (state == "queued" || state == "leased")
          open.push_back(what);
        else if (state != "done")
          failures.push_back(fmt::format("{}: {}{}{}", what, failure, detail.empty() ? "" : ", ", detail));
      },
      session, configuration);
  if (!has_jobs) return {};
  if (!open.empty())
    return fmt::format("{} not done: {}{}", open.size() == 1 ? "1 job is" : fmt::format("{} jobs are", open.size()),
                       open.front(), open.size() > 1 ? ", …" : "");
  if (!failures.empty()) return join(failures, "; ");
  return "its jobs have ended without a decision: no step that decides was loaded";
}

void read_results(FleetSql& sql, long long job, FleetAnswer& answer) {
  sql.each<std::string, std::string, double, long long>(
      "SELECT solver, candidate, median_us, workspace FROM result WHERE job = :j ORDER BY ordinal",
      [&](const std::string& solver, const std::string& candidate, double us, long long workspace) {
        answer.finalists.push_back({solver, Candidate::parse(candidate), us, static_cast<uint64_t>(workspace)});
      },
      job);
  sql.each<std::string, std::string, std::string>(
      fmt::format("SELECT k.name, k.arguments, {} FROM kernel k JOIN kernel_bytes b ON b.sha256 = k.sha256"
                  " WHERE k.job = :j ORDER BY k.name, k.arguments",
                  fmt::format(fmt::runtime(sql.words().hex), "b.bytes")),
      [&](const std::string& name, const std::string& arguments, const std::string& digits) {
        answer.kernels.push_back({name, arguments, bytes_of_hex(digits)});
      },
      job);
}

}  // namespace attune
