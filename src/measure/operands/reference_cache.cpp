// SPDX-License-Identifier: MIT
#include "measure/operands/reference_cache.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/pages.h"
#include "base/random.h"
#include "device/host_bytes.h"
#include "measure/operands/sampled_inputs.h"
#include "tensor/all_cores.h"
#include "tensor/convert.h"
#include "tensor/kernel_dtype.h"

namespace attune {
namespace {

// The naive path takes about 10 ns per term.
constexpr double kMaxTerms = 1 << 20;
constexpr double kMaxSamples = 256;
// Where a sum runs across the rows in which an operand is stored, each term lies in a page of its own, whose first use
// takes 0.5 µs. Samples lie close together to share the pages.
constexpr int64_t kNeighbours = 32;
// A smaller reference takes at most about 0.1 s: a core computes 1 to 4 · 10⁹ operations a second.
constexpr double kShortFlops = 1 << 28;
// Each part reads the whole other operand, which takes 2 % of its time at this size.
constexpr int64_t kRowsAtOnce = 256;
// Arithmetic of the elements that get_some() computes, and the size of the blocks it samples.
constexpr double kSomeFlops = 1 << 24;
constexpr int64_t kBlockRows = 4, kBlockColumns = 16;
// Both paths sum in double: they differ by 1e-13 of the scale. A lost or doubled term changes it by 1/√K or more.
constexpr double kPathsAgree = 1e-9;

/// Elements of one row of an output, next to each other.
struct Stretch {
  int64_t row = 0;
  IndexRange columns;
};

/// Returns indices at both ends and at a random place.
std::vector<int64_t> sampled_indices(int64_t count, Random& random) {
  const int64_t length = std::min(count, kNeighbours);
  const auto anywhere = static_cast<int64_t>(random.below(static_cast<uint64_t>(count - length + 1)));
  std::set<int64_t> indices;
  for (const int64_t begin : {int64_t{0}, anywhere, count - length}) {
    for (int64_t i = 0; i < length; ++i) indices.insert(begin + i);
  }
  return {indices.begin(), indices.end()};
}

/// Returns the elements of an output to check: all of them, or the corners, where blocks are truncated, and random
/// elements of a few neighbouring rows and columns.
std::vector<Stretch> checked_elements(int64_t rows, int64_t columns, double terms, uint64_t seed) {
  std::vector<Stretch> checked;
  if (terms <= kMaxTerms) {
    for (int64_t row = 0; row < rows; ++row) checked.push_back({row, {0, columns}});
    return checked;
  }
  const int64_t count = rows * columns;
  std::set<int64_t> picked = {0, columns - 1, count - columns, count - 1};
  Random random(derive_seed(seed, "reference elements"));
  const auto row_choices = sampled_indices(rows, random), column_choices = sampled_indices(columns, random);
  const double affordable = std::min(kMaxSamples, kMaxTerms / terms * static_cast<double>(count));
  const auto wanted = std::min(static_cast<size_t>(affordable), row_choices.size() * column_choices.size());
  while (picked.size() < wanted) {
    const int64_t row = row_choices[random.below(row_choices.size())];
    picked.insert(row * columns + column_choices[random.below(column_choices.size())]);
  }
  for (const int64_t index : picked) checked.push_back({index / columns, {index % columns, index % columns + 1}});
  return checked;
}

/// Returns indices of about `wanted` elements of a row of `count`, ascending, in blocks of neighbours: the first block,
/// the last and random ones.
std::vector<int64_t> sampled_blocks(int64_t count, int64_t block, int64_t wanted, Random& random) {
  const int64_t num_blocks = (count + block - 1) / block;
  std::set<int64_t> blocks = {0, num_blocks - 1};
  const int64_t num_wanted = std::min(num_blocks, wanted / block);
  while (std::ssize(blocks) < num_wanted)
    blocks.insert(static_cast<int64_t>(random.below(static_cast<uint64_t>(num_blocks))));
  std::vector<int64_t> indices;
  for (const int64_t one : blocks) {
    for (int64_t i = one * block; i < std::min(count, (one + 1) * block); ++i) indices.push_back(i);
  }
  return indices;
}

/// The ranges of neighbours among ascending indices.
std::vector<IndexRange> runs_of(std::span<const int64_t> indices) {
  std::vector<IndexRange> runs;
  for (const int64_t index : indices) {
    if (!runs.empty() && runs.back().end == index)
      ++runs.back().end;
    else
      runs.push_back({index, index + 1});
  }
  return runs;
}

std::unique_ptr<DeviceReferenceKernel> open_kernel(Device& device, const Op& op, const Problem& problem) {
  return is_kernel_dtype(op.tensors(problem).back().dtype) ? DeviceReferenceKernel::open(device, op, problem) : nullptr;
}

}  // namespace

/// The inputs of test data in host memory, not yet written.
class HostInputs {
 public:
  explicit HostInputs(const TestData& data) {
    for (const GuardedBuffer& input : data.inputs)
      inputs_.emplace_back(input.memory(), input.area(), HostBytes::Contents::unset);
  }
  HostTensors tensors() {
    HostTensors tensors;
    for (HostBytes& input : inputs_) tensors.operands.push_back(input.bytes());
    tensors.operands.emplace_back();  // neither filling nor the reference reads the output
    return tensors;
  }
  void store() {
    for (HostBytes& input : inputs_) input.store();
  }

 private:
  std::vector<HostBytes> inputs_;
};

TestData::~TestData() { set_reference_writable(true); }

void TestData::set_inputs_writable(bool writable) noexcept {
  for (GuardedBuffer& input : inputs) is_protected = input.set_writable(writable) != Protection::none;
}

void TestData::list(std::vector<HashedArea>& areas) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_protected) areas.push_back({inputs[i].area(), hashes[i]});
  }
  if (!device_reference) return;
  const auto computed = device_reference->areas();
  for (size_t i = 0; i < computed.size(); ++i) areas.push_back({computed[i], reference_hashes[i]});
}

bool TestData::set_reference_writable(bool writable) noexcept {
  bool done = true;
  for (const Reference::Numbers* numbers : {&reference.values, &reference.scales}) {
    const std::span pages(reinterpret_cast<const std::byte*>(numbers->data()),
                          in_whole_pages(numbers->capacity() * sizeof(double)));
    done = set_writable(pages, writable) && done;
  }
  return done;
}

ReferenceCache::ReferenceCache(Device& device, const Op& op, const Problem& problem, uint64_t seed,
                               std::function<bool()> is_stopped)
    : device_(device),
      op_(op),
      problem_(problem),
      seed_(seed),
      is_stopped_(std::move(is_stopped)),
      specs_(op.tensors(problem)) {
  ATTUNE_CHECK(!specs_.empty() && specs_.back().use == Use::output, "the last operand of {} is not its output",
               op.name());
  kernel_ = open_kernel(device, op, problem);
  if (kernel_) fill_ = DeviceFill::open(device, op, problem);
}

std::string ReferenceCache::refusal(Device& device, const Op& op, const Problem& problem) {
  const double flops = op.work(problem).flops;
  if (flops <= kMaxReferenceFlops || open_kernel(device, op, problem) != nullptr) return {};
  return fmt::format(
      "the reference is too much for a host, and {} has no kernel for it; use a smaller shape: {:.3g} "
      "operations, {:.3g} is the limit",
      device.info().id, flops, kMaxReferenceFlops);
}

TestData& ReferenceCache::get(Distribution distribution) {
  auto& slot = data_[static_cast<size_t>(distribution)];
  if (slot) return *slot;
  std::optional<HostInputs> inputs;
  auto data = filled(distribution, inputs);
  std::optional<ActivityScope> doing(std::in_place, device_.time(), Activity::reference);
  kernel_ ? compute_on_device(*data) : compute(*data, inputs->tensors());
  // The paths are the same code for every distribution, and normal data hide no difference.
  if (distribution == Distribution::normal) {
    doing.emplace(device_.time(), Activity::spot_check);
    inputs ? check(*data, inputs->tensors()) : check(*data, distribution);
  }
  protect(*data);
  slot = std::move(data);
  return *slot;
}

TestData& ReferenceCache::get_some(Distribution distribution) {
  const bool is_cheap = kernel_ != nullptr || op_.work(problem_).flops <= kSomeFlops;
  if (is_cheap || data_[static_cast<size_t>(distribution)]) return get(distribution);
  auto& slot = some_[static_cast<size_t>(distribution)];
  if (slot) return *slot;
  std::optional<HostInputs> inputs;
  auto data = filled(distribution, inputs);
  compute_some(*data, inputs->tensors());
  protect(*data);
  slot = std::move(data);
  return *slot;
}

/// Returns the inputs of a distribution without a reference. `inputs`: receives them on the host, unless the device
/// fills them.
std::unique_ptr<TestData> ReferenceCache::filled(Distribution distribution, std::optional<HostInputs>& inputs) {
  const ActivityScope filling(device_.time(), Activity::fill);
  auto data = std::make_unique<TestData>();
  for (size_t i = 0; i + 1 < specs_.size(); ++i) {
    data->inputs.emplace_back(device_, specs_[i].bytes(), specs_[i].alignment_bytes,
                              static_cast<uint32_t>(std::max(8, bits(specs_[i].dtype)) / 8));
  }
  if (fill_)
    fill_on_device(distribution, *data);
  else
    fill(distribution, *data, inputs.emplace(*data));
  std::vector<Buffer> areas;
  for (const GuardedBuffer& input : data->inputs) areas.push_back(input.area());
  data->hashes = device_.memory().hash_all(areas);
  return data;
}

void ReferenceCache::protect(TestData& data) const {
  if (!data.set_reference_writable(false))
    fail(ErrorCode::device, "cannot protect the reference from candidates, close other programs");
  data.set_inputs_writable(false);
}

void ReferenceCache::end_run(Distribution distribution) noexcept {
  if (auto& data = data_[static_cast<size_t>(distribution)]) data->set_inputs_writable(false);
}

void ReferenceCache::list(std::vector<HashedArea>& areas) const {
  for (const auto* const all : {&data_, &some_}) {
    for (const auto& data : *all) {
      if (data) data->list(areas);
    }
  }
}

void ReferenceCache::refill(Distribution distribution) {
  TestData& data = get(distribution);
  const ActivityScope filling(device_.time(), Activity::fill);
  if (fill_) return fill_on_device(distribution, data);
  HostInputs inputs(data);
  fill(distribution, data, inputs);
}

void ReferenceCache::fill_on_device(Distribution distribution, TestData& data) {
  std::vector<Buffer> inputs;
  for (const GuardedBuffer& input : data.inputs) inputs.push_back(input.area());
  fill_->fill(distribution, seed_, inputs);
  if (distribution == Distribution::integers) upload_special(inputs);
  restore_guards(data);
}

/// Writes the special values of the integers to the inputs in the device's memory.
void ReferenceCache::upload_special(std::span<const Buffer> inputs) const {
  for (const SpecialValue& special : op_.special_values(problem_)) {
    const DType dtype = specs_[special.operand].dtype;
    const auto bytes = static_cast<uint64_t>(bits(dtype)) / 8;
    std::array<std::byte, sizeof(float)> stored{};
    from_float(dtype, std::span(&special.value, 1), stored.data());
    device_.memory().upload(inputs[special.operand].part(static_cast<uint64_t>(special.index) * bytes, 0).data,
                            std::span(stored).first(bytes));
  }
}

void ReferenceCache::restore_guards(const TestData& data) const {
  std::vector<PatternArea> guards;
  for (const GuardedBuffer& input : data.inputs) input.list_guards(guards);
  device_.memory().fill_all(guards);
}

void ReferenceCache::fill(Distribution distribution, TestData& data, HostInputs& inputs) const {
  const HostTensors tensors = inputs.tensors();
  op_.fill(problem_, distribution, seed_, tensors);
  if (distribution == Distribution::integers) {
    for (const SpecialValue& special : op_.special_values(problem_)) {
      const DType dtype = specs_[special.operand].dtype;
      from_float(dtype, std::span(&special.value, 1),
                 tensors.operands[special.operand].data() + special.index * bits(dtype) / 8);
    }
  }
  {
    const ActivityScope uploading(device_.time(), Activity::upload);
    inputs.store();
  }
  restore_guards(data);
}

void ReferenceCache::compute(TestData& data, const HostTensors& operands) const {
  const int64_t count = specs_.back().elements(), rows = op_.output_rows(problem_);
  data.reference.values.assign(static_cast<size_t>(count), 0);
  data.reference.scales.assign(static_cast<size_t>(count), 0);
  const auto rows_of_it = [&](int64_t begin, int64_t end) {
    op_.reference(problem_, Path::fast, operands, part_of(data.reference, {begin, end}, count / rows));
  };
  if (!is_stopped_ || op_.work(problem_).flops < kShortFlops) return over_all_cores(rows, rows_of_it);
  if (!over_all_cores(rows, kRowsAtOnce, rows_of_it, is_stopped_))
    fail(ErrorCode::unavailable, "stopped while the reference was computed");
}

/// Computes the elements of some rows and columns, in blocks of neighbours, because a block reads each operand once.
void ReferenceCache::compute_some(TestData& data, const HostTensors& operands) const {
  const int64_t rows = op_.output_rows(problem_), columns = specs_.back().elements() / rows;
  const double element_flops = op_.work(problem_).flops / static_cast<double>(specs_.back().elements());
  const auto affordable =
      std::max<int64_t>(kBlockRows * kBlockColumns, static_cast<int64_t>(kSomeFlops / element_flops));
  Random random(derive_seed(seed_, "some elements"));
  const int64_t num_rows = std::min(rows, std::max<int64_t>(2 * kBlockRows, affordable / (8 * kBlockColumns)));
  data.rows = sampled_blocks(rows, kBlockRows, num_rows, random);
  data.columns = sampled_blocks(columns, kBlockColumns, affordable / num_rows, random);
  const auto num_columns = std::ssize(data.columns);
  data.reference.values.assign(data.rows.size() * data.columns.size(), 0);
  data.reference.scales.assign(data.reference.values.size(), 0);
  const auto runs = runs_of(data.columns);
  over_all_cores(std::ssize(runs), [&](int64_t first, int64_t last) {
    std::vector<double> values, scales;
    for (const IndexRange& run :
         std::span(runs).subspan(static_cast<size_t>(first), static_cast<size_t>(last - first))) {
      const auto place = std::ranges::lower_bound(data.columns, run.begin) - data.columns.begin();
      int64_t row_place = 0;
      for (const IndexRange& block : runs_of(data.rows)) {
        values.resize(static_cast<size_t>(block.size() * run.size()));
        scales.resize(values.size());
        op_.reference(problem_, Path::fast, operands, {block, run, values, scales});
        for (int64_t row = 0; row < block.size(); ++row, ++row_place) {
          const auto from = row * run.size(), to = row_place * num_columns + place;
          std::copy_n(values.begin() + from, run.size(), data.reference.values.begin() + to);
          std::copy_n(scales.begin() + from, run.size(), data.reference.scales.begin() + to);
        }
      }
    }
  });
}

void ReferenceCache::compute_on_device(TestData& data) const {
  const DeviceReference& reference = data.device_reference.emplace(device_, specs_.back().elements());
  std::vector<const void*> inputs;
  for (const GuardedBuffer& input : data.inputs) inputs.push_back(input.data());
  kernel_->compute(inputs, reference);
  data.reference_hashes = device_.memory().hash_all(reference.areas());
}

void TestData::read_reference(int64_t first, std::span<double> values, std::span<double> scales) const {
  if (device_reference) return device_reference->read(first, values, scales);
  std::ranges::copy_n(reference.values.begin() + first, std::ssize(values), values.begin());
  std::ranges::copy_n(reference.scales.begin() + first, std::ssize(scales), scales.begin());
}

/// Checks a reference whose inputs the device has filled. The host computes the inputs that it needs itself, so this
/// checks the fill, too.
void ReferenceCache::check(const TestData& data, Distribution distribution) const {
  const int64_t rows = op_.output_rows(problem_), columns = specs_.back().elements() / rows;
  std::vector<SampledInputs::Element> elements;
  for (const auto& [row, range] : checked_elements(rows, columns, op_.work(problem_).flops / 2, seed_)) {
    for (int64_t column = range.begin; column < range.end; ++column) elements.push_back({row, column});
  }
  const SampledInputs inputs(op_, problem_, distribution, seed_, elements);
  check(data, inputs.tensors());
}

void ReferenceCache::check(const TestData& data, const HostTensors& operands) const {
  const int64_t rows = op_.output_rows(problem_), columns = specs_.back().elements() / rows;
  const auto checked = checked_elements(rows, columns, op_.work(problem_).flops / 2, seed_);
  std::vector<size_t> begins = {0};  // Of each stretch in the vectors below.
  for (const Stretch& one : checked) begins.push_back(begins.back() + static_cast<size_t>(one.columns.size()));
  std::vector<double> values(begins.back()), scales(begins.back()), naive_values(begins.back()),
      naive_scales(begins.back());
  const auto part_in = [&](std::vector<double>& all, size_t i) {
    return std::span(all).subspan(begins[i], begins[i + 1] - begins[i]);
  };
  over_all_cores(std::ssize(checked), [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const auto& [row, range] = checked[i];
      op_.reference(problem_, Path::naive, operands,
                    {{row, row + 1}, range, part_in(naive_values, i), part_in(naive_scales, i)});
    }
  });
  if (std::ssize(values) == rows * columns) {
    data.read_reference(0, values, scales);
  } else {
    for (size_t i = 0; i < checked.size(); ++i) {
      const auto& [row, range] = checked[i];
      data.read_reference(row * columns + range.begin, part_in(values, i), part_in(scales, i));
    }
  }
  for (size_t i = 0; i < checked.size(); ++i) {
    for (size_t at = begins[i]; at < begins[i + 1]; ++at) {
      const double value = naive_values[at], scale = naive_scales[at];
      if (std::abs(values[at] - value) <= kPathsAgree * (scale + std::abs(value)) &&
          std::abs(scales[at] - scale) <= kPathsAgree * scale)
        continue;
      fail(ErrorCode::internal,
           "the two reference paths of {} disagree, please report it: row {}, column {}: fast {}, naive {} ({})",
           op_.name(), checked[i].row, checked[i].columns.begin + static_cast<int64_t>(at - begins[i]), values[at],
           value, problem_.key());
    }
  }
}

}  // namespace attune
