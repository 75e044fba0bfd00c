// SPDX-License-Identifier: MIT
#include "measure/operands/reference_cache.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/pages.h"
#include "base/random.h"
#include "device/host_bytes.h"
#include "tensor/kernel_dtype.h"

namespace attune {
namespace {

constexpr double kCheckedRows = 8;
// The naive path takes about 10 ns per term; above a second or two, fewer rows are checked.
constexpr double kMaxTerms = 1 << 27;
// Both paths sum in double: they differ by 1e-13 of the scale. A lost or doubled term changes it by 1/√K or more.
constexpr double kPathsAgree = 1e-9;

/// Calls work(range) for parts of [0, rows), one thread per processor of the machine.
void over_all_cores(int64_t rows, const std::function<void(RowRange)>& work) {
  const int64_t threads = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, std::max<int64_t>(rows, 1));
  std::vector<std::jthread> others;
  for (int64_t i = 1; i < threads; ++i)
    others.emplace_back(work, RowRange{rows * i / threads, rows * (i + 1) / threads});
  work({0, rows / threads});
}

/// The inputs of test data in memory of the host.
class HostInputs {
 public:
  HostInputs(const TestData& data, HostBytes::Contents contents) {
    for (const GuardedBuffer& input : data.inputs) inputs_.emplace_back(input.memory(), input.area(), contents);
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

}  // namespace

TestData::~TestData() { set_reference_writable(true); }

void TestData::set_inputs_writable(bool writable) noexcept {
  for (GuardedBuffer& input : inputs) is_protected = input.set_writable(writable) != Protection::none;
}

bool TestData::is_intact() const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_protected && inputs[i].memory().hash(inputs[i].area()) != hashes[i]) return false;
  }
  return !device_reference || device_reference->hashes() == reference_hashes;
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

ReferenceCache::ReferenceCache(Device& device, const Op& op, const Problem& problem, uint64_t seed)
    : device_(device), op_(op), problem_(problem), seed_(seed), specs_(op.tensors(problem)) {
  ATTUNE_CHECK(!specs_.empty() && specs_.back().use == Use::output, "the last operand of {} is not its output",
               op.name());
  if (is_kernel_dtype(specs_.back().dtype)) kernel_ = DeviceReferenceKernel::open(device, op, problem);
}

TestData& ReferenceCache::get(Distribution distribution) {
  auto& slot = data_[static_cast<size_t>(distribution)];
  if (slot) return *slot;
  auto data = std::make_unique<TestData>();
  for (size_t i = 0; i + 1 < specs_.size(); ++i) {
    data->inputs.emplace_back(device_, specs_[i].bytes(), specs_[i].alignment_bytes,
                              static_cast<uint32_t>(std::max(8, bits(specs_[i].dtype)) / 8));
  }
  fill(distribution, *data);
  for (const GuardedBuffer& input : data->inputs) data->hashes.push_back(input.memory().hash(input.area()));
  // The paths are the same code for every distribution, and normal data hide no difference.
  const bool is_checked = distribution == Distribution::normal;
  kernel_ ? compute_on_device(*data, is_checked) : compute(*data, is_checked);
  data->set_inputs_writable(false);
  slot = std::move(data);
  return *slot;
}

void ReferenceCache::end_run(Distribution distribution) noexcept {
  if (auto& data = data_[static_cast<size_t>(distribution)]) data->set_inputs_writable(false);
}

bool ReferenceCache::is_intact() const {
  return std::ranges::all_of(data_, [](const auto& data) { return !data || data->is_intact(); });
}

void ReferenceCache::refill(Distribution distribution) { fill(distribution, get(distribution)); }

void ReferenceCache::fill(Distribution distribution, TestData& data) const {
  HostInputs inputs(data, HostBytes::Contents::unset);
  op_.fill(problem_, distribution, seed_, inputs.tensors());
  inputs.store();
  for (GuardedBuffer& input : data.inputs) input.restore_guards();
}

void ReferenceCache::compute(TestData& data, bool is_checked) const {
  const auto count = static_cast<size_t>(specs_.back().elements());
  data.reference.values.assign(count, 0);
  data.reference.scales.assign(count, 0);
  HostInputs inputs(data, HostBytes::Contents::read);
  const HostTensors operands = inputs.tensors();
  over_all_cores(op_.output_rows(problem_),
                 [&](RowRange rows) { op_.reference(problem_, Path::fast, rows, operands, data.reference); });
  const size_t columns = count / static_cast<size_t>(op_.output_rows(problem_));
  const auto read = [&](int64_t row, std::span<double> values, std::span<double> scales) {
    const auto first = static_cast<ptrdiff_t>(static_cast<size_t>(row) * columns);
    std::ranges::copy_n(data.reference.values.begin() + first, std::ssize(values), values.begin());
    std::ranges::copy_n(data.reference.scales.begin() + first, std::ssize(scales), scales.begin());
  };
  if (is_checked) check(read, operands);
  if (!data.set_reference_writable(false))
    fail(ErrorCode::device, "cannot protect the reference from candidates, close other programs");
}

void ReferenceCache::compute_on_device(TestData& data, bool is_checked) const {
  const DeviceReference& reference = data.device_reference.emplace(device_, specs_.back().elements());
  std::vector<const void*> inputs;
  for (const GuardedBuffer& input : data.inputs) inputs.push_back(input.data());
  kernel_->compute(inputs, reference);
  data.reference_hashes = reference.hashes();
  if (!is_checked) return;
  const int64_t columns = reference.count() / op_.output_rows(problem_);
  HostInputs host_inputs(data, HostBytes::Contents::read);
  check([&](int64_t row, std::span<double> values,
            std::span<double> scales) { reference.read(row * columns, values, scales); },
        host_inputs.tensors());
}

void ReferenceCache::check(const ReadRow& read, const HostTensors& operands) const {
  const int64_t rows = op_.output_rows(problem_);
  const double terms_a_row = op_.work(problem_).flops / 2 / static_cast<double>(rows);
  const auto wanted =
      static_cast<size_t>(std::clamp(kMaxTerms / terms_a_row, 1.0, std::min(kCheckedRows, static_cast<double>(rows))));
  std::set<int64_t> picked = {rows - 1};  // where blocks are truncated
  if (wanted > 1) picked.insert(0);
  Random random(derive_seed(seed_, "reference rows"));
  while (picked.size() < wanted) picked.insert(static_cast<int64_t>(random.below(static_cast<uint64_t>(rows))));
  const std::vector<int64_t> list(picked.begin(), picked.end());
  Reference naive;
  naive.values.assign(static_cast<size_t>(specs_.back().elements()), 0);
  naive.scales.assign(static_cast<size_t>(specs_.back().elements()), 0);
  over_all_cores(static_cast<int64_t>(list.size()), [&](RowRange part) {
    for (int64_t i = part.begin; i < part.end; ++i) {
      const int64_t row = list[static_cast<size_t>(i)];
      op_.reference(problem_, Path::naive, {row, row + 1}, operands, naive);
    }
  });
  const auto columns = naive.values.size() / static_cast<size_t>(rows);
  std::vector<double> values(columns), scales(columns);
  for (const int64_t row : list) {
    read(row, values, scales);
    for (size_t column = 0; column < columns; ++column) {
      const size_t i = static_cast<size_t>(row) * columns + column;
      const double bound = kPathsAgree * (naive.scales[i] + std::abs(naive.values[i]));
      const bool agrees = std::abs(values[column] - naive.values[i]) <= bound &&
                          std::abs(scales[column] - naive.scales[i]) <= kPathsAgree * naive.scales[i];
      if (!agrees) {
        fail(ErrorCode::internal,
             "the two reference paths of {} disagree, please report it: row {}, column {}: fast {}, naive {} ({})",
             op_.name(), row, column, values[column], naive.values[i], problem_.key());
      }
    }
  }
}

}  // namespace attune
