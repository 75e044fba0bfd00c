// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/dtype.h"
#include "attune/problem.h"
#include "attune/tensor.h"
#include "base/pages.h"
#include "core/device_info.h"
#include "ops/distribution.h"
#include "ops/family.h"
#include "ops/reference_kernel.h"

namespace attune {

/// Arithmetic of one call. `bytes`: each input is read once, the output is written once, in true element sizes.
struct Work {
  double flops = 0, bytes = 0;
  /// Type in which the operands are multiplied: int8 for a product of int8 that is summed in int32, bf16 for one that
  /// is summed in fp32. The device's peak for it bounds the time.
  DType arithmetic = DType::fp32;
};

/// Required accuracy of an output. An element outside rtol/atol is a mismatch; `max_relative` bounds |got − want| over
/// the scale of its dot product (Reference::scales), in the form c·√K·eps.
struct Tolerance {
  double rtol = 0, atol = 0;
  double max_relative = 0;
  double max_cosine = 0;  ///< Upper bound of 1 − cos.
};

/// An element of an input that is infinite, not a number, or so large that results overflow.
struct SpecialValue {
  size_t operand = 0;  ///< Index in Op::tensors().
  int64_t index = 0;   ///< Of the element.
  float value = 0;
};

/// Rows or columns of an output.
struct IndexRange {
  int64_t begin = 0, end = 0;
  int64_t size() const noexcept { return end - begin; }
};

/// Operands of one problem in host memory, in Op::tensors() order. The spans are not owned.
struct HostTensors {
  std::vector<std::span<std::byte>> operands;
};

/// The reference output and the scale of each element's error bound; rows × columns, row-major doubles. A negative
/// scale: any value is right, such as an activation's for -Inf and NaN, on which formulas differ.
struct Reference {
  /// Own pages, which can be protected from candidates.
  using Numbers = std::vector<double, PageAllocator<double>>;
  Numbers values, scales;
};
/// A part of a reference: the elements in some rows and columns of the output, row-major without gaps. Not owned.
struct ReferencePart {
  IndexRange rows, columns;
  std::span<double> values, scales;

  /// Sets an element of the part, by its place in the output.
  void set(int64_t row, int64_t column, double value, double scale) const {
    const auto at = static_cast<size_t>((row - rows.begin) * columns.size() + column - columns.begin);
    values[at] = value;
    scales[at] = scale;
  }
};
enum class Path : uint8_t { naive, fast };

/// The meaning of a problem, identical for every solver. Const and stateless; thread-safe.
class Op {
 public:
  virtual ~Op() = default;
  /// Attributes, tables and names of the op, from which families() makes its entry: find_family() returns that one.
  virtual const FamilySpec& family() const = 0;
  std::string_view name() const { return family().op; }
  /// Checks a problem, fills in defaults, orders attributes. Throws invalid_input naming the attribute. The default is
  /// normalised() of the family; an op adds rules that relate attributes.
  virtual Problem normalise(const Problem& problem, const DeviceInfo& device) const;
  virtual Work work(const Problem& problem) const = 0;
  /// Operands in order: inputs, then outputs. This and the functions below require a normalised problem.
  virtual std::vector<TensorSpec> tensors(const Problem& problem) const = 0;
  /// Fills the inputs. Equal (distribution, seed) give equal bytes on every machine.
  virtual void fill(const Problem& problem, Distribution distribution, uint64_t seed,
                    const HostTensors& tensors) const = 0;
  /// Computes a part of the output in double from the same (quantised) inputs. `naive`: a naive loop, which computes
  /// one element at the cost of its own arithmetic; `fast`: blocked and vectorised, an independent implementation.
  /// Callers split rows over threads.
  virtual void reference(const Problem& problem, Path path, const HostTensors& tensors,
                         const ReferencePart& out) const = 0;
  /// Elements that candidates are verified with once, in a few rows and columns of the output, so that what spreads to
  /// others shows. Only where every order of the op's arithmetic gives the same Inf and NaN. Default: none.
  virtual std::vector<SpecialValue> special_values(const Problem&) const { return {}; }
  /// The op's device text. Null (the default): references are computed on the host.
  virtual const OpKernels* kernels() const { return nullptr; }
  /// The rows of the output: its first extent.
  int64_t output_rows(const Problem& problem) const { return tensors(problem).back().shape.front(); }
  virtual Tolerance tolerance(const Problem& problem) const = 0;
};

/// Computes a whole reference in the calling thread.
Reference whole_reference(const Op& op, const Problem& problem, Path path, const HostTensors& tensors);
/// Some whole rows of a reference that has `columns`.
ReferencePart part_of(Reference& reference, IndexRange rows, int64_t columns);

/// The ops of this build, then the registered ones, in that order. Fixed at the first call.
std::span<const Op* const> ops();
/// Registers an op in this process, for its life. `op` has a family without a number: it gets the next one from
/// OpId::first_registered on. Call it before anything asks for ops() or families(). Throws invalid_input for a name
/// that an op or a family has, and when it comes too late. Thread-safe.
void register_op(const Op& op);
/// Takes a registered op back, unless ops() has been called since. Thread-safe.
void withdraw_op(const Op& op) noexcept;
/// Sets a function that registers ops from outside this build. The first ops() calls it once, before the list is fixed;
/// the function must not ask for ops() or families().
void set_op_loader(void (*load)()) noexcept;
const Op* find_op(std::string_view name);
/// Throws invalid_input with the list of ops for an unknown name.
const Op& op_of(const Problem& problem);

}  // namespace attune
