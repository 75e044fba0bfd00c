// SPDX-License-Identifier: MIT
#include "fleet/exports/session_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "fleet/agent/job_outcome.h"
#include "fleet/exports/miopen_export.h"
#include "fleet/golden/golden_update.h"
#include "fleet/setup/session_device.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/publish.h"
#include "formats/csv/published_row.h"
#include "formats/find_db/find_db_key.h"
#include "ops/family.h"
#include "tables/miopen/miopen_file.h"

namespace attune {
namespace {

/// The files that the options ask for, and their content.
class Export {
 public:
  Export(const DeviceInfo& device, const SessionExportOptions& options) : options_(options), device_(device) {
    const std::string stem = miopen_device_name(device_.gfx, device_.num_units);
    if (options.find_db) find_db_ = output(fmt::format("{}.{}.fdb.txt", stem, miopen_platform(device_.kind)));
    if (options.perf_db) perf_db_ = output(stem + ".db");
    if (options.perf_db) perf_db_text_ = output(stem + ".db.txt");
    if (options.kernel_db) kernel_db_ = output(stem + ".kdb");
    check_output_folder(options.folder);
    refuse_other_files();
  }

  void add(const FleetAnswer& answer) {
    const std::string& key = answer.configuration.key;
    if (!answer.decision) return lack(key, answer.missing.empty() ? "it is not decided" : answer.missing);
    const Decision& decision = *answer.decision;
    if (is_unfinished_tie(decision)) return lack(key, "its contest was not completed");
    const FamilySpec& family = *find_family(decision.problem.op());
    if (family.op != "conv" && !options_.table) {
      has_decided_product_ = true;
      return lack(key, "MIOpen's files have keys for convolutions alone: -c writes its table");
    }
    ++num_answers_;
    if (options_.table) rows_[&family].push_back(published_row(decision, device_));
    if (!find_db_ && !perf_db_ && !kernel_db_) return;
    if (family.op != "conv") return void(++num_in_tables_alone_);
    ++num_convolutions_;
    // All solvers are Attune's own.
    const bool keeps = options_.foreign_solvers || device_.kind != "hip";
    if (!keeps) num_left_out_ += answer.finalists.size();
    try {
      miopen_.add(decision.problem,
                  keeps ? published_finalists(decision, answer.finalists) : std::vector<ShortListRow>());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_input) throw;
      return lack(key, error.what());
    }
    if (!keeps) return explain(key, "its solvers are Attune's own");
    for (const FleetKernel& kernel : answer.kernels) miopen_.add(kernel);
  }

  /// Writes the files of all that was added.
  SessionExport write() {
    if (num_answers_ == 0) {
      result_.notices.emplace_back(fmt::format("no {} is decided, so no file is written; those that are there stay",
                                               has_decided_product_ ? "convolution" : "configuration"));
      return std::move(result_);
    }
    for (const auto& [family, rows] : rows_) refuse_other_table(*family);
    std::filesystem::create_directories(options_.folder);
    if (perf_db_ && num_convolutions_ > 0) write_perf_db();
    if (kernel_db_ && num_convolutions_ > 0) write_kernel_db();
    // After the parameters and kernels of the solvers that it names: a reader must not find them missing.
    if (find_db_ && num_convolutions_ > 0) write_find_db();
    for (const auto& [family, rows] : rows_) publish_table(*family, rows);
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
  }

  std::filesystem::path table_of(const FamilySpec& family) const { return output(std::string(family.default_file)); }

  /// publish() would refuse the table after the other files were written.
  void refuse_other_table(const FamilySpec& family) const {
    const auto table = table_of(family);
    std::error_code error;
    if (!std::filesystem::exists(table, error)) return;
    check_output(table);
    if (std::filesystem::file_size(table, error) > 0) check_publishable(CsvDocument::read(table), family);
  }

  void lack(const std::string& problem, const std::string& reason) {
    result_.lacking.emplace_back(problem, reason);
    explain(problem, reason);
  }

  /// Keeps why the keys of a problem are not in the files.
  void explain(const std::string& problem, const std::string& reason) {
    try {
      const Problem parsed = Problem::parse(problem);
      if (parsed.op() != "conv") return;
      reasons_.emplace(find_db_key_of(parsed), reason);
      reasons_.emplace(perf_db_key(perf_db_config_of(parsed)), reason);
    } catch (const Error&) {
      // It has no key in these files.
    }
  }

  std::string why_missing(const std::string& key) const {
    const auto reason = reasons_.find(key);
    if (reason != reasons_.end()) return reason->second;
    return options_.tag.empty() ? "no configuration of this export has the key"
                                : fmt::format("no configuration tagged {} has the key", options_.tag);
  }

  /// `compare(path)`: reads the file that is replaced, and compares.
  template <typename Compare>
  void write_file(const std::filesystem::path& path, const std::string& bytes, const std::string& content,
                  Compare compare) {
    const FileLock lock(path, FileLock::Use::shared);
    remove_stale_temporaries(path);
    ExportedFile written{.path = path, .content = content};
    std::error_code error;
    if (std::filesystem::exists(path, error) && std::filesystem::file_size(path, error) > 0) {
      try {
        written.changes = compare(path);
      } catch (const Error& defect) {
        if (defect.code() != ErrorCode::invalid_input) throw;
        result_.notices.push_back(fmt::format("not compared with the file that was there: {}", defect.what()));
      }
    }
    write_file_atomically(path, bytes);
    const bool is_first = path == find_db_;  // In the list, though written last.
    result_.files.insert(is_first ? result_.files.begin() : result_.files.end(), std::move(written));
  }

  void write_kernel_db() {
    const std::string bytes = miopen_.kernel_db_bytes();
    write_file(*kernel_db_, bytes, counted(miopen_.num_kernels(), "kernel"),
               [&](const auto& before) { return changes_of(read_kernel_db(before), miopen_.kernel_db()); });
  }

  void write_find_db() {
    const std::string text = miopen_.find_db_text();
    write_file(*find_db_, text, fmt::format("{} with {}", counted(miopen_.num_keys(), "key"), num_entries()),
               [&](const auto& before) {
                 return changes_of(FindDb::read_with_defects(before), FindDb::parse(text, find_db_->string()),
                                   [this](const std::string& key) { return why_missing(key); });
               });
  }

  void write_perf_db() {
    const PerfDb& db = miopen_.perf_db();
    const std::string content =
        fmt::format("{} of {}", counted(db.rows.size(), "row"), counted(db.configs.size(), "config"));
    const auto compare = [&](const PerfDb& before) {
      return changes_of(before, db, [this](const std::string& key) { return why_missing(key); });
    };
    write_file(*perf_db_, perf_db_bytes(db), content,
               [&](const auto& before) { return compare(read_perf_db(before)); });
    write_file(*perf_db_text_, perf_db_text(db), content,
               [&](const auto& before) { return compare(read_perf_db_text(before)); });
  }

  void publish_table(const FamilySpec& family, const std::vector<PublishedRow>& rows) {
    const auto table = table_of(family);
    std::error_code error;
    std::optional<CsvDocument> before;
    if (std::filesystem::exists(table, error) && std::filesystem::file_size(table, error) > 0)
      before = CsvDocument::read(table);
    const PublishReport report = publish(table, family, rows);
    result_.notices.insert(result_.notices.end(), report.notices.begin(), report.notices.end());
    ExportedFile written{.path = table, .content = counted(rows.size(), "row")};
    if (before) written.changes = changes_of(*before, CsvDocument::read(table));
    result_.files.push_back(std::move(written));
  }

  void note_what_is_left_out() {
    if (num_in_tables_alone_ > 0)
      result_.notices.push_back(fmt::format("{} in tables alone: MIOpen's files have keys for convolutions",
                                            num_in_tables_alone_ == 1
                                                ? "1 configuration is"
                                                : fmt::format("{} configurations are", num_in_tables_alone_)));
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
  std::optional<std::filesystem::path> find_db_, perf_db_, perf_db_text_, kernel_db_;
  MiopenExport miopen_;
  /// In the order of families().
  std::map<const FamilySpec*, std::vector<PublishedRow>> rows_;
  std::map<std::string, std::string> reasons_;  // Why a key is not in the files.
  bool has_decided_product_ = false;            ///< That no file asked for has.
  size_t num_answers_ = 0, num_convolutions_ = 0, num_in_tables_alone_ = 0, num_left_out_ = 0;
  SessionExport result_;
};

}  // namespace

SessionExport export_session(FleetStore& store, const SessionExportOptions& options) {
  FleetSession session = store.session(options.session);
  Export made(device_of_session(session), options);
  store.visit_answers(options.session, options.tag, [&](const FleetAnswer& answer) { made.add(answer); });
  SessionExport result = made.write();
  result.sessions.push_back(std::move(session));
  return result;
}

SessionExport export_golden(FleetStore& store, GoldenSets& golden, const SessionExportOptions& options) {
  const int64_t version = options.golden_version;
  const std::string device = golden_device(golden, version, options.device);
  std::map<std::string, GoldenEntry> entries;
  golden.visit(version, device, [&](const GoldenEntry& one) { entries.emplace(one.configuration, one); });
  Export made(device_of_session(store.session(entries.begin()->second.session)), options);
  bool has_any = false;
  std::set<int64_t> sessions;
  store.visit_configurations(options.tag, [&](const FleetConfiguration& one) {
    has_any = true;
    const auto entry = entries.find(one.id);
    if (entry == entries.end()) {
      if (!options.tag.empty())
        made.add({.configuration = one, .missing = fmt::format("golden set {} does not have it", version)});
      return;
    }
    const Decision& decision = entry->second.decision;
    sessions.insert(entry->second.session);
    made.add({.configuration = one,
              .decision = decision,
              .finalists = finalists_of(decision),
              .kernels = golden.kernels(version, entry->second)});
  });
  if (!has_any)
    fail(ErrorCode::invalid_input, "no configuration has the tag '{}', see the tags: attune configs list",
         shown(options.tag));
  SessionExport result = made.write();
  for (const int64_t session : sessions) result.sessions.push_back(store.session(session));
  return result;
}

}  // namespace attune
