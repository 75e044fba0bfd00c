// SPDX-License-Identifier: MIT
#include "store/fleet/golden_sets.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/error.h"
#include "base/sha256.h"
#include "store/entry_json.h"
#include "store/fleet/fleet_file.h"
#include "store/fleet/fleet_sql.h"
#include "store/fleet/fleet_store.h"
#include "store/fleet/kernels/hex_bytes.h"

namespace attune {
namespace {

constexpr int kGoldenWaitMs = 60'000;

/// Throws database for a payload that is no Decision.
Decision decision_of(int64_t version, const std::string& configuration, const std::string& payload) {
  std::string why = "it is no decision";
  try {
    const Entry entry = entry_from_json(payload);
    if (const auto* const decision = std::get_if<Decision>(&entry)) return *decision;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_input) throw;
    why = error.what();
  }
  fail(ErrorCode::database,
       "an entry of golden set {} is damaged ({}), decide configuration {} again and update the set: attune golden "
       "update --force",
       version, why, configuration);
}

class SqlGoldenSets final : public GoldenSets {
 public:
  explicit SqlGoldenSets(const StoreAddress& address) : sql_(address, kGoldenWaitMs) {}

  std::vector<GoldenVersion> versions() override {
    std::vector<GoldenVersion> found;
    sql_.each<long long, std::string, long long, long long>(
        "SELECT version, device, count(*), max(added_at) FROM golden GROUP BY version, device ORDER BY version, device",
        [&](long long version, const std::string& device, long long count, long long changed_at) {
          found.push_back({version, device, static_cast<size_t>(count), utc_time_text(changed_at)});
        });
    return found;
  }

  void visit(int64_t version, const std::string& device,
             const std::function<void(const GoldenEntry&)>& visit) override {
    std::vector<GoldenEntry> found;  // The visitor may ask the store.
    sql_.each<std::string, std::string, std::string, long long, long long, std::string>(
        "SELECT g.device, g.configuration, g.fingerprint, g.session, g.added_at, g.payload FROM golden g"
        " JOIN configuration c ON c.id = g.configuration WHERE g.version = :v AND (:d1 = '' OR g.device = :d2)"
        " ORDER BY g.device, c.number",
        [&](const std::string& of_device, const std::string& configuration, const std::string& fingerprint,
            long long session, long long added_at, const std::string& payload) {
          found.push_back({of_device, configuration, fingerprint, session, utc_time_text(added_at),
                           decision_of(version, configuration, payload)});
        },
        version, device, device);
    for (const GoldenEntry& one : found) visit(one);
  }

  std::vector<FleetKernel> kernels(int64_t version, const GoldenEntry& entry) override {
    std::vector<FleetKernel> found;
    sql_.each<std::string, std::string, std::string>(
        fmt::format("SELECT k.name, k.arguments, {} FROM golden_kernel k JOIN kernel_bytes b ON b.sha256 = k.sha256"
                    " WHERE k.version = :v AND k.device = :d AND k.configuration = :c ORDER BY k.name",
                    fmt::format(fmt::runtime(sql_.words().hex), "b.bytes")),
        [&](const std::string& name, const std::string& arguments, const std::string& digits) {
          found.push_back({name, arguments, bytes_of_hex(digits)});
        },
        version, entry.device, entry.configuration);
    return found;
  }

  size_t update(int64_t version, int64_t base, const std::vector<Addition>& additions) override {
    size_t num_copied = 0;
    sql_.transaction([&] {
      num_copied = base > 0 ? copy_missing(base, version) : 0;
      for (const Addition& one : additions) put(version, one);
    });
    return num_copied;
  }

 private:
  /// A row of a set whose decision stays text.
  struct StoredEntry {
    std::string device, configuration, fingerprint, payload;
    long long session = 0, added_at = 0;
    double us = 0;
  };

  size_t copy_missing(int64_t base, int64_t version) {
    std::set<std::pair<std::string, std::string>> there;
    sql_.each<std::string, std::string>(
        "SELECT device, configuration FROM golden WHERE version = :v",
        [&](const std::string& device, const std::string& configuration) { there.emplace(device, configuration); },
        version);
    std::vector<StoredEntry> missing;
    sql_.each<std::string, std::string, std::string, std::string, long long, long long, double>(
        "SELECT device, configuration, fingerprint, payload, session, added_at, median_us FROM golden"
        " WHERE version = :v",
        [&](const std::string& device, const std::string& configuration, const std::string& fingerprint,
            const std::string& payload, long long session, long long added_at, double us) {
          if (!there.contains({device, configuration}))
            missing.push_back({device, configuration, fingerprint, payload, session, added_at, us});
        },
        base);
    for (const StoredEntry& one : missing) {
      insert(version, one);
      copy_kernels(base, version, one);
    }
    return missing.size();
  }

  void copy_kernels(int64_t base, int64_t version, const StoredEntry& of) {
    std::vector<std::array<std::string, 3>> kernels;
    sql_.each<std::string, std::string, std::string>(
        "SELECT name, arguments, sha256 FROM golden_kernel WHERE version = :v AND device = :d AND configuration = :c",
        [&](const std::string& name, const std::string& arguments, const std::string& digest) {
          kernels.push_back({name, arguments, digest});
        },
        base, of.device, of.configuration);
    for (const auto& [name, arguments, digest] : kernels)
      insert_kernel(version, of.device, of.configuration, name, arguments, digest);
  }

  void put(int64_t version, const Addition& one) {
    const GoldenEntry& entry = one.entry;
    for (const char* table : {"golden", "golden_kernel"})
      sql_.run(fmt::format("DELETE FROM {} WHERE version = :v AND device = :d AND configuration = :c", table), version,
               entry.device, entry.configuration);
    const long long now = sql_.number(fmt::format("SELECT {}", sql_.words().now));
    insert(version, {entry.device, entry.configuration, entry.fingerprint, entry_to_json(Entry(entry.decision)),
                     static_cast<long long>(entry.session), now, std::isfinite(entry.us()) ? entry.us() : 0});
    for (const FleetKernel& kernel : one.kernels)
      insert_kernel(version, entry.device, entry.configuration, kernel.name, kernel.arguments, sha256(kernel.bytes));
  }

  void insert(int64_t version, const StoredEntry& one) {
    sql_.run(
        "INSERT INTO golden (version, device, configuration, fingerprint, session, added_at, median_us, payload)"
        " VALUES (:v, :d, :c, :f, :s, :a, :u, :p)",
        version, one.device, one.configuration, one.fingerprint, one.session, one.added_at, one.us, one.payload);
  }

  void insert_kernel(int64_t version, const std::string& device, const std::string& configuration,
                     const std::string& name, const std::string& arguments, const std::string& digest) {
    sql_.run(
        "INSERT INTO golden_kernel (version, device, configuration, name, arguments, sha256)"
        " VALUES (:v, :d, :c, :n, :a, :h)",
        version, device, configuration, name, arguments, digest);
  }

  FleetSql sql_;
};

}  // namespace

std::unique_ptr<GoldenSets> open_golden_sets(const std::string& store) {
  return std::make_unique<SqlGoldenSets>(claimed_address(store));
}

}  // namespace attune
