// SPDX-License-Identifier: MIT
#include "tables/miopen/miopen_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/csv/untuned_table.h"
#include "formats/find_db/find_db.h"
#include "formats/find_db/find_db_shapes.h"
#include "formats/kernel_db/kernel_db.h"
#include "formats/perf_db/perf_db.h"
#include "ops/family.h"
#include "report/output_files.h"

namespace attune {
namespace {

/// The bytes to write, and a summary of them.
struct ConvertedBytes {
  std::string bytes;
  Converted result;
};

bool has_suffix(const std::filesystem::path& path, std::initializer_list<std::string_view> suffixes) {
  return std::ranges::any_of(suffixes, [&](std::string_view one) { return path.native().ends_with(one); });
}

[[noreturn]] void fail_output(MiopenFile from, const std::filesystem::path& output, std::string_view suffixes) {
  fail(ErrorCode::invalid_input, "a {} becomes a file {}, not '{}'", name(from), suffixes, shown(output.native(), 500));
}

ConvertedBytes convert_find_db(const std::filesystem::path& input, const std::filesystem::path& output,
                               const ConvertOptions& options) {
  if (has_suffix(output, {".csv"})) {
    FindDbShapes found = read_find_db_shapes(input);
    std::vector<Problem> problems;
    problems.reserve(found.shapes.size());
    for (FindDbShape& shape : found.shapes) problems.push_back(std::move(shape.problem));
    return {untuned_text(*find_family("conv"), problems), {counted(problems.size(), "shape"), found.notices}};
  }
  if (!has_suffix(output, {".txt"})) fail_output(MiopenFile::find_db, output, ".fdb.txt or .csv");
  FindDb db = FindDb::read_with_defects(input);
  const auto defects = db.defects();
  const auto is_of_time = [](const FindDbDefect& one) { return one.what.starts_with("the time of"); };
  const auto first = std::ranges::find_if(
      defects, [&](const FindDbDefect& one) { return !options.keep_unusable || !is_of_time(one); });
  if (first != defects.end())
    fail(ErrorCode::invalid_input, "{}:{}: {}{}", input.string(), first->line, first->what,
         is_of_time(*first) ? "; --keep-unusable keeps such entries" : "");
  db.make_v2();
  if (options.sort || options.best > 0) db.sort(static_cast<size_t>(options.best));
  Converted result{fmt::format("{} with {}", counted(db.records().size(), "key"),
                               db.num_entries() == 1 ? "1 entry" : fmt::format("{} entries", db.num_entries())),
                   {}};
  if (!defects.empty())
    result.notices.push_back(fmt::format("{}:{}: {} of {} kept", input.string(), defects.front().line,
                                         counted(defects.size(), "unusable time"), db.num_entries()));
  return {db.text(), std::move(result)};
}

ConvertedBytes convert_perf_db(MiopenFile from, const std::filesystem::path& input, const std::filesystem::path& output,
                               const ConvertOptions& options) {
  const bool to_text = has_suffix(output, {".txt"});
  if (!to_text && !has_suffix(output, {".db", ".udb"})) fail_output(from, output, ".db or .db.txt");
  PerfDb db = from == MiopenFile::perf_db ? read_perf_db(input) : read_perf_db_text(input);
  if (options.sort) sort_perf_db(db);
  Converted result{fmt::format("{} of {}", counted(db.rows.size(), "row"), counted(db.configs.size(), "config")), {}};
  if (const size_t num = db.num_configs_without_rows(); to_text && num > 0)
    result.notices.push_back(fmt::format("{} without a row left out, a text cannot hold them", counted(num, "config")));
  return {to_text ? perf_db_text(db) : perf_db_bytes(db), std::move(result)};
}

ConvertedBytes convert_kernel_db(const std::filesystem::path& input, const std::filesystem::path& output) {
  if (!has_suffix(output, {".kdb", ".ukdb"})) fail_output(MiopenFile::kernel_db, output, ".kdb");
  const KernelDb db = read_kernel_db(input);
  return {kernel_db_bytes(db), {counted(db.kernels.size(), "kernel"), {}}};
}

/// Refuses an output that is a file of another kind.
void check_convert_output(MiopenFile from, const std::filesystem::path& output) {
  check_output(output);
  if (output.extension() == ".csv") {
    check_untuned_output(output, *find_family("conv"));
    return;
  }
  std::error_code error;
  if (!std::filesystem::exists(output, error) || std::filesystem::file_size(output, error) == 0) return;
  const MiopenFile there = miopen_file(output);
  const auto is_perf = [](MiopenFile file) { return file == MiopenFile::perf_db || file == MiopenFile::perf_db_text; };
  if (there != from && !(is_perf(there) && is_perf(from)))
    fail(ErrorCode::invalid_input, "the output exists and is no {}, name another file: '{}'", name(from),
         shown(output.native(), 500));
}

}  // namespace

MiopenFile miopen_file(const std::filesystem::path& path) {
  if (is_find_db(path)) return MiopenFile::find_db;
  if (is_perf_db_text(path)) return MiopenFile::perf_db_text;
  if (is_perf_db_sqlite(path)) return MiopenFile::perf_db;
  return is_kernel_db(path) ? MiopenFile::kernel_db : MiopenFile::none;
}

MiopenFile miopen_file_or_named(const std::filesystem::path& path) {
  if (const MiopenFile file = miopen_file(path); file != MiopenFile::none) return file;
  if (has_suffix(path, {".fdb.txt"})) return MiopenFile::find_db;
  if (has_suffix(path, {".db.txt"})) return MiopenFile::perf_db_text;
  if (has_suffix(path, {".db", ".udb"})) return MiopenFile::perf_db;
  return has_suffix(path, {".kdb", ".ukdb"}) ? MiopenFile::kernel_db : MiopenFile::none;
}

std::string_view name(MiopenFile file) noexcept {
  constexpr std::array<std::string_view, 5> kNames = {"file of MIOpen", "find-db", "perf-db", "perf-db", "kernel-db"};
  return kNames[static_cast<size_t>(file)];
}

Converted convert_miopen_file(const std::filesystem::path& input, const std::filesystem::path& output,
                              const ConvertOptions& options) {
  { const FileReader reader(input); }  // Reports why a file cannot be read.
  const MiopenFile from = miopen_file_or_named(input);
  if (from == MiopenFile::none)
    fail(ErrorCode::invalid_input, "the file is no find-db, perf-db or kernel-db: '{}'", shown(input.native(), 500));
  const OutputFile written{"-o", output};
  check_distinct_outputs(std::span(&written, 1), {"the input", input});
  check_convert_output(from, output);
  ConvertedBytes converted = from == MiopenFile::find_db     ? convert_find_db(input, output, options)
                             : from == MiopenFile::kernel_db ? convert_kernel_db(input, output)
                                                             : convert_perf_db(from, input, output, options);
  const FileLock lock(output, FileLock::Use::shared);
  write_file_atomically(output, converted.bytes);
  return std::move(converted.result);
}

}  // namespace attune
