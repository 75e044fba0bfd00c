// SPDX-License-Identifier: MIT
// Writes the test data and the reference of problems, for comparisons with other implementations. Reads one problem a
// line; writes for each its inputs as fp32 and its output as fp64, in Op::tensors() order, to standard output.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "attune/error.h"
#include "ops/op.h"
#include "tensor/convert.h"

int main() {
  using namespace attune;
  try {
    for (std::string line; std::getline(std::cin, line);) {
      const Op& op = op_of(Problem::parse(line));
      const Problem problem = op.normalise(Problem::parse(line), {});
      const auto specs = op.tensors(problem);
      std::vector<std::vector<std::byte>> bytes;
      HostTensors tensors;
      for (const TensorSpec& spec : specs) bytes.emplace_back(spec.bytes());
      for (auto& one : bytes) tensors.operands.emplace_back(one);
      op.fill(problem, Distribution::normal, 7, tensors);
      for (size_t i = 0; i + 1 < specs.size(); ++i) {
        std::vector<float> values(static_cast<size_t>(specs[i].elements()));
        to_float(specs[i].dtype, bytes[i].data(), values);
        std::fwrite(values.data(), sizeof(float), values.size(), stdout);
      }
      const Reference reference = whole_reference(op, problem, Path::fast, tensors);
      std::fwrite(reference.values.data(), sizeof(double), reference.values.size(), stdout);
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
