// SPDX-License-Identifier: MIT
#pragma once
#include <span>

#include "attune/problem.h"
#include "ops/op.h"

namespace attune {

/// Checks a problem's attributes against an op's schema, fills in the defaults and orders them: the part of
/// Op::normalise() that follows from the schema. A default `=dtype` is the value of that attribute, which comes before;
/// the type `fp8` is that of the device. Throws invalid_input, naming the attribute.
Problem normalised(const Problem& problem, std::span<const AttributeSpec> schema, const DeviceInfo& device);

}  // namespace attune
