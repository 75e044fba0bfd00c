// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace attune::python {

/// Registers kernels for aten::mm, mm.out, mv, bmm and bmm.out of dense host tensors through PyTorch's stable C
/// interface, which takes operators of tensors but none of numbers (aten::addmm). They need no GIL. Returns why not, or
/// nothing. No other thread may be inside PyTorch.
std::string register_stable_kernels();
void withdraw_stable_kernels();

}  // namespace attune::python
