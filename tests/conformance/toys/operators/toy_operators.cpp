// SPDX-License-Identifier: MIT
// A library in place of PyTorch's operators, for tests: a plain loop over fp32. ATTUNE_TOY_INTERFACE: one of
// another version of Attune; ATTUNE_TOY_SYMBOL: one that lacks its function. The variable ATTUNE_TOY_CONFIG has what
// PyTorch says about its build.
#include <cstdlib>

#include "operator_interface.h"

namespace {

using namespace attune::python;

const char* text(const char* variable, const char* otherwise) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : otherwise;
}

void* prepare(const OperatorProblem* problem, const char** error) {
  *error = problem->dtype == 1 ? nullptr : "there is no product of this type";
  return *error == nullptr ? new OperatorProblem(*problem) : nullptr;
}

void run(void* product, const ProductAddresses* addresses, void*, const char** error) {
  *error = nullptr;
  const auto& p = *static_cast<const OperatorProblem*>(product);
  const auto *x = static_cast<const float*>(addresses->x), *w = static_cast<const float*>(addresses->w);
  const auto* bias = static_cast<const float*>(addresses->bias);
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = bias != nullptr ? bias[j] : 0;
      for (int64_t l = 0; l < p.k; ++l)
        sum += double{x[p.a_is_km ? l * p.m + i : i * p.k + l]} * w[p.b_is_kn ? l * p.n + j : j * p.k + l];
      static_cast<float*>(addresses->out)[i * p.n + j] = static_cast<float>(sum);
    }
  }
}

void end(void* product) { delete static_cast<OperatorProblem*>(product); }

}  // namespace

#ifdef ATTUNE_TOY_SYMBOL
#define attune_torch_operators other_operators
#endif
extern "C" __attribute__((visibility("default"))) const TorchOperators* attune_torch_operators() {
#ifdef ATTUNE_TOY_INTERFACE
  constexpr int32_t kInterface = kOperatorInterface + 1;
#else
  constexpr int32_t kInterface = kOperatorInterface;
#endif
  static TorchOperators all{};
  all = {kInterface, "9.8.7", text("ATTUNE_TOY_CONFIG", "toy"), "", prepare, run, end};
  return &all;
}
