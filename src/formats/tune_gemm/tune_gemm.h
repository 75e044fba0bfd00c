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

/// The YAML files of the Triton GEMM tuner (ROCm/triton python/perf-kernels/tools/tune_gemm;
/// docs/formats/tune_gemm.md): a list of flow maps. `rowMajorA: T` says A (M×K) is row-major: trans_a=0. `rowMajorB: N`
/// says B (K×N) is column-major, that is N×K row-major as a linear layer holds it: trans_b=1; `T` is trans_b=0.
namespace attune {

struct TuneGemmOptions {
  std::string op = "gemm_a16w16";        ///< What the files hold; there is no other yet.
  std::optional<DType> dtype, outdtype;  ///< Win over the file's; bf16 when neither says. outdtype defaults to dtype.
  std::optional<bool> bias;
};

/// One entry of a sizes or results file. Keys that have no member are kept in `parameters` as text, in order.
struct TuneGemmEntry {
  Problem problem;  ///< Not normalised.
  size_t line = 0;
  std::string candidate;  ///< Candidate::name(); empty for foreign files.
  std::string device;     ///< DeviceInfo::key(); empty for foreign files.
  std::optional<double> us, tflops;
  std::vector<std::pair<std::string, std::string>> parameters;  ///< `BLOCK_SIZE_M` → `256` …
};

struct TuneGemmFile {
  std::vector<TuneGemmEntry> entries;
  std::vector<std::string> notices;
};

/// Throws invalid_input `sizes.yaml:17: …`: over 16 MiB, not YAML, nested values, aliases (no tool writes them, and
/// they are how a small file becomes a large one), wrong values, an empty list. The time that the older tuner leaves in
/// a comment after an entry (`# TFLOPS: 5.88 time(us): 0.71`) is read too.
TuneGemmFile read_tune_gemm(const std::filesystem::path& path, const TuneGemmOptions& options = {});
/// The same for text in memory; `name` stands in messages.
TuneGemmFile parse_tune_gemm(std::string_view content, const std::string& name, const TuneGemmOptions& options = {});

/// Writes entries into a results file, under its lock and atomically. The file is read again; an entry of the same
/// problem and device is replaced in place, others are appended in order (of two for one problem and device the later
/// counts). All other entries, those without a device too, and comments stay byte for byte; in a file that does not
/// give each entry lines of its own the entries stay and comments go. Two publishers lose no entry. Throws
/// invalid_input (not such a file, a problem it cannot hold), io, timeout; then nothing was written.
void publish_tune_gemm(const std::filesystem::path& path, std::span<const TuneGemmEntry> entries);
/// Throws invalid_input when a file is there and entries could not be published into it. Changes nothing.
void check_tune_gemm_results(const std::filesystem::path& path);

}  // namespace attune
