// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "product_interface.h"

namespace attune::python {

/// The one place that decides which of PyTorch's products Attune takes, whichever way they arrive: through PyTorch's
/// dispatcher (torch_kernels.cpp) or a function replaced in Python. Returns Reason::routed and fills in `prepared`, or
/// why PyTorch computes the call. Counts nothing. Makes the row's plan where that is missing, and waits for its kernel
/// while the stream is captured; otherwise no lock. On the host the call's threads become the limit of its dispatcher.
/// Throws like Dispatcher::global() and require_row().
Reason examine(const ProductCall& call, PreparedProduct& prepared);

/// Runs a prepared product; on a GPU it enqueues the work on the call's stream. Returns routed or untuned, or why
/// PyTorch must compute the call: nothing was written then, and nothing is required of results. Counts what it returns.
/// Throws like Dispatcher::run().
Reason run(const PreparedProduct& prepared, const ProductAddresses& addresses);

/// Whether libraries of Attune serve, from now on, the host's calls without a row. At first they are left to PyTorch.
void serve_untuned(bool serves) noexcept;

void count(Reason reason) noexcept;
/// Calls of this process so far, by reason.
std::array<uint64_t, static_cast<size_t>(Reason::count)> product_counts() noexcept;
/// Names of the reasons, `no_row`.
std::string_view name(Reason reason) noexcept;

/// The functions above for kernels that are compiled elsewhere; lives as long as the process.
const ProductFunctions& product_functions() noexcept;

}  // namespace attune::python
