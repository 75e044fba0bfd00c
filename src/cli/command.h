// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

namespace CLI {
class App;
}

namespace attune {

/// Runs the verb of the command line; returns the exit status.
using Action = std::function<int()>;

/// Each function adds its verb with flags and help; the parsed verb sets `chosen`. Each verb has one pair of files:
/// options are plain data, and `run` can be tested without a command line.
void add_tune_command(CLI::App& app, Action& chosen);
void add_bench_command(CLI::App& app, Action& chosen);
void add_list_command(CLI::App& app, Action& chosen);
void add_explain_command(CLI::App& app, Action& chosen);
void add_diff_command(CLI::App& app, Action& chosen);
void add_check_command(CLI::App& app, Action& chosen);
void add_journal_command(CLI::App& app, Action& chosen);
void add_kernels_command(CLI::App& app, Action& chosen);
void add_capture_command(CLI::App& app, Action& chosen);
void add_paths_command(CLI::App& app, Action& chosen);
void add_quarantine_command(CLI::App& app, Action& chosen);
void add_shapes_command(CLI::App& app, Action& chosen);
void add_status_command(CLI::App& app, Action& chosen);
void add_tables_command(CLI::App& app, Action& chosen);
void add_coverage_command(CLI::App& app, Action& chosen);
void add_online_command(CLI::App& app, Action& chosen);
void add_worker_command(CLI::App& app, Action& chosen);

/// Hides the flags that `tune` only accepts to refuse them from its help; `--help-all` shows them.
void hide_refused_flags(CLI::App& app);

}  // namespace attune
