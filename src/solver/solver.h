// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/plan.h"
#include "attune/problem.h"
#include "attune/tensor.h"
#include "core/binary.h"
#include "core/device_info.h"
#include "core/record.h"
#include "core/search_space.h"
#include "device/device.h"

namespace attune {

/// Whether a solver takes a problem; `reason` is a clause for the ledger: `bf16 inputs need oneDNN`.
struct Support {
  bool yes = true;
  std::string reason;
  static Support no(std::string why) { return {false, std::move(why)}; }
  bool operator==(const Support&) const = default;
};

/// A vendor function a backend calls and the file of the library it lies in (solver/own_library.h).
struct EntryPoint {
  std::string symbol, library;
};

/// What a candidate is prepared with.
struct PrepareContext {
  std::span<const Binary> binaries;  ///< Of Solver::compile_tasks(), in their order.
};

/// A library opened on one device. Lives in a worker (or a dispatcher), used by one thread.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Only what this backend depends on: `{"openblas.gemm": "1+0.3.21", "openblas.core": "SkylakeX"}`.
  virtual Versions versions() const = 0;
  virtual SearchSpace space(const Problem& problem) = 0;
  /// The config the library runs with when nobody tunes it.
  virtual Config untuned(const Problem& problem) = 0;
  /// Opaque layouts of packed weights that configs of the problem may name as `b_layout`. A name says all that matters
  /// to who reads the bytes: library, version, and what the library made them depend on. Named ones (attune/tensor.h)
  /// are not listed here.
  virtual std::vector<Layout> layouts(const Problem&) { return {}; }
  /// Size of the weights of a problem in one of layouts(). Throws unavailable when the library does not offer it.
  virtual uint64_t packed_bytes(const Layout& layout, const Problem& problem) const;
  /// Packs plain weights (operand `b`) into memory of the device, packed_bytes() of them, aligned as the operand is.
  /// Where the bytes lie may matter: they are packed in place and not moved. Throws as packed_bytes().
  virtual void pack(const Layout& layout, const Problem& problem, std::span<const std::byte> plain,
                    Buffer packed) const;
  /// Throws Error: unavailable → unsupported, device → launch_failed, invalid_input → load_failed.
  virtual std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config,
                                        const PrepareContext& context) = 0;
  /// Proof that the backend calls its own library; empty without a vendor library. Checked by the conformance suite.
  virtual std::vector<EntryPoint> entry_points() const { return {}; }
};

/// Facts about one backend. Const, thread-safe, touches no vendor library before open().
class Solver {
 public:
  virtual ~Solver() = default;
  virtual std::string_view id() const = 0;       ///< `openblas.gemm`: permanent, stands in tables.
  virtual std::string_view version() const = 0;  ///< Of Attune's own code: `1`.
  virtual std::string_view title() const = 0;    ///< One line for `attune list solvers`.
  /// Solvers of one pool disturb each other less: `libgomp`, `openblas`; empty for the calling thread.
  virtual std::string_view thread_pool() const { return {}; }
  virtual Support supports(const Problem& problem, const DeviceInfo& device) const = 0;
  /// What must be compiled before the config can be prepared; tasks of many configs may be the same.
  virtual std::vector<CompileTask> compile_tasks(const Problem&, const Config&, const DeviceInfo&) const { return {}; }
  virtual std::unique_ptr<Backend> open(Device& device) const = 0;
};

}  // namespace attune
