// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace attune {

/// Adds the older tuners' names for GPUs, after --devices was added: `--ngpus 2` is `--devices cuda:0,cuda:1`, and
/// `--gpu_ids 0,2` is `--devices cuda:0,cuda:2`. Sets `devices`, which must outlive the parsing.
void add_gpu_flags(CLI::App& command, std::string& devices);

}  // namespace attune
