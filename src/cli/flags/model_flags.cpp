// SPDX-License-Identifier: MIT
#include "cli/flags/model_flags.h"

#include <CLI/CLI.hpp>

#include "cli/flags/arguments.h"
#include "cli/flags/value_checks.h"

namespace attune {

void add_model_flags(CLI::App& command, ModelOptions& options, const std::string& group) {
  CLI::Option* const folder = command
                                  .add_option("--model_dir,--model-dir", options.folder,
                                              "Shapes of a model: the folder of its Hugging Face config.json")
                                  ->group(group);
  command.add_option("--tp", options.tp, "Devices that share the model (tensor parallelism)")
      ->capture_default_str()
      ->check(positive_number_error)
      ->needs(folder)
      ->group(group);
  command.add_option("--nsets", options.nsets, "Rows of x: tokens in a step")
      ->capture_default_str()
      ->needs(folder)
      ->group(group);
  command
      .add_option("--sequences", options.sequences, "Rows of x for lm_head, which sees the last token of each sequence")
      ->capture_default_str()
      ->needs(folder)
      ->group(group);
}

}  // namespace attune
