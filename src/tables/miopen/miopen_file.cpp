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

ConvertedBytes convert_find_db(const std::filesystem::path& input, const std::filesystem::path& output,
                               const ConvertOptions& options) {
  if (has_suffix(output, {".csv"})) {
    MiopenShapes found = read_find_db_shapes(input);
    std::vector<Problem> problems;
    problems.reserve(found.shapes.size());
    for (MiopenShape& shape : found.shapes) problems.push_back(std::move(shape.problem));
    return {untuned_text(*find_family("conv"), problems), {counted(problems.size(), "shape"), found.notices}};
  }
  FindDb db = FindDb::read_with_defects(input);
  if (db.records().empty()) fail(ErrorCode::invalid_input, "the find-db has no key: '{}'", shown(input.native(), 500));
  const bool is_sorted = options.sort || options.best > 0;
  if (const auto repeated = db.repeated_keys(); is_sorted && !repeated.empty())
    fail(ErrorCode::invalid_input, "{}:{}: {}; --sort and --best need each key once", input.string(),
         repeated.front().line, repeated.front().what);
  const auto defects = db.defects();
  const auto first =
      std::ranges::find_if(defects, [&](const FindDbDefect& one) { return !options.keep_unusable || !one.is_time; });
  if (first != defects.end())
    fail(ErrorCode::invalid_input, "{}:{}: {}{}", input.string(), first->line, first->what,
         first->is_time ? "; --keep-unusable keeps such entries" : "");
  db.make_v2();
  if (is_sorted) db.sort(static_cast<size_t>(options.best));
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
  PerfDb db = from == MiopenFile::perf_db ? read_perf_db(input) : read_perf_db_text(input);
  if (options.sort) sort_perf_db(db);
  Converted result{fmt::format("{} of {}", counted(db.rows.size(), "row"), counted(db.configs.size(), "config")), {}};
  if (const size_t num = db.num_configs_without_rows(); to_text && num > 0)
    result.notices.push_back(fmt::format("{} without a row left out, a text cannot hold them", counted(num, "config")));
  return {to_text ? perf_db_text(db) : perf_db_bytes(db), std::move(result)};
}

ConvertedBytes convert_kernel_db(const std::filesystem::path& input) {
  const KernelDb db = read_kernel_db(input);
  return {kernel_db_bytes(db), {counted(db.kernels.size(), "kernel"), {}}};
}

/// Refuses options that the conversion would ignore.
void check_options(MiopenFile from, const std::filesystem::path& output, const ConvertOptions& options) {
  const bool is_list = has_suffix(output, {".csv"});
  const bool is_find_db = from == MiopenFile::find_db && !is_list;
  const auto refuse = [&](bool is_given, bool is_used, std::string_view flag) {
    if (is_given && !is_used)
      fail(ErrorCode::invalid_input, "{} has no meaning for a {}, omit it", flag,
           is_list ? "list of shapes" : name(from));
  };
  refuse(options.best > 0, is_find_db, "--best");
  refuse(options.keep_unusable, is_find_db, "--keep-unusable");
  refuse(options.sort, !is_list && from != MiopenFile::kernel_db, "--sort");
}

bool is_perf_db(MiopenFile file) { return file == MiopenFile::perf_db || file == MiopenFile::perf_db_text; }

/// The form that an output's name asks for; none: no form of this kind.
MiopenFile form_of(MiopenFile from, const std::filesystem::path& output) {
  if (from == MiopenFile::find_db) return has_suffix(output, {".txt"}) ? from : MiopenFile::none;
  if (from == MiopenFile::kernel_db) return has_suffix(output, {".kdb", ".ukdb"}) ? from : MiopenFile::none;
  if (has_suffix(output, {".txt"})) return MiopenFile::perf_db_text;
  return has_suffix(output, {".db", ".udb"}) ? MiopenFile::perf_db : MiopenFile::none;
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

MiopenFile check_miopen_output(MiopenFile from, const std::filesystem::path& output) {
  const MiopenFile form = form_of(from, output);
  if (form == MiopenFile::none)
    fail(ErrorCode::invalid_input, "a {} becomes a file {}, not '{}'", name(from),
         from == MiopenFile::find_db     ? ".fdb.txt or .csv"
         : from == MiopenFile::kernel_db ? ".kdb"
                                         : ".db or .db.txt",
         shown(output.native(), 500));
  check_output(output);
  std::error_code error;
  if (!std::filesystem::exists(output, error) || std::filesystem::file_size(output, error) == 0) return form;
  const MiopenFile there = miopen_file(output);
  if (there != from && !(is_perf_db(there) && is_perf_db(from)))
    fail(ErrorCode::invalid_input, "the output exists and is no {}, name another file: '{}'", name(from),
         shown(output.native(), 500));
  return form;
}

void write_miopen_file(const std::filesystem::path& output, std::string_view bytes) {
  const FileLock lock(output, FileLock::Use::shared);
  write_file_atomically(output, bytes);
}

Converted convert_miopen_file(const std::filesystem::path& input, const std::filesystem::path& output,
                              const ConvertOptions& options) {
  { const FileReader reader(input); }  // Reports why a file cannot be read.
  const MiopenFile from = miopen_file_or_named(input);
  if (from == MiopenFile::none)
    fail(ErrorCode::invalid_input, "the file is no find-db, perf-db or kernel-db: '{}'", shown(input.native(), 500));
  check_options(from, output, options);
  const OutputFile written{"-o", output};
  check_distinct_outputs(std::span(&written, 1), {"the input", input});
  if (from == MiopenFile::find_db && has_suffix(output, {".csv"})) {
    check_output(output);
    check_untuned_output(output, *find_family("conv"));
  } else {
    check_miopen_output(from, output);
  }
  ConvertedBytes converted = from == MiopenFile::find_db     ? convert_find_db(input, output, options)
                             : from == MiopenFile::kernel_db ? convert_kernel_db(input)
                                                             : convert_perf_db(from, input, output, options);
  write_miopen_file(output, converted.bytes);
  return std::move(converted.result);
}

}  // namespace attune
