// SPDX-License-Identifier: MIT
#include "store/fleet/kernels/shared_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "store/fleet/fleet_sql.h"
#include "store/fleet/kernels/hex_bytes.h"

namespace attune {
namespace {

constexpr size_t kMaxKeys = 100;                  // In one statement.
constexpr size_t kMaxStatementBytes = 512 << 10;  // Of kernels in one statement; a larger kernel has its own.

/// Replaces what is no UTF-8: a compiler's output may be in any encoding.
std::string text_of(const BinaryMetadata& metadata) {
  return nlohmann::json(metadata).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Empty for a damaged text.
BinaryMetadata metadata_of(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  BinaryMetadata metadata;
  if (!json.is_object()) return metadata;
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) metadata.emplace(name, value.get<std::string>());
  }
  return metadata;
}

class SqlSharedKernels final : public SharedKernels {
 public:
  SqlSharedKernels(const StoreAddress& address, int max_wait_ms) : sql_(address, max_wait_ms) {}

  std::vector<SharedKernel> get(std::span<const KernelKey> keys) override {
    std::vector<SharedKernel> found;
    each_group(keys, [&](const KernelKey& group, const std::string& condition) {
      sql_.each<std::string, std::string, std::string, std::string>(
          fmt::format("SELECT k.recipe, k.sha256, k.metadata, {} FROM built_kernel k JOIN kernel_bytes b"
                      " ON b.sha256 = k.sha256 WHERE k.arch = :a AND k.toolchain = :t AND k.recipe IN ({})",
                      fmt::format(fmt::runtime(sql_.words().hex), "b.bytes"), condition),
          [&](const std::string& recipe, const std::string& sha256, const std::string& metadata,
              const std::string& digits) {
            found.push_back(
                {{group.arch, recipe, group.toolchain}, sha256, metadata_of(metadata), bytes_of_hex(digits)});
          },
          group.arch, group.toolchain);
    });
    return found;
  }

  std::vector<KernelKey> missing(std::span<const KernelKey> keys) override {
    const std::set<KernelKey> stored = stored_of(keys);
    std::vector<KernelKey> all;
    for (const KernelKey& key : keys) {
      if (!stored.contains(key)) all.push_back(key);
    }
    return all;
  }

  void put(std::span<const SharedKernel> kernels) override {
    sql_.transaction([&] {
      put_bytes(kernels);
      remove_without_bytes(kernels);
      std::vector<std::vector<std::string>> rows;
      for (const SharedKernel& one : kernels)
        rows.push_back({one.key.arch, one.key.recipe, one.key.toolchain, one.sha256, text_of(one.metadata)});
      sql_.insert(
          fmt::format("{} built_kernel (arch, recipe, toolchain, sha256, metadata, built_at)", sql_.words().insert_new),
          fmt::format("(?, ?, ?, ?, ?, {})", sql_.words().now), std::string(sql_.words().or_nothing), rows);
    });
  }

  void refuse(int64_t session, const std::string& agent, const SharedKernel& kernel) override {
    sql_.transaction([&] {
      // Another agent may have replaced the bytes: good bytes stay, and so do their kernels.
      sql_.run(fmt::format("DELETE FROM kernel_bytes WHERE sha256 = :d AND bytes = {}",
                           fmt::format(fmt::runtime(sql_.words().bytes), hex_of_bytes(kernel.bytes))),
               kernel.sha256);
      if (sql_.number("SELECT count(*) FROM kernel_bytes WHERE sha256 = :d", kernel.sha256) == 0)
        sql_.run("DELETE FROM built_kernel WHERE sha256 = :d", kernel.sha256);
      sql_.run(
          fmt::format("INSERT INTO event (at, session, job, agent, kind, text) VALUES ({}, :s, 0, :a,"
                      " 'kernel_refused', :t)",
                      sql_.words().now),
          session, agent,
          fmt::format("the bytes of kernel {} did not match their SHA-256, it is compiled again", kernel.key.recipe));
    });
  }

 private:
  /// Calls take() with the arch and toolchain that some of the keys share, and the list of their recipes for SQL.
  template <typename Take>
  static void each_group(std::span<const KernelKey> keys, Take take) {
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> groups;
    for (const KernelKey& key : keys) {
      // Of hexadecimal digits, else no task has it.
      if (key.recipe.empty() || key.recipe.find_first_not_of("0123456789abcdef") != std::string::npos) continue;
      groups[{key.arch, key.toolchain}].push_back("'" + key.recipe + "'");
    }
    for (const auto& [group, recipes] : groups) {
      for (size_t begin = 0; begin < recipes.size(); begin += kMaxKeys) {
        const auto end = recipes.begin() + static_cast<std::ptrdiff_t>(std::min(recipes.size(), begin + kMaxKeys));
        take(KernelKey{group.first, "", group.second},
             join(std::vector(recipes.begin() + static_cast<std::ptrdiff_t>(begin), end), ","));
      }
    }
  }

  std::set<KernelKey> stored_of(std::span<const KernelKey> keys) {
    std::set<KernelKey> stored;
    each_group(keys, [&](const KernelKey& group, const std::string& condition) {
      sql_.each<std::string>(
          fmt::format("SELECT k.recipe FROM built_kernel k JOIN kernel_bytes b ON b.sha256 = k.sha256"
                      " WHERE k.arch = :a AND k.toolchain = :t AND k.recipe IN ({})",
                      condition),
          [&](const std::string& recipe) {
            stored.insert({group.arch, recipe, group.toolchain});
          },
          group.arch, group.toolchain);
    });
    return stored;
  }

  /// A row whose bytes are gone would keep its kernel from being stored again.
  void remove_without_bytes(std::span<const SharedKernel> kernels) {
    std::vector<KernelKey> keys;
    for (const SharedKernel& one : kernels) keys.push_back(one.key);
    std::vector<KernelKey> broken;
    each_group(keys, [&](const KernelKey& group, const std::string& condition) {
      sql_.each<std::string>(
          fmt::format("SELECT k.recipe FROM built_kernel k LEFT JOIN kernel_bytes b ON b.sha256 = k.sha256"
                      " WHERE b.sha256 IS NULL AND k.arch = :a AND k.toolchain = :t AND k.recipe IN ({})",
                      condition),
          [&](const std::string& recipe) {
            broken.push_back({group.arch, recipe, group.toolchain});
          },
          group.arch, group.toolchain);
    });
    for (const KernelKey& one : broken)
      sql_.run("DELETE FROM built_kernel WHERE arch = :a AND recipe = :r AND toolchain = :t", one.arch, one.recipe,
               one.toolchain);
  }

  /// Digests and digits stand in the statement: SOCI has no blobs of MariaDB.
  void put_bytes(std::span<const SharedKernel> kernels) {
    std::map<std::string, const SharedKernel*> by_digest;
    for (const SharedKernel& one : kernels) by_digest.emplace(one.sha256, &one);
    std::vector<std::string> quoted;
    for (const auto& [digest, one] : by_digest) quoted.push_back("'" + digest + "'");
    for (size_t begin = 0; begin < quoted.size(); begin += kMaxKeys) {
      const auto end = quoted.begin() + static_cast<std::ptrdiff_t>(std::min(quoted.size(), begin + kMaxKeys));
      sql_.each<std::string>(
          fmt::format("SELECT sha256 FROM kernel_bytes WHERE sha256 IN ({})",
                      join(std::vector(quoted.begin() + static_cast<std::ptrdiff_t>(begin), end), ",")),
          [&](const std::string& digest) { by_digest.erase(digest); });
    }
    std::string values;
    const auto store = [&] {
      if (values.empty()) return;
      sql_.run(fmt::format("{} kernel_bytes (sha256, size, bytes) VALUES {}{}", sql_.words().insert_new, values,
                           sql_.words().or_nothing));
      values.clear();
    };
    for (const auto& [digest, one] : by_digest) {
      if (values.size() + 2 * one->bytes.size() > kMaxStatementBytes) store();
      values += fmt::format("{}('{}', {}, {})", values.empty() ? "" : ", ", digest, one->bytes.size(),
                            fmt::format(fmt::runtime(sql_.words().bytes), hex_of_bytes(one->bytes)));
    }
    store();
  }

  FleetSql sql_;
};

}  // namespace

std::unique_ptr<SharedKernels> open_shared_kernels(const StoreAddress& address, int max_wait_ms) {
  return std::make_unique<SqlSharedKernels>(address, max_wait_ms);
}

}  // namespace attune
