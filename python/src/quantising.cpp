// SPDX-License-Identifier: MIT
#include "quantising.h"

#include <attune/quantise.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <span>
#include <string>

#include "errors.h"
#include "gil.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {
namespace {

using Floats = nb::ndarray<float, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<uint8_t, nb::c_contig, nb::device::cpu>;

std::span<float> floats_of(const Floats& array) { return {array.data(), array.size()}; }
std::span<std::byte> bytes_of(const Bytes& array) { return {reinterpret_cast<std::byte*>(array.data()), array.size()}; }

DType dtype_named(const std::string& text) {
  const auto dtype = parse_dtype(text);
  if (!dtype) fail_value("unknown type: '" + text + "'");
  return *dtype;
}

void quantise(const std::string& dtype, int64_t rows, int64_t k, int64_t group_rows, int64_t group_depth,
              const Floats& values, const Bytes& elements, const Floats& scales) {
  const DType type = dtype_named(dtype);
  const GilRelease others_run;
  if (group_rows == 0)
    quantise_tensor(type, rows, k, floats_of(values), bytes_of(elements), *scales.data());
  else if (group_depth == 0)
    quantise_rows(type, rows, k, floats_of(values), bytes_of(elements), floats_of(scales));
  else
    quantise_blocks(type, rows, k, group_rows, group_depth, floats_of(values), bytes_of(elements), floats_of(scales));
}

}  // namespace

void add_quantising(nb::module_& module) {
  module.def("quantise", &quantise, "dtype"_a, "rows"_a, "k"_a, "group_rows"_a, "group_depth"_a, "values"_a,
             "elements"_a, "scales"_a);
  module.def(
      "quantise_mxfp4",
      [](int64_t rows, int64_t k, bool rceil, const Floats& values, const Bytes& elements, const Bytes& scales) {
        const GilRelease others_run;
        quantise_mxfp4(rows, k, rceil ? ExponentRounding::rceil : ExponentRounding::floor, floats_of(values),
                       bytes_of(elements), bytes_of(scales));
      },
      "rows"_a, "k"_a, "rceil"_a, "values"_a, "elements"_a, "scales"_a);
  module.def(
      "dequantise",
      [](const std::string& dtype, bool is_power, int64_t rows, int64_t k, int64_t group_rows, int64_t group_depth,
         const Bytes& elements, const Bytes& scales, const Floats& values) {
        const QuantisedMatrix how{.dtype = dtype_named(dtype),
                                  .scale = is_power ? DType::e8m0 : DType::fp32,
                                  .rows = rows,
                                  .k = k,
                                  .group_rows = group_rows,
                                  .group_depth = group_depth};
        const GilRelease others_run;
        dequantise(how, bytes_of(elements), bytes_of(scales), floats_of(values));
      },
      "dtype"_a, "is_power"_a, "rows"_a, "k"_a, "group_rows"_a, "group_depth"_a, "elements"_a, "scales"_a, "values"_a);
}

}  // namespace attune::python
