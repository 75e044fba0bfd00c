// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/problem.h"
#include "core/candidate.h"

/// The YAML files of the Triton GEMM tuner (ROCm/triton python/perf-kernels/tools/tune_gemm;
/// docs/formats/tune_gemm.md): a list of flow maps. `rowMajorA: T` means that A (M×K) is row-major: trans_a=0.
/// `rowMajorB: N` means that B (K×N) is column-major, that is N×K row-major as in a linear layer: trans_b=1; `T` means
/// trans_b=0.
namespace attune {

struct TuneGemmOptions {
  std::string op = "gemm_a16w16";  ///< Op of the sizes in the files; there is no other yet.
  /// Where no type is given: that of the script whose files these are (triton, tune_gemm.py).
  static constexpr DType kDefaultType = DType::fp16;
  /// Override the file's types; kDefaultType if neither gives one. outdtype defaults to dtype.
  std::optional<DType> dtype, outdtype;
  std::optional<bool> bias;
};

/// One entry of a sizes or results file. Keys without a member of their own are kept in `parameters` as text, in order.
struct TuneGemmEntry {
  Problem problem;  ///< Not normalised.
  size_t line = 0;
  std::string candidate;  ///< Candidate::name(); empty for foreign files.
  std::string device;     ///< DeviceInfo::key(); empty for foreign files.
  std::optional<double> us, tflops;
  std::optional<double> noise;  ///< Half of the 95 % interval of its ratio to the default, in percent.
  std::string runner_up;        ///< Candidate::name() of the next best; empty: none is stated.
  std::vector<std::pair<std::string, std::string>> parameters;  ///< `BLOCK_SIZE_M` → `256` …
};

/// Name of the kernel of an entry: its candidate, else the one that the script's parameters name in `triton.gemm`, of
/// any version. Empty: it states neither all of them nor a candidate.
std::string kernel_of(const TuneGemmEntry& entry);
/// Why the script's parameters of an entry name no kernel, with the one at fault; empty: they may.
std::string kernel_flaw_of(const TuneGemmEntry& entry);
/// The script's parameters of a candidate of `triton.gemm`, in the script's order; none of any other candidate.
std::vector<std::pair<std::string, std::string>> script_parameters(const Candidate& candidate);
/// Whether only AMD's compiler knows a parameter of the script.
bool is_amd_parameter(std::string_view name) noexcept;

struct TuneGemmFile {
  std::vector<TuneGemmEntry> entries;
  std::vector<std::string> notices;
};

/// Throws invalid_input `sizes.yaml:17: …` for a file over 16 MiB, invalid YAML, nested values, aliases (no tool writes
/// them, and they let a small file expand into a large one), wrong values, or an empty list. Also reads the time that
/// the older tuner writes into a comment after an entry (`# TFLOPS: 5.88 time(us): 0.71`).
TuneGemmFile read_tune_gemm(const std::filesystem::path& path, const TuneGemmOptions& options = {});
/// Returns the entries of a results file. Throws like read_tune_gemm(), and invalid_input for a list of sizes, whose
/// entries state no kernel and no time.
std::vector<TuneGemmEntry> read_tune_gemm_results(const std::filesystem::path& path);
/// Returns the different architectures of the entries' devices, sorted. None for a file without devices, for one that
/// cannot be read, which whoever reads its entries reports, and for a pipe, which can be read only once.
std::vector<std::string> architectures_in_tune_gemm(const std::filesystem::path& path);
/// Like read_tune_gemm(), for text in memory; `name` is used in messages.
TuneGemmFile parse_tune_gemm(std::string_view content, const std::string& name, const TuneGemmOptions& options = {});

/// Writes entries into a results file, under its lock and atomically. The file is read again; an entry of the same
/// problem and device is replaced in place, others are appended in order (if two have the same problem and device, the
/// later one counts). All other entries, including those without a device, and comments stay byte for byte; but if the
/// entries of a file do not have lines of their own, they are rewritten and comments are lost. Concurrent publishers
/// lose no entry. Throws invalid_input (not a results file, a problem that it cannot hold), io, timeout; then nothing
/// was written.
void publish_tune_gemm(const std::filesystem::path& path, std::span<const TuneGemmEntry> entries);
/// Throws invalid_input if the file exists and entries could not be published into it. Changes nothing.
void check_tune_gemm_results(const std::filesystem::path& path);

}  // namespace attune
