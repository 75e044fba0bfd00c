// SPDX-License-Identifier: MIT
#include "measure/verification.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "device/host_bytes.h"

namespace attune {
namespace {

/// Maximum size of a workspace that is kept for the next plan. Above it, free memory is worth more than the time of an
/// allocation.
constexpr uint64_t kKeptWorkspaceBytes = 64u << 20;

uint32_t element_bytes(const TensorSpec& spec) { return static_cast<uint32_t>(std::max(8, bits(spec.dtype)) / 8); }

GuardedBuffer output_buffer(Device& device, const std::vector<TensorSpec>& specs) {
  return GuardedBuffer(device, specs.back().bytes(), specs.back().alignment_bytes, element_bytes(specs.back()));
}

Errors worst_of(const Errors& a, const Errors& b) {
  return {std::max(a.mismatch_ratio, b.mismatch_ratio), std::max(a.max_relative, b.max_relative),
          std::max(a.cosine, b.cosine)};
}

std::string_view data_name(Distribution distribution) {
  return distribution == Distribution::normal ? "normal data" : "integers";
}

/// Like compare(), for the rows and columns that a reference covers. Places are positions in the whole output.
OutputComparison compare_some(DType dtype, std::span<const std::byte> output, const TestData& data, int64_t columns,
                              const Tolerance& tolerance) {
  const auto bytes = static_cast<size_t>(bits(dtype)) / 8;
  std::vector<std::byte> gathered;
  gathered.reserve(data.reference.values.size() * bytes);
  for (const int64_t row : data.rows) {
    for (const int64_t column : data.columns) {
      const auto at = output.begin() + static_cast<std::ptrdiff_t>(bytes) * (row * columns + column);
      gathered.insert(gathered.end(), at, at + static_cast<std::ptrdiff_t>(bytes));
    }
  }
  OutputComparison found = compare(dtype, gathered, data.reference, std::ssize(data.columns), tolerance);
  const auto in_whole = [&](Place& place) {
    place.row = data.rows[static_cast<size_t>(place.row)];
    place.column = data.columns[static_cast<size_t>(place.column)];
  };
  in_whole(found.worst);
  if (found.non_finite) in_whole(*found.non_finite);
  return found;
}

/// Makes the inputs of one distribution writable for its lifetime.
class WritableInputs {
 public:
  WritableInputs(ReferenceCache& references, PackedWeights* weights, Distribution distribution)
      : references_(references), weights_(weights), distribution_(distribution) {
    references_.begin_run(distribution_);
    if (weights_ != nullptr) weights_->begin_run(distribution_);
  }
  ~WritableInputs() {
    references_.end_run(distribution_);
    if (weights_ != nullptr) weights_->end_run(distribution_);
  }
  WritableInputs(const WritableInputs&) = delete;
  WritableInputs& operator=(const WritableInputs&) = delete;

 private:
  ReferenceCache& references_;
  PackedWeights* weights_;
  Distribution distribution_;
};

}  // namespace

Verification::Verification(Device& device, const Op& op, const Problem& problem, ReferenceCache& references)
    : device_(device),
      references_(references),
      problem_(problem),
      specs_(op.tensors(problem)),
      tolerance_(op.tolerance(problem)),
      columns_(specs_.back().elements() / std::max<int64_t>(op.output_rows(problem), 1)),
      on_device_(DeviceComparison::open(device, specs_.back().dtype)),
      output_(output_buffer(device, specs_)) {}

void Verification::reserve(const PlanTraits& traits) {
  ATTUNE_CHECK(traits.zeroed_bytes <= traits.workspace_bytes, "{} zeroed bytes of {}", traits.zeroed_bytes,
               traits.workspace_bytes);
  if (traits.workspace_bytes == 0) {
    // It was reserved for a plan that was not verified.
    if (workspace_ && workspace_->bytes() > kKeptWorkspaceBytes) workspace_.reset();
    return;
  }
  if (workspace_ && workspace_->reshape(traits.workspace_bytes, traits.workspace_alignment)) return;
  workspace_.reset();
  workspace_ = std::make_unique<GuardedBuffer>(device_, traits.workspace_bytes, traits.workspace_alignment, 8);
}

Finding Verification::verify(const PlanTraits& traits, const RunLaunch& run, const VerifyOptions& options) {
  launches_ = 0;
  reserve(traits);
  used_workspace_ = traits.workspace_bytes > 0 ? workspace_.get() : nullptr;
  // A large workspace is freed after this plan, with any result.
  const auto large = traits.workspace_bytes > kKeptWorkspaceBytes ? std::move(workspace_) : nullptr;
  used_output_ = &output_;
  used_weights_ = options.weights;
  if (used_weights_ != nullptr) used_weights_->prepare_check(references_);
  Finding found = run_once(traits, run, Distribution::normal, options.err_ratio);
  if (found.status == Status::ok && options.twice) found = run_again(found, traits, run, options.err_ratio);
  if (found.status != Status::ok) return found;
  Finding integers = run_once(traits, run, Distribution::integers, options.err_ratio);
  if (integers.status == Status::ok) integers.errors = worst_of(found.errors, integers.errors);
  return integers;
}

/// Runs again on the same inputs, right after the first run, to find results that change from run to run or every other
/// run. It has an output of its own, so that no copy is needed.
Finding Verification::run_again(const Finding& first, const PlanTraits& traits, const RunLaunch& run,
                                double err_ratio) {
  if (!second_output_) second_output_ = std::make_unique<GuardedBuffer>(output_buffer(device_, specs_));
  used_output_ = second_output_.get();
  Finding found = run_once(traits, run, Distribution::normal, err_ratio);
  used_output_ = &output_;
  if (found.status != Status::ok) return found;
  found.errors = worst_of(first.errors, found.errors);
  if (!traits.deterministic || output_hashes_.front() == output_hashes_.back()) return found;
  const HostBytes first_run(device_.memory(), output_.area()), second_run(device_.memory(), second_output_->area());
  const auto differs = std::ranges::mismatch(first_run.bytes(), second_run.bytes()).in1;
  const auto index = (differs - first_run.bytes().begin()) / element_bytes(specs_.back());
  return {Status::wrong_result,
          fmt::format("two runs on the same inputs differ although it is declared deterministic, first at {}",
                      place_name(index / columns_, index % columns_)),
          found.errors};
}

Finding Verification::run_once(const PlanTraits& traits, const RunLaunch& run, Distribution distribution,
                               double err_ratio) {
  TestData& data = references_.get(distribution);
  std::vector<void*> operands;
  for (const GuardedBuffer& input : data.inputs) operands.push_back(input.data());
  operands.push_back(used_output_->data());
  if (used_weights_ != nullptr) used_weights_->use_checked(distribution, operands);
  poison_memory(traits);

  const WritableInputs writable(references_, used_weights_, distribution);
  try {
    run({.operands = operands, .workspace = used_workspace_ ? used_workspace_->data() : nullptr, .stream = nullptr});
  } catch (...) {
    refill(distribution);  // a launch that failed half-way may have damaged them
    throw;
  }
  ++launches_;
  Finding found;
  if (std::string corruption = corrupted_memory(traits, distribution); !corruption.empty()) {
    refill(distribution);
    found = {Status::wrong_result, std::move(corruption), {}, true};
  } else {
    found = judge(used_output_->area(), references_.get(distribution), err_ratio);
  }
  if (found.status != Status::ok) found.detail += fmt::format(" ({})", data_name(distribution));
  return found;
}

/// Before a run: poisons the output and the workspace, restores their guards, and clears the zeroed prefix.
void Verification::poison_memory(const PlanTraits& traits) {
  std::vector<PatternArea> areas;
  used_output_->list_guards(areas);
  areas.push_back({used_output_->area(), Poison::of(specs_.back().dtype).element});
  if (used_workspace_) {
    used_workspace_->list_guards(areas);
    const uint64_t zeroed = traits.zeroed_bytes;
    areas.push_back({used_workspace_->area().part(0, zeroed), {}});
    areas.push_back({used_workspace_->area().part(zeroed, used_workspace_->bytes() - zeroed), kNanBytes});
  }
  device_.memory().fill_all(areas);
}

void Verification::refill(Distribution distribution) {
  references_.refill(distribution);
  if (used_weights_ != nullptr) used_weights_->repack(distribution, references_);
}

/// Returns a clause about memory that the candidate must not write; empty if it is intact. The device checks all of it
/// in one pass, together with the outputs of two runs.
std::string Verification::corrupted_memory(const PlanTraits& traits, Distribution distribution) {
  TestData& data = references_.get(distribution);
  std::vector<PatternArea> compared;
  std::vector<Buffer> hashed;
  const auto add_guards = [&](const GuardedBuffer& buffer) {
    const size_t first = compared.size();
    buffer.list_guards(compared);
    return first;
  };
  for (const GuardedBuffer& input : data.inputs) {
    add_guards(input);
    hashed.push_back(input.area());
  }
  const size_t num_inputs = hashed.size(), of_output = add_guards(*used_output_);
  const size_t of_weights = used_weights_ != nullptr ? add_guards(used_weights_->checked(distribution)) : 0;
  const size_t of_workspace = used_workspace_ ? add_guards(*used_workspace_) : 0;
  if (used_workspace_) compared.push_back({used_workspace_->area().part(0, traits.zeroed_bytes), {}});
  if (used_weights_ != nullptr) hashed.push_back(used_weights_->checked(distribution).area());
  const bool must_agree = traits.deterministic && used_output_ == second_output_.get();
  if (must_agree) hashed.insert(hashed.end(), {output_.area(), second_output_->area()});
  const Inspection found = device_.memory().inspect(compared, hashed);
  const std::vector<Hash128>& hashes = found.hashes;
  if (must_agree) output_hashes_.assign(hashes.end() - 2, hashes.end());
  const auto guards = [&](size_t first) { return std::span(found.scans).subspan(first, GuardedBuffer::kNumGuards); };

  if (const auto where = used_output_->broken_guard(guards(of_output)))
    return fmt::format("wrote outside its output '{}': {}", specs_.back().role, *where);
  if (used_workspace_) {
    if (const auto where = used_workspace_->broken_guard(guards(of_workspace)))
      return fmt::format("wrote outside its workspace of {} bytes: {}", used_workspace_->bytes(), *where);
  }
  for (size_t i = 0; i < num_inputs; ++i) {
    if (const auto where = data.inputs[i].broken_guard(guards(i * GuardedBuffer::kNumGuards)))
      return fmt::format("wrote outside the input '{}': {}", specs_[i].role, *where);
    if (hashes[i] != data.hashes[i]) return fmt::format("changed its input '{}'", specs_[i].role);
  }
  if (used_weights_ != nullptr) {
    std::string corruption = used_weights_->corruption(distribution, guards(of_weights), hashes[num_inputs]);
    if (!corruption.empty()) return corruption;
  }
  if (!used_workspace_) return {};
  const auto left = found.scans.back().first_other;
  if (!left) return {};
  return fmt::format("did not leave the first {} bytes of its workspace zero, as it declares: byte {}",
                     traits.zeroed_bytes, *left);
}

Finding Verification::judge(Buffer output, const TestData& data, double err_ratio) const {
  const OutputComparison comparison = compare_output(output, data);
  const Errors& errors = comparison.errors;
  const auto wrong = [&](std::string detail) { return Finding{Status::wrong_result, std::move(detail), errors}; };
  if (std::string detail = unwritten(output, data, comparison); !detail.empty()) return wrong(std::move(detail));
  if (comparison.non_finite) {
    const Place& at = *comparison.non_finite;
    const bool is_lost = !std::isfinite(at.want) || std::isfinite(at.got);
    return wrong(fmt::format("{} elements are {}, first at {}: got {:.6g}, expected {:.6g}", comparison.num_non_finite,
                             is_lost ? "not the NaN or Inf of the reference" : "not finite where the reference is",
                             place_name(at.row, at.column), at.got, at.want));
  }
  if (!(errors.max_relative <= tolerance_.max_relative)) {
    const Place& at = comparison.worst;
    return wrong(
        fmt::format("an error of {:.3g} of the typical product is above the bound of {:.3g}, worst at {}: got {:.8g}, "
                    "expected {:.8g}",
                    errors.max_relative, tolerance_.max_relative, place_name(at.row, at.column), at.got, at.want));
  }
  if (!(errors.mismatch_ratio < err_ratio)) {
    return wrong(fmt::format("{:.3g} of the elements are outside the tolerance, {:.3g} is the limit",
                             errors.mismatch_ratio, err_ratio));
  }
  if (!(errors.cosine <= tolerance_.max_cosine)) {
    return wrong(fmt::format("the cosine distance of {:.3g} is above the bound of {:.3g}", errors.cosine,
                             tolerance_.max_cosine));
  }
  return {Status::ok, {}, errors};
}

OutputComparison Verification::compare_output(Buffer output, const TestData& data) const {
  if (data.device_reference && on_device_)
    return on_device_->compare(output, *data.device_reference, columns_, tolerance_);
  const HostBytes whole(device_.memory(), output);
  const DType dtype = specs_.back().dtype;
  if (!data.rows.empty()) return compare_some(dtype, whole.bytes(), data, columns_, tolerance_);
  if (!data.device_reference) return compare(dtype, whole.bytes(), data.reference, columns_, tolerance_);
  Reference copy;
  copy.values.resize(static_cast<size_t>(specs_.back().elements()));
  copy.scales.resize(copy.values.size());
  data.read_reference(0, copy.values, copy.scales);
  return compare(dtype, whole.bytes(), copy, columns_, tolerance_);
}

/// Describes elements that still hold the poison, or the result of arithmetic on it. In an integer type a result may
/// happen to equal the mark, so it counts only where the reference differs.
std::string Verification::unwritten(Buffer output, const TestData& data, const OutputComparison& comparison) const {
  const Poison poison = Poison::of(specs_.back().dtype);
  const bool is_mark_unique = poison.element.value != poison.quiet.value;
  const bool looks_at_rest = !data.rows.empty() && is_mark_unique;
  if (comparison.num_non_finite == 0 && !looks_at_rest) return {};
  const int64_t count = specs_.back().elements();
  const auto first = [&](const PatternScan& found) {
    const auto index = static_cast<int64_t>(found.first_equal);
    return place_name(index / columns_, index % columns_);
  };
  if (const PatternScan never = device_.memory().scan(output, poison.element); never.num_equal > 0) {
    return fmt::format("{} of {} elements of '{}' were never written, first at {}", never.num_equal, count,
                       specs_.back().role, first(never));
  }
  const PatternScan read = device_.memory().scan(output, poison.quiet);
  if (read.num_equal == 0) return {};
  return fmt::format("{} of {} elements of '{}' are computed from memory that was never written, first at {}",
                     read.num_equal, count, specs_.back().role, first(read));
}

std::string Verification::place_name(int64_t row, int64_t column) const {
  return fmt::format("row {}, column {}", row, column);
}

}  // namespace attune
