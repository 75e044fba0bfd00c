// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/plan.h"
#include "attune/problem.h"
#include "attune/tensor.h"
#include "core/binary.h"
#include "core/candidate.h"
#include "core/device_info.h"
#include "core/record.h"
#include "core/space/search_space.h"
#include "device/device.h"
#include "solver/opaque_layouts.h"

namespace attune {

/// Whether a solver supports a problem, or a clause: `bf16 inputs need oneDNN`; if it does, where its configs lie.
struct Support {
  bool yes = true;
  std::string reason;
  static Support no(std::string why) { return {false, std::move(why)}; }
  bool operator==(const Support&) const = default;
};

/// A vendor function that a backend calls and the file of its library (solver/own_library.h).
struct EntryPoint {
  std::string symbol, library;
};

/// Prepares a candidate of any solver for one of Solver::parts(). Throws like Backend::prepare(), and unavailable for a
/// candidate that its solver does not offer. The plan lives as long as its user keeps it.
using PreparePart = std::function<std::unique_ptr<Plan>(const Problem& part, const Candidate& candidate)>;

/// Inputs for preparing a candidate.
struct PrepareContext {
  std::span<const Binary> binaries;  ///< Binaries of Solver::compile_tasks(), in their order.
  PreparePart prepare_part;          ///< For a solver with parts; valid during the call.
};

/// A library opened on one device. Lives in a worker (or a dispatcher); used by one thread.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Components that this backend depends on, and no others: `{"openblas.gemm": "1+0.3.21", "openblas.core":
  /// "SkylakeX"}`.
  virtual Versions versions() const = 0;
  virtual SearchSpace space(const Problem& problem) = 0;
  /// Whether a config is one of space(). Nothing (the default): space() tells; a library answers where its list takes
  /// long to make, because a dispatcher asks for each plan.
  virtual std::optional<bool> offers(const Problem&, const Config&) { return std::nullopt; }
  /// The library's own config, used when nobody tunes it. Empty and not in space(): it has none (lacks_default()).
  virtual Config default_config(const Problem& problem) = 0;
  /// Other configs of space() that the library itself recommends, best first: searches begin with them, and the first
  /// that is correct is the default where default_config() is wrong. Empty (the default): the library names none.
  virtual std::vector<Config> recommended(const Problem&) { return {}; }
  /// Configs that serve every M of the problem's weights and state that they are batch-invariant: one space for all M,
  /// whatever the problem's own is. Empty (the default): the solver has none. They need not belong to space(), whose
  /// rules may exclude what is slow for an M.
  virtual SearchSpace invariant_space(const Problem&) { return {}; }
  /// The library's own layouts of packed weights; null (the default): it has none. Lives as long as the backend.
  virtual OpaqueLayouts* opaque_layouts() { return nullptr; }
  /// Throws Error: unavailable → unsupported, device → launch_failed, invalid_input → load_failed.
  virtual std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config,
                                        const PrepareContext& context) = 0;
  /// Proof that the backend calls its own library; empty without a vendor library. The conformance suite checks it.
  virtual std::vector<EntryPoint> entry_points() const { return {}; }
};

/// A config that was measured.
struct TimedConfig {
  Config config;
  double us = 0;
  std::string files;  ///< Recipe of its first kernel; empty: it has none.
};

/// A program of a user's language that repeats measurements; empty: a solver has none.
struct KeptScript {
  std::string name;  ///< Of its file.
  std::string text;
};

/// The configs of a solver where they follow from the description of a device, which need not be here: what its backend
/// has on that device, for a problem that the solver supports there. Const and thread-safe; touches no vendor library.
class StaticSpace {
 public:
  virtual ~StaticSpace() = default;
  virtual SearchSpace space(const Problem& problem, const DeviceInfo& device) const = 0;
  virtual Config default_config(const Problem& problem, const DeviceInfo& device) const = 0;
  /// See Backend::invariant_space().
  virtual SearchSpace invariant_space(const Problem&, const DeviceInfo&) const { return {}; }
  /// Versions of the program's own sources that its kernels are made of: `kernel.jit_cpu.gemm`. Its backend states
  /// them, too. Empty (the default): it has none.
  virtual Versions kernel_versions() const { return {}; }
  /// Names of the rule sets of its spaces (SearchSpace::rule_sets()), the default first; empty (the default): none.
  virtual std::vector<std::string> rule_sets() const { return {}; }
  /// A script that computes with these configs, of one problem, the fastest first.
  virtual KeptScript script(const Problem&, std::span<const TimedConfig>) const { return {}; }
};

/// Facts about one backend. Const and thread-safe; touches no vendor library before open().
class Solver {
 public:
  virtual ~Solver() = default;
  virtual std::string_view id() const = 0;       ///< `openblas.gemm`: permanent, because tables contain it.
  virtual std::string_view version() const = 0;  ///< Version of Attune's own code: `1`.
  virtual std::string_view title() const = 0;    ///< One line for `attune list solvers`.
  /// Name of the thread pool: `libgomp`, `openblas`; empty for the calling thread. Solvers of one pool disturb each
  /// other less.
  virtual std::string_view thread_pool() const { return {}; }
  virtual Support supports(const Problem& problem, const DeviceInfo& device) const = 0;
  /// The configs, if they follow from the description of a device; its backend is then derived from StaticSpaceBackend.
  /// Null (the default): they are known only once it is opened on the device, as a library's are. Lives as long as the
  /// solver.
  virtual const StaticSpace* static_space() const { return nullptr; }
  /// Largest work of a problem, in floating-point operations, that the default config does faster on one thread than on
  /// all of a host, by measurement (docs/performance/one_thread.md); 0: none, or not measured.
  virtual double one_thread_flops() const { return 0; }
  /// Sub-problems of a composite solver, normalised. They are tuned first: a parameter with Parameter::part = i takes
  /// the candidates on the short list of part i (Candidate::nested_name()) in place of the one value that the space
  /// gives it. The plan is made of what PrepareContext::prepare_part() makes of them.
  virtual std::vector<Problem> parts(const Problem&, const DeviceInfo&) const { return {}; }
  /// Tasks to compile before the config can be prepared, without those of its parts; tasks of many configs may be
  /// equal.
  virtual std::vector<CompileTask> compile_tasks(const Problem&, const Config&, const DeviceInfo&) const { return {}; }
  virtual std::unique_ptr<Backend> open(Device& device) const = 0;
};

}  // namespace attune
