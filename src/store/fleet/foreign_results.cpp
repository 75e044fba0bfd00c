// SPDX-License-Identifier: MIT
#include "store/fleet/foreign_results.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/text.h"
#include "store/fleet/fleet_file.h"
#include "store/fleet/fleet_sql.h"
#include "store/fleet/fleet_store.h"

namespace attune {
namespace {

constexpr int kForeignWaitMs = 60'000;

double foreign_time(const ForeignResult& one) {
  return parse_double(one.time_ms).value_or(std::numeric_limits<double>::infinity());
}

class SqlForeignResults final : public ForeignResults {
 public:
  explicit SqlForeignResults(const StoreAddress& address) : sql_(address, kForeignWaitMs) {}

  void replace(const std::string& source, const std::vector<ForeignResult>& all) override {
    sql_.transaction([&] {
      sql_.run("DELETE FROM foreign_result WHERE source = :s", source);
      std::vector<std::vector<std::string>> rows;
      const auto insert = [&] {
        sql_.insert("INSERT INTO foreign_result (configuration, source, solver, algorithm, time_ms, workspace, params)",
                    "(?, ?, ?, ?, ?, ?, ?)", "", rows);
        rows.clear();
      };
      constexpr size_t kMaxRows = 1000;
      for (const ForeignResult& one : all) {
        rows.push_back(
            {one.configuration, source, one.solver, one.algorithm, one.time_ms, one.workspace_bytes, one.params});
        if (rows.size() == kMaxRows) insert();
      }
      insert();
    });
  }

  std::vector<std::string> configurations(const std::string& source) override {
    std::vector<std::string> found;
    sql_.each<std::string>(
        "SELECT DISTINCT configuration FROM foreign_result WHERE source = :s",
        [&](const std::string& id) { found.push_back(id); }, source);
    return found;
  }

  std::vector<ForeignResult> of(const std::string& configuration) override {
    std::vector<ForeignResult> found;
    sql_.each<std::string, std::string, std::string, std::string, std::string, std::string>(
        "SELECT source, solver, algorithm, time_ms, workspace, params FROM foreign_result WHERE configuration = :c",
        [&](const std::string& source, const std::string& solver, const std::string& algorithm,
            const std::string& time_ms, const std::string& workspace, const std::string& params) {
          found.push_back({configuration, solver, algorithm, time_ms, workspace, params, source});
        },
        configuration);
    std::ranges::sort(found, {},
                      [](const ForeignResult& one) { return std::tuple(one.source, foreign_time(one), one.solver); });
    return found;
  }

 private:
  FleetSql sql_;
};

}  // namespace

std::unique_ptr<ForeignResults> open_foreign_results(const std::string& store) {
  return std::make_unique<SqlForeignResults>(claimed_address(store));
}

}  // namespace attune
