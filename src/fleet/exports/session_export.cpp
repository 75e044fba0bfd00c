// SPDX-License-Identifier: MIT
#include "fleet/exports/session_export.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "fleet/exports/miopen_export.h"
#include "fleet/setup/session_device.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/publish.h"
#include "formats/csv/published_row.h"
#include "ops/family.h"
#include "tables/miopen/miopen_file.h"

namespace attune {
namespace {

/// The files that the options ask for, and their content.
class Export {
 public:
  Export(FleetStore& store, const SessionExportOptions& options)
      : options_(options), device_(device_of_session(store.session(options.session))) {
    const std::string stem = miopen_device_name(device_.gfx, device_.num_units);
    if (options.find_db) find_db_ = output(fmt::format("{}.{}.fdb.txt", stem, miopen_platform(device_.kind)));
    if (options.perf_db) perf_db_ = output(stem + ".db");
    if (options.perf_db) perf_db_text_ = output(stem + ".db.txt");
    if (options.kernel_db) kernel_db_ = output(stem + ".kdb");
    if (options.table) table_ = output(std::string(find_family("conv")->default_file));
    check_output_folder(options.folder);
    refuse_other_files();
  }

  SessionExport run(FleetStore& store) {
    store.visit_answers(options_.session, options_.tag, [this](const FleetAnswer& answer) { add(answer); });
    std::filesystem::create_directories(options_.folder);
    if (find_db_) {
      const std::string text = miopen_.find_db_text();
      write(*find_db_, text, fmt::format("{} with {}", counted(miopen_.num_keys(), "key"), num_entries()));
    }
    if (perf_db_) {
      const PerfDb& db = miopen_.perf_db();
      const std::string content =
          fmt::format("{} of {}", counted(db.rows.size(), "row"), counted(db.configs.size(), "config"));
      write(*perf_db_, perf_db_bytes(db), content);
      write(*perf_db_text_, perf_db_text(db), content);
    }
    if (kernel_db_) write(*kernel_db_, miopen_.kernel_db_bytes(), counted(miopen_.num_kernels(), "kernel"));
    if (table_) publish_table();
    note_what_is_left_out();
    return std::move(result_);
  }

 private:
  std::filesystem::path output(const std::string& name) const { return options_.folder / name; }
  std::string num_entries() const {
    return miopen_.num_entries() == 1 ? "1 entry" : fmt::format("{} entries", miopen_.num_entries());
  }

  void refuse_other_files() const {
    const auto check = [](const std::optional<std::filesystem::path>& path, MiopenFile expected) {
      if (!path) return;
      std::error_code error;
      if (!std::filesystem::exists(*path, error)) return;
      check_output(*path);
      if (std::filesystem::file_size(*path, error) == 0 || miopen_file(*path) == expected) return;
      fail(ErrorCode::invalid_input, "the file exists and is no {}, name another folder with -o: '{}'", name(expected),
           shown(path->native(), 500));
    };
    check(find_db_, MiopenFile::find_db);
    check(perf_db_, MiopenFile::perf_db);
    check(perf_db_text_, MiopenFile::perf_db_text);
    check(kernel_db_, MiopenFile::kernel_db);
    if (table_) refuse_other_table();
  }

  /// publish() would refuse the table after the other files were written.
  void refuse_other_table() const {
    std::error_code error;
    if (!std::filesystem::exists(*table_, error)) return;
    check_output(*table_);
    if (std::filesystem::file_size(*table_, error) > 0)
      check_publishable(CsvDocument::read(*table_), *find_family("conv"));
  }

  void add(const FleetAnswer& answer) {
    const std::string& line = answer.configuration.line;
    if (!answer.decision) return lack(line, answer.missing.empty() ? "it is not decided" : answer.missing);
    const Decision& decision = *answer.decision;
    if (is_unfinished_tie(decision)) return lack(line, "its contest was not completed");
    if (decision.problem.op() != "conv") return lack(line, "it is no convolution");
    if (options_.table) rows_.push_back(published_row(decision, device_));
    if (!find_db_ && !perf_db_ && !kernel_db_) return;
    // All solvers are Attune's own.
    const bool keeps = options_.foreign_solvers || device_.kind != "hip";
    if (!keeps) num_left_out_ += answer.finalists.size();
    try {
      miopen_.add(decision.problem, keeps ? answer.finalists : std::vector<ShortListRow>());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_input) throw;
      return lack(line, error.what());
    }
    if (!keeps) return;
    for (const FleetKernel& kernel : answer.kernels) miopen_.add(kernel);
  }

  void lack(const std::string& line, const std::string& reason) { result_.lacking.emplace_back(line, reason); }

  void write(const std::filesystem::path& path, const std::string& bytes, const std::string& content) {
    const FileLock lock(path, FileLock::Use::shared);
    remove_stale_temporaries(path);
    write_file_atomically(path, bytes);
    result_.files.push_back({path, content});
  }

  void publish_table() {
    if (rows_.empty()) return;
    const PublishReport report = publish(*table_, *find_family("conv"), rows_);
    result_.notices.insert(result_.notices.end(), report.notices.begin(), report.notices.end());
    result_.files.push_back({*table_, counted(rows_.size(), "row")});
  }

  void note_what_is_left_out() {
    if (num_left_out_ > 0)
      result_.notices.push_back(
          fmt::format("{} of Attune's own solvers left out: MIOpen drops keys whose solver it does not know; "
                      "--foreign-solvers keeps them",
                      counted(num_left_out_, "result")));
    if (const size_t num = miopen_.num_shared_rows(); num > 0 && perf_db_)
      result_.notices.push_back(fmt::format(
          "{} of the perf-db left out: its config, which does not state a gradient's input, has the row of another "
          "problem",
          counted(num, "row")));
  }

  const SessionExportOptions& options_;
  const DeviceInfo device_;
  std::optional<std::filesystem::path> find_db_, perf_db_, perf_db_text_, kernel_db_, table_;
  MiopenExport miopen_;
  std::vector<PublishedRow> rows_;
  size_t num_left_out_ = 0;
  SessionExport result_;
};

}  // namespace

SessionExport export_session(FleetStore& store, const SessionExportOptions& options) {
  return Export(store, options).run(store);
}

}  // namespace attune
