// SPDX-License-Identifier: MIT
#include "dispatch/table/row_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "core/ban.h"
#include "core/candidate.h"
#include "dispatch/table/find_db_table.h"
#include "formats/csv/csv_scan.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/row_choice.h"
#include "formats/csv/table.h"
#include "formats/csv/table_columns.h"
#include "formats/find_db/find_db.h"
#include "ops/extent.h"
#include "ops/op.h"
#include "solver/contender.h"

namespace attune {
namespace {

constexpr size_t kMinSlots = 16;
/// The list, or an empty one.
std::shared_ptr<const BanList> or_none(std::shared_ptr<const BanList> bans) {
  static const auto& none = *new std::shared_ptr<const BanList>(std::make_shared<const BanList>());
  return bans == nullptr ? none : std::move(bans);
}

constexpr uint64_t kMaxNameBytes = std::numeric_limits<uint32_t>::max();

/// Counts rows of one kind and remembers the line of the first.
struct CountedNotice {
  size_t count = 0, first = 0;
  void note(size_t line) {
    if (count++ == 0) first = line;
  }
};

/// Counts rows of this device that no lookup takes for one kind of reason, and describes the first: `t.csv:17: column
/// 'N' …`.
struct UnusableRows {
  size_t count = 0;
  std::string first;
  template <typename Why>
  void note(const CsvScan& scan, const Why& why) {
    if (count++ == 0) first = fmt::format("{}:{}: {}", scan.head().name(), scan.line(), why());
  }
};

/// A column that mostly repeats a few cells, so the last cell's code is cached.
struct CodedColumn {
  std::optional<size_t> column;
  const AttributeSpec* spec = nullptr;
  std::string last;
  int64_t code = 0;
  bool known = false;
  bool is_computed = true;  ///< Whether this build computes problems with the last cell.
};

}  // namespace

/// Fills an index from files, in their order.
class RowIndexBuilder {
 public:
  RowIndexBuilder(RowIndex& index, const KeyCodes& codes, const DeviceInfo& device, Requirement required)
      : index_(index),
        codes_(codes),
        device_(device),
        required_(required),
        device_key_(device.key()),
        computes_(find_op(codes.family().op) != nullptr) {
    index_.padding_ = codes.family().padding;
  }

  void add_file(uint16_t file) {
    const TableSource& source = index_.files_[file];
    const bool is_find = source.origin == Origin::variable && source.why_skipped.empty() && is_find_db(source.file);
    add_file(file, [&] {
      return is_find ? CsvScan(find_db_table(source.file, &device_).csv, source.file.string(), 0)
                     : CsvScan(source.file);
    });
  }
  void add_file(uint16_t file, const CsvDocument& document) {
    add_file(file, [&] { return CsvScan(std::string(document.content()), document.name(), document.first_line()); });
  }

  void finish() {
    std::vector<RowsByM::Member> members;
    members.reserve(in_groups_.size());
    constexpr size_t kAhead = 16;
    for (size_t i = 0; i < in_groups_.size(); ++i) {
      if (i + kAhead < in_groups_.size()) index_.prefetch(in_groups_[i + kAhead].key);
      const InGroup& one = in_groups_[i];
      members.push_back({one.group, one.m, index_.find(one.key)});
    }
    std::vector<InGroup>().swap(in_groups_);
    index_.groups_ = RowsByM(std::move(members));
    order_alternates();
    index_.names_.shrink_to_fit();
    index_.name_ends_.shrink_to_fit();
  }

 private:
  static auto order_of(const ProblemKey& key) noexcept { return std::pair(key.high, key.low); }

  /// Sorts the alternates; one whose kernel the rows before it name already cannot help.
  void order_alternates() {
    std::vector<RowIndex::Row>& all = index_.alternates_;
    std::sort(all.begin(), all.end(), [&](const RowIndex::Row& a, const RowIndex::Row& b) {
      return std::tuple(order_of(a.key), rank_of(a), a.line) < std::tuple(order_of(b.key), rank_of(b), b.line);
    });
    size_t kept = 0, first = 0;  // `first`: of this key's.
    for (const RowIndex::Row& row : all) {
      if (kept == 0 || !(all[kept - 1].key == row.key)) first = kept;
      const auto names_it = [&](const RowIndex::Row& other) { return other.name == row.name; };
      const auto begin = all.begin() + static_cast<ptrdiff_t>(first), end = all.begin() + static_cast<ptrdiff_t>(kept);
      if (names_it(index_.slots_[index_.slot_of(row.key)]) || std::any_of(begin, end, names_it)) continue;
      all[kept++] = row;
    }
    all.resize(kept);
    all.shrink_to_fit();
  }

  template <typename Open>
  void add_file(uint16_t file, const Open& open) {
    const std::string path = index_.files_[file].file.string();
    if (const std::string& why = index_.files_[file].why_skipped; !why.empty()) {
      index_.notices_.push_back(why);
      return;
    }
    try {
      CsvScan scan = open();
      begin_file(scan);
      while (scan.next()) add_row(scan, file);
    } catch (const Error& error) {
      index_.notices_.push_back(fmt::format("a table is skipped: {}", error.what()));
    }
    say(path, repeated_, "with the key of another row", "the lowest time wins");
    say(path, mixed_, "with another kernel than the first row of their weight", "not used, results would depend on M");
    if (unusable_.count > 0)
      index_.notices_.push_back(fmt::format("{} cannot be used, run attune check '{}'; the first is {}",
                                            counted(unusable_.count, "row"), path, unusable_.first));
    if (banned_.count > 0)
      index_.notices_.push_back(fmt::format("{} not used, {} banned: see attune quarantine list; the first is {}",
                                            counted(banned_.count, "row"),
                                            banned_.count == 1 ? "its kernel is" : "their kernels are", banned_.first));
    repeated_ = mixed_ = {};
    unusable_ = banned_ = {};
  }

  void begin_file(const CsvScan& scan) {
    const CsvDocument& head = scan.head();
    keys_.clear();
    for (const AttributeSpec& key : codes_.family().key) {
      keys_.push_back(
          {key.default_value.empty() ? head.require_column(key.column) : head.find_column(key.column), &key});
    }
    gfx_ = head.find_column("gfx");
    units_ = head.find_column("cu_num");
    us_ = head.find_column("us");
    name_ = head.find_column("kernelName");
    model_ = head.find_column("device");
    tag_ = head.find_column("_tag");
    layout_ = {.column = head.find_column("layout")};
    require_ = head.find_column("require");
  }

  static std::string_view cell(const CsvScan& scan, std::optional<size_t> column) {
    return column ? scan.cell(*column) : std::string_view();
  }

  /// Whether there is text beyond the last column; then the row's cells may be shifted.
  static bool has_too_many_cells(const CsvScan& scan) {
    for (size_t i = scan.head().columns().size(); i < scan.num_cells(); ++i) {
      if (!scan.cell(i).empty()) return true;
    }
    return false;
  }

  /// Whether the row is for this device.
  bool is_ours(const CsvScan& scan) {
    const auto units = units_of(cell(scan, units_));
    std::string_view gfx = cell(scan, gfx_);
    if (gfx.empty()) gfx = gfx_of_units(units.value_or(0));
    if (gfx != device_.gfx || !cell(scan, tag_).empty()) return false;
    if (!is_of_model(cell(scan, model_), device_.model)) return false;
    if (!units) {
      unusable_.note(scan, [&] { return units_error(cell(scan, units_)); });
      return false;
    }
    if (*units != device_.num_units) index_.other_units_.insert(*units);
    return *units == device_.num_units;
  }

  /// Reads the key columns; returns false if a cell is invalid. Sets `is_computed` to whether this build
  /// computes problems with such a key.
  bool read_codes(const CsvScan& scan, Key& key, bool& is_computed) {
    is_computed = true;
    for (size_t i = 0; i < keys_.size(); ++i) {
      CodedColumn& column = keys_[i];
      const std::string_view text = cell(scan, column.column);
      if (text.empty()) {
        if (column.spec->default_value.empty()) return false;
        key[i] = column.spec->is_device_fp8 ? static_cast<int64_t>(device_.fp8()) : codes_.code_of_none(i, key);
        continue;
      }
      if (codes_.family().key[i].kind == ColumnKind::integer) {
        const auto number = codes_.code(i, text);
        if (!number) return false;
        key[i] = *number;
        is_computed = is_computed && column.spec->contains(*number);
        continue;
      }
      if (!column.known || column.last != text) {
        const auto code = codes_.code(i, text);
        if (!code) return false;
        column.last = text;
        column.code = *code;
        column.known = true;
        column.is_computed = !key_cell_error(codes_.family().key[i], text, Strictness::shape);
      }
      key[i] = column.code;
      is_computed = is_computed && column.is_computed;
    }
    return true;
  }

  /// Returns why the row's key is not accepted.
  std::string key_error(const CsvScan& scan, Strictness strictness) const {
    std::optional<std::string> error;
    for (size_t i = 0; i < keys_.size() && !error; ++i)
      error = key_cell_error(codes_.family().key[i], cell(scan, keys_[i].column), strictness);
    return error.value_or("its key is invalid");
  }

  /// Returns why the row's kernel cannot read weights in the row's layout. Nothing for a kernel of another program:
  /// whether it exists is known where it is made.
  std::optional<std::string> why_layout_unreadable(const CsvScan& scan) {
    const std::string_view layout = cell(scan, layout_.column), kernel = cell(scan, name_);
    const int64_t code = KeyCodes::layout_code(layout);
    // Most kernels read plain weights, and need not be parsed.
    if (code == 0 && kernel.find(kLayoutParameter) == std::string_view::npos) return std::nullopt;
    const auto [known, is_new] = layout_errors_.try_emplace({hash128(kernel), code});
    if (!is_new) return known->second;
    try {
      known->second = why_unreadable(Candidate::parse(kernel), layout);
    } catch (const Error&) {
      // Its name is no candidate's.
    }
    return known->second;
  }

  int64_t layout_code_of(const CsvScan& scan) {
    const std::string_view text = cell(scan, layout_.column);
    if (!layout_.known || layout_.last != text) {
      layout_.last = text;
      layout_.code = KeyCodes::layout_code(text);
      layout_.known = true;
      const std::string name = layout_.code == 0 ? kPlainLayout : layout_.last;
      if (std::find(index_.layouts_.begin(), index_.layouts_.end(), name) == index_.layouts_.end() &&
          index_.layouts_.size() < RowIndex::kMaxLayouts)
        index_.layouts_.push_back(name);
    }
    return layout_.code;
  }

  /// Nothing for a word that this version does not know, which makes the row unusable: it may state less than is
  /// required.
  std::optional<Requirement> requirement_of(const CsvScan& scan) {
    const std::string_view text = cell(scan, require_);
    if (text.empty()) return Requirement::none;
    try {
      return parse_requirement(text);
    } catch (const Error& error) {
      unusable_.note(scan, [&] { return error.what(); });
      return std::nullopt;
    }
  }

  /// Reads the key of a row that may serve; returns false if it cannot be read.
  bool read_key(const CsvScan& scan, Key& key) {
    bool is_computed = true;
    if (has_too_many_cells(scan)) {
      unusable_.note(scan, [&] { return surplus_cells_error(scan.num_cells(), scan.head().columns().size()); });
      return false;
    }
    if (!read_codes(scan, key, is_computed)) {
      unusable_.note(scan, [&] { return key_error(scan, Strictness::table); });
      return false;
    }
    if (!computes_) return true;
    // Rows that are indexed, although no call has their key or their layout.
    if (!is_computed)
      unusable_.note(scan, [&] { return key_error(scan, Strictness::shape); });
    else if (const auto why = why_layout_unreadable(scan))
      unusable_.note(scan, [&] { return *why; });
    return true;
  }

  /// Whether the kernel is that of the weight's first row: with several, results would depend on M.
  bool is_kernel_of_weight(const Key& key, std::string_view kernel) {
    const GroupKey weight = codes_.group_key(key);
    const auto [first, is_new] = kernels_of_weights_.try_emplace({weight.high, weight.low}, hash128(kernel));
    return is_new || first->second == hash128(kernel);
  }
  RowRank rank_of(const RowIndex::Row& row) const noexcept { return {row.file, row.us, row.require, required_}; }

  void add_row(const CsvScan& scan, uint16_t file) {
    if (!is_ours(scan)) return;
    const auto us = usable_time(cell(scan, us_));
    if (!us) return unusable_.note(scan, [&] { return time_error(cell(scan, us_)); });
    const auto stated = requirement_of(scan);
    if (!stated || !meets(*stated, required_)) return;
    Key key;
    key.resize(codes_.op(), codes_.size());
    if (!read_key(scan, key)) return;
    key = codes_.trimmed(key);
    const std::string_view kernel = cell(scan, name_);
    if (index_.names_.size() + kernel.size() > kMaxNameBytes)
      return unusable_.note(scan, [] { return "the names of the kernels exceed 4 GiB, split the table"; });
    const Ban* const ban = ban_of(kernel);
    if (ban == nullptr && required_ == Requirement::batch_invariant && !is_kernel_of_weight(key, kernel))
      return mixed_.note(scan.line());
    const GroupKey group = codes_.group_key(key, layout_code_of(scan));
    RowIndex::Row row{group.with_m(codes_.m_of(key)),
                      codes_.m_of(key),
                      static_cast<uint32_t>(scan.line()),
                      0,
                      static_cast<float>(*us),
                      file,
                      *stated};
    if (ban != nullptr) {
      banned_.note(scan, [&] { return fmt::format("{} {}", shown(kernel), ban_clause(*ban)); });
      row.name = name_of(kernel);
      index_.banned_.push_back(row);
      return;
    }
    if (10 * (index_.num_rows_ + 1) > 7 * index_.slots_.size()) index_.grow();
    const size_t slot = index_.slot_of(row.key);
    RowIndex::Row& there = index_.slots_[slot];
    if (index_.prints_[slot] == 0) {
      index_.prints_[slot] = RowIndex::print_of(row.key);
      ++index_.num_rows_;
      if (codes_.pads_m() && row.m > 0 && row.m <= kMaxExtent)
        in_groups_.push_back({RowsByM::print_of(group), row.key, static_cast<uint32_t>(row.m)});
      row.name = name_of(kernel);
      there = row;
      return;
    }
    if (there.file == file && there.require == row.require) repeated_.note(scan.line());
    row.name = name_of(kernel);
    if (rank_of(row) < rank_of(there)) std::swap(row, there);
    index_.alternates_.push_back(row);
  }

  /// Null: it is not banned. Most rows follow one of the same kernel.
  const Ban* ban_of(std::string_view kernel) {
    if (index_.bans_->empty()) return nullptr;
    if (!last_ban_ || last_ban_->first != kernel)
      last_ban_.emplace(std::string(kernel), index_.bans_->find(kernel, device_key_));
    return last_ban_->second;
  }

  /// Stores each name once: most kernels serve many rows.
  uint32_t name_of(std::string_view kernel) {
    const auto [entry, fresh] =
        names_.try_emplace(hash128(kernel), static_cast<uint32_t>(index_.name_ends_.size() - 1));
    if (fresh) {
      index_.names_ += kernel;
      index_.name_ends_.push_back(static_cast<uint32_t>(index_.names_.size()));
    }
    return entry->second;
  }

  void say(const std::string& path, const CountedNotice& notice, std::string_view what, std::string_view so) {
    if (notice.count == 0) return;
    index_.notices_.push_back(fmt::format("{}: {} {}: {}; the first is {}:{}", path, counted(notice.count, "row"), what,
                                          so, path, notice.first));
  }

  struct InGroup {
    uint64_t group = 0;
    ProblemKey key;
    uint32_t m = 0;
  };

  RowIndex& index_;
  const KeyCodes& codes_;
  const DeviceInfo& device_;
  const Requirement required_;
  const std::string device_key_;
  const bool computes_;  ///< Whether this build computes problems of the family.
  std::map<Hash128, uint32_t> names_;
  std::vector<CodedColumn> keys_;
  CodedColumn layout_;
  std::vector<InGroup> in_groups_;
  std::optional<size_t> gfx_, units_, us_, name_, model_, tag_, require_;
  CountedNotice repeated_, mixed_;
  UnusableRows unusable_, banned_;
  std::optional<std::pair<std::string, const Ban*>> last_ban_;
  std::map<std::pair<Hash128, int64_t>, std::optional<std::string>> layout_errors_;  ///< By kernel and layout.
  std::map<std::pair<uint64_t, uint64_t>, Hash128> kernels_of_weights_;  ///< Under batch_invariant; by key without M.
};

RowIndex::RowIndex(const KeyCodes& codes, std::vector<TableSource> files, const DeviceInfo& device,
                   Requirement required, std::shared_ptr<const BanList> bans)
    : prints_(kMinSlots), slots_(kMinSlots), files_(std::move(files)), bans_(or_none(std::move(bans))) {
  RowIndexBuilder builder(*this, codes, device, required);
  for (size_t file = 0; file < files_.size(); ++file) builder.add_file(static_cast<uint16_t>(file));
  builder.finish();
}

RowIndex::RowIndex(const KeyCodes& codes, std::span<const CsvDocument> documents, const DeviceInfo& device,
                   Requirement required, std::shared_ptr<const BanList> bans)
    : prints_(kMinSlots), slots_(kMinSlots), bans_(or_none(std::move(bans))) {
  for (const CsvDocument& document : documents) files_.push_back({.file = document.name()});
  RowIndexBuilder builder(*this, codes, device, required);
  for (size_t file = 0; file < files_.size(); ++file) builder.add_file(static_cast<uint16_t>(file), documents[file]);
  builder.finish();
}

void RowIndex::grow() {
  const auto old_prints = std::exchange(prints_, decltype(prints_)(2 * prints_.size()));
  const auto old_slots = std::exchange(slots_, decltype(slots_)(2 * slots_.size()));
  for (size_t i = 0; i < old_prints.size(); ++i) {
    if (old_prints[i] == 0) continue;
    const size_t slot = slot_of(old_slots[i].key);
    prints_[slot] = old_prints[i];
    slots_[slot] = old_slots[i];
  }
}

uint32_t RowIndex::alternate(uint32_t number) const noexcept {
  const ProblemKey& key = row(number).key;
  const auto order_of = [](const ProblemKey& one) { return std::pair(one.high, one.low); };
  const auto next = number > slots_.size() ? alternates_.begin() + static_cast<ptrdiff_t>(number - slots_.size())
                                           : std::lower_bound(alternates_.begin(), alternates_.end(), key,
                                                              [&](const Row& one, const ProblemKey& wanted) {
                                                                return order_of(one.key) < order_of(wanted);
                                                              });
  if (next == alternates_.end() || !(next->key == key)) return 0;
  return static_cast<uint32_t>(slots_.size() + 1 + static_cast<size_t>(next - alternates_.begin()));
}

Predictions RowIndex::predict(const GroupKey& group, int64_t m, double max_regret) const noexcept {
  Predictions found;
  if (m < 1 || max_regret <= 0) return found;
  const RowsByM::AdjacentRows around = groups_.around(group, m);
  const auto neighbour = [this](uint32_t number) {
    return number == 0 ? Neighbour() : Neighbour{row(number).m, row(number).us};
  };
  const NextRows next = NextRows::of(m, neighbour(around.below), neighbour(around.above));
  const auto add = [&](uint32_t number, double regret) {
    if (number != 0 && regret <= max_regret) found.rows[found.count++] = {number, static_cast<float>(regret)};
  };
  if (next.above_first) add(around.above, next.above_regret);
  add(around.below, next.below_regret);
  if (!next.above_first) add(around.above, next.above_regret);
  return found;
}

std::string RowIndex::where(const Row& row) const {
  return fmt::format("{}:{}", files_[row.file].file.string(), row.line);
}

uint64_t RowIndex::num_bytes() const noexcept {
  return groups_.num_bytes() + (slots_.capacity() + alternates_.capacity()) * sizeof(Row) +
         prints_.capacity() * sizeof(uint64_t) + names_.capacity() + name_ends_.capacity() * sizeof(uint32_t);
}

}  // namespace attune
