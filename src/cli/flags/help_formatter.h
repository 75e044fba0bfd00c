// SPDX-License-Identifier: MIT
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace attune {

/// Lays out the help of options alike with every version of CLI11: `--tp INT=1`; `--bias [BOOLEAN]` for an optional
/// value.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override;
};

}  // namespace attune
