// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/config.h"
#include "cublaslt_matmul.h"

namespace attune {

/// An algorithm by its attributes, which mean the same in every process that has this version of the library:
/// `algo=66;cluster=5;custom=0;inner=0;reduction=0;splitk=1;stages=35;swizzle=0;tile=20`.
Config config_of(const CublasltLibrary& library, const cublasLtMatmulAlgo_t& algorithm);
/// Names of the attributes, and the values of one algorithm in their order.
const std::vector<std::string>& attribute_names();
std::vector<int64_t> attributes_of(const CublasltLibrary& library, const cublasLtMatmulAlgo_t& algorithm);
/// Throws invalid_input for an attribute that is missing, unavailable for an algorithm that the library does not have.
cublasLtMatmulAlgo_t algorithm_of(const CublasltLibrary& library, cublasLtHandle_t handle, const CublasltMatmul& matmul,
                                  const Config& config);
/// Every combination of attributes that the library accepts for a product and whose reductions are accepted. The inner
/// shape stays undefined: no algorithm of version 13.1 accepts another on a GPU with clusters. Some 300,000 checks of
/// 0.5 to 2 µs, on all cores. `enter` makes the device the current one of a thread while its result lives.
std::vector<cublasLtMatmulAlgo_t> algorithms(const CublasltLibrary& library, cublasLtHandle_t handle,
                                             const CublasltMatmul& matmul,
                                             const std::function<std::shared_ptr<void>()>& enter);

}  // namespace attune
