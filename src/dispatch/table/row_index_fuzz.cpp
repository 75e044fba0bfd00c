// SPDX-License-Identifier: MIT
#include "dispatch/table/row_index.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attune/error.h"
#include "base/error.h"
#include "dispatch/table/lookup_steps.h"
#include "formats/csv/table.h"
#include "ops/family.h"

namespace {

using namespace attune;

/// A file in memory, rewritten for every input.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("fuzz.csv", MFD_CLOEXEC)) {
    ATTUNE_CHECK(descriptor_ >= 0, "no file in memory can be made");
  }
  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }
  void put(std::string_view content) const {
    ATTUNE_CHECK(::ftruncate(descriptor_, 0) == 0, "the file in memory cannot be emptied");
    ATTUNE_CHECK(::pwrite(descriptor_, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size()),
                 "the file in memory cannot be written");
  }

 private:
  int descriptor_;
};

/// A device that also owns rows without a gfx, by their number of units.
DeviceInfo device() {
  DeviceInfo info;
  info.gfx = "gfx942";
  info.num_units = 80;
  info.model = "A Model";
  return info;
}

const KeyCodes& codes_of(const FamilySpec& family) {
  static const FamilyCodes all;
  return all.of(family.number);
}

/// The rows that a Table accepts when read one by one, with their lines in the whole file. A Table refuses a file with
/// one wrong row, an index skips the row.
struct SlowRows {
  std::optional<Table> table;
  std::vector<size_t> lines;
};

SlowRows slow_rows(const CsvDocument& document, const FamilySpec& family) {
  SlowRows slow;
  std::string kept(document.head());
  for (size_t row = 0; row < document.num_rows(); ++row) {
    const std::string raw(document.raw(row));
    try {
      static_cast<void>(Table::of({CsvDocument::parse(std::string(document.head()) + raw, "row.csv")}, &family));
    } catch (const Error&) {
      continue;
    }
    kept += raw;
    slow.lines.push_back(document.line(row));
  }
  slow.table = Table::of({CsvDocument::parse(kept, "kept.csv")}, &family);
  return slow;
}

class FuzzedLookups {
 public:
  FuzzedLookups(const SlowRows& slow, const RowIndex& index, const KeyCodes& codes)
      : slow_(slow), index_(index), codes_(codes), here_(device()) {}

  void run() {
    std::set<const TableRow*> serving;
    for (const TableRow& row : slow_.table->rows()) {
      if (const TableRow* found = expect_same(row.problem, KeyCodes::layout_code(row.layout))) serving.insert(found);
      if (codes_.pads_m()) check_near(row.problem);
    }
    ATTUNE_CHECK(serving.size() == index_.num_rows(), "{} rows serve and the index has {}", serving.size(),
                 index_.num_rows());
  }

 private:
  /// Looks up keys of calls that are padded to a row, and keys that the row's own M pads to.
  void check_near(const Problem& problem) const {
    const FamilySpec& family = codes_.family();
    const int64_t m = problem.integer(family.rows), n = problem.integer(family.columns);
    for (const int64_t called : {m, m > 1 ? m - 1 : 1, m / 2 + 1}) {
      for (const auto& step : LookupSteps(&codes_.family().padding, called, n))
        expect_same(problem.with(family.rows, std::to_string(step.m)), KeyCodes::layout_code({}));
    }
  }

  /// Like Table::find(), but for one layout and with the index's float times; the first of equal times wins.
  const TableRow* wanted(const Problem& problem, int64_t layout) const {
    const TableRow* best = nullptr;
    bool has_others = false;
    for (const TableRow* row : slow_.table->all(problem, here_.gfx, here_.num_units)) {
      if (KeyCodes::layout_code(row->layout) != layout) has_others = true;
      if (!row->us || !row->tag.empty() || KeyCodes::layout_code(row->layout) != layout) continue;
      if (!row->device.empty() && row->device != here_.model) continue;
      if (best == nullptr || static_cast<float>(*row->us) < static_cast<float>(*best->us)) best = row;
    }
    const TableRow* found = slow_.table->find(problem, here_.gfx, here_.num_units, here_.model);
    ATTUNE_CHECK(has_others || (found == nullptr) == (best == nullptr), "the table itself is of two minds");
    return best;
  }

  const TableRow* expect_same(const Problem& problem, int64_t layout) const {
    const TableRow* row = wanted(problem, layout);
    const uint32_t number = index_.find(codes_.hash(codes_.key(problem), layout));
    ATTUNE_CHECK((number == 0) == (row == nullptr), "{} a row for {}", number == 0 ? "the index lacks" : "only it has",
                 problem.key());
    if (row == nullptr) return nullptr;
    const RowIndex::Row& got = index_.row(number);
    ATTUNE_CHECK(got.line == slow_.lines[row->row], "line {} serves {}, not {}", got.line, problem.key(),
                 slow_.lines[row->row]);
    ATTUNE_CHECK(index_.kernel_name(got) == row->kernel_name, "another kernel serves {}", problem.key());
    return row;
  }

  const SlowRows& slow_;
  const RowIndex& index_;
  const KeyCodes& codes_;
  DeviceInfo here_;
};

}  // namespace

/// Checks that an index and a Table read any bytes alike: both serve the same rows, or neither reads the file. The
/// first byte, if below 32, selects the family; the default is gemm_a16w16.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view content(reinterpret_cast<const char*>(data), size);
  size_t number = 0;
  if (!content.empty() && content[0] >= 0 && content[0] < ' ') {
    number = static_cast<size_t>(content[0]) % families().size();
    content.remove_prefix(1);
  }
  const FamilySpec& family = families()[number];
  static const MemoryFile file;
  file.put(content);
  const RowIndex index(codes_of(family), {{file.path(), Origin::variable}}, device());
  std::optional<SlowRows> slow;
  try {
    slow = slow_rows(CsvDocument::parse(content, "fuzz.csv"), family);
  } catch (const Error&) {
    ATTUNE_CHECK(index.num_rows() == 0 && index.notices().size() == 1, "an index of what is no table");
    return 0;
  }
  FuzzedLookups(*slow, index, codes_of(family)).run();
  return 0;
}
