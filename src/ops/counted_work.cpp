// SPDX-License-Identifier: MIT
#include "ops/counted_work.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace attune {
namespace {

double size_of(const Problem& problem, std::string_view attribute, double otherwise = 0) {
  if (!problem.has(attribute)) return otherwise;
  const auto number = parse_double(problem.text(attribute));
  return number ? *number : otherwise;
}

DType type_of(const Problem& problem, std::string_view attribute, DType otherwise) {
  if (!problem.has(attribute)) return otherwise;
  return parse_dtype(problem.text(attribute)).value_or(otherwise);
}

double bytes_of(DType type) { return bits(type) / 8.0; }

CountedWork product(const Problem& problem, double input_bytes, double output_bytes, DType arithmetic) {
  const double m = size_of(problem, "m"), n = size_of(problem, "n"), k = size_of(problem, "k");
  const double batch = size_of(problem, "batch", 1);
  const double bytes = batch * ((m + n) * k * input_bytes + m * n * output_bytes);
  return {.flops = 2 * batch * m * n * k, .bytes = bytes, .least_bytes = bytes, .arithmetic = arithmetic};
}

}  // namespace

CountedWork counted_16bit_product(const Problem& problem) {
  const DType type = type_of(problem, "dtype", DType::bf16);
  CountedWork work = product(problem, 2, 2, type);
  // Rows of 8-bit inputs or of a wider output are in these tables too.
  work.least_bytes = std::min(
      work.bytes, product(problem, bytes_of(type), bytes_of(type_of(problem, "outdtype", DType::bf16)), type).bytes);
  return work;
}

CountedWork counted_8bit_product(const Problem& problem) {
  return product(problem, 1, 2, type_of(problem, "q_dtype_w", DType::e4m3fn));
}

CountedWork counted_4bit_product(const Problem& problem) { return product(problem, 0.5, 2, DType::e2m1); }

CountedWork counted_experts(const Problem& problem) {
  const double tokens = size_of(problem, "token"), width = size_of(problem, "model_dim");
  const double inner = size_of(problem, "inter_dim"), experts = size_of(problem, "expert");
  const double chosen = size_of(problem, "topk"), gates = size_of(problem, "use_g1u1") != 0 ? 2 : 1;
  const DType output = type_of(problem, "dtype", DType::bf16);
  const DType input = type_of(problem, "q_dtype_a", output), weight = type_of(problem, "q_dtype_w", output);
  const auto counted_bytes = [](DType type) { return type == DType::e2m1 ? 1 : bytes_of(type); };
  const double weights_of_expert = (gates + 1) * inner * width;
  CountedWork work{.arithmetic = input};
  work.flops = 2 * tokens * chosen * weights_of_expert;
  work.bytes = tokens * width * (counted_bytes(input) + counted_bytes(output)) +
               experts * weights_of_expert * counted_bytes(weight);
  // Which experts the tokens choose is not known; one token chooses `topk` different ones.
  work.least_bytes = tokens * width * bytes_of(output) +
                     (tokens > 0 ? std::min(chosen, experts) : 0) * weights_of_expert * bytes_of(weight);
  return work;
}

}  // namespace attune
