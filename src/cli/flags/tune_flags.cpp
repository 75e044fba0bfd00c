// SPDX-License-Identifier: MIT
#include "cli/flags/tune_flags.h"

#include <CLI/CLI.hpp>

#include "campaign/tune_method.h"
#include "cli/flags/arguments.h"
#include "cli/flags/attribute_flags.h"
#include "cli/flags/gpu_flags.h"
#include "cli/flags/kernel_flag.h"
#include "cli/flags/model_flags.h"
#include "cli/flags/python_flag.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/value_checks.h"
#include "core/record.h"
#include "tuner/classic/classic.h"

namespace attune {
namespace {

/// Flags of the older tuners without a meaning on this device or in this version; each is refused with a sentence.
struct RefusedFlag {
  const char* names;
  bool takes_value;
  const char* why;
};
constexpr RefusedFlag kFlagsOfOlderTuners[] = {
    {"--stop-at-regret", true,
     "this version cannot bound the regret of unmeasured candidates; use --budget or --max-trials"},
    {"--rotating_tensor", true,
     "inputs always rotate over more memory than the caches hold; --inputs warm keeps them in place"},
    {"--icache_flush", false,
     "every sample follows an untimed launch of its own kernel, whose code is then in the instruction cache"},
    {"--force", false,
     "a row of a table cannot say that --search classic found it, so its winners are never written to one; "
     "--tuning_results_file writes those that are right as YAML"},
    {"--no_warmup", false,
     "every sample needs an untimed launch of its own kernel before it; --search exhaustive --warmup 0 skips the other "
     "warm-up launches"},
};

void add_shape_flags(CLI::App& command, TuneOptions& options) {
  command.option_defaults()->group("What to tune");
  command.add_option("-i,--untune_file,--input_file", options.input,
                     "Shapes: a CSV of the family's untuned (or tuned) columns");
  command.add_option("--gemm_size_file", options.size_file, "Shapes: a YAML list of {M, N, K, rowMajorA, rowMajorB}");
  command.add_option("--op", options.op, "Family of a size, or of the file if its name and columns do not identify it");
  command.add_option("--max-m", options.max_m, "Skip shapes with more rows")->check(positive_number_error);
  command.add_flag("--all", options.all,
                   "Tune again what is already tuned: all rows of this device if input and output are the same file, "
                   "otherwise the input's shapes");
}

void add_output_flags(CLI::App& command, TuneOptions& options) {
  command.option_defaults()->group("Results");
  command.add_option("-o,--tune_file,--tuned_file", options.output,
                     "Tuned table; with F:F2 several tables are read and merged, and the first is written");
  command.add_option("--tuning_results_file", options.results_file,
                     "YAML results file; default for YAML sizes: tuning_results_<device>_<date>.yaml");
  command.add_option("--profile_file", options.profile_file,
                     "CSV of all candidates: status, time, spread, samples (also -o2)");
  command.add_option(
      "--config-dir", options.config_dir,
      "Folder of the families' lists and tables: without -i and -o those in it are read and written; default: "
      "ATTUNE_CONFIG_DIR, else configs, else the working folder");
  command.add_option(
      "--keep", options.keep_dir,
      "Folder in which to keep the sources and binaries of kernels, the times of all candidates, and for "
      "triton.gemm a script generated_kernelMNK.py that runs the kernels");
  command
      .add_option_function<std::string>(
          "--sort", [&options](const std::string& text) { options.sort = is_true(text); },
          "Sort the table by the key columns, N before M; --sort False does not, which is the default")
      ->expected(0, 1)
      ->default_str("True")
      ->check(truth_error);
  command.add_flag("--update_improved", options.update_improved,
                   "Replace a row only if its time improves by --min_improvement_pct");
  command
      .add_option("--min_improvement_pct", options.min_improvement_pct,
                  "Percent by which a time must improve for --update_improved")
      ->capture_default_str()
      ->check(amount_error);
  command.add_option("--batch", options.batch, "Number of shapes between two writes of the table")
      ->capture_default_str()
      ->check(positive_number_error);
  command.add_flag("--compare", options.compare,
                   "Print the times before and after tuning; with YAML or one size: check the winner again");
  command
      .add_option("--compare_wo_tuning", options.compare_without_tuning,
                  "Check a YAML results file without tuning; exit status 1 if a row is wrong")
      ->expected(0, 1)
      ->default_str("=");
  command
      .add_option("--run_config", options.run_config,
                  "Build, verify and time the rows of a table (attune check); exit status 1 on a mismatch")
      ->expected(0, 1)
      ->default_str("");
  command
      .add_option("--benchmark", options.benchmark,
                  "Verify and time the entries of the YAML results that --gemm_size_file names, without tuning; writes "
                  "the CSV trans,M,N,K,TFLOPS,us to this file, or to standard output")
      ->expected(0, 1)
      ->default_str("-")
      ->type_name("FILE");
  command.add_flag("--json", options.json, "Results on standard output as JSON");
  command.add_flag("-v,--verbose,--time_breakdown", options.verbose,
                   "Print the failed candidates and the time of each shape on standard error");
}

void add_search_flags(CLI::App& command, TuneOptions& options) {
  command.option_defaults()->group("Method");
  command
      .add_option("--libtype", options.libtype,
                  "Libraries to try, by the first part of a solver's name: all, or onednn,blis")
      ->capture_default_str();
  command
      .add_option("--devices", options.devices.ids,
                  "Devices; by default those whose gfx the shapes name, else all GPUs, else cpu:0. cpu:0,cpu:1 are two "
                  "halves of "
                  "the cores, tuned at once, cuda:0,cuda:1 two GPUs of NVIDIA; fake:0 is the device of the tests")
      ->check(device_names_error);
  add_gpu_flags(command, options.devices.ids);
  add_libraries_flag(command);
  command
      .add_option(
          "--threads", options.thread_limits,
          "Numbers of threads to tune for on a host, such as 1,2: each gets rows of its own (cu_num), one after "
          "the other; default: those under which captured shapes were called, else the least of the cores, the "
          "CPU quota, ATTUNE_THREADS, OMP_NUM_THREADS and OMP_THREAD_LIMIT")
      ->delimiter(',')
      ->check(positive_number_error);
  command
      .add_option(
          "--mp", options.mp,
          "Number of devices that are tuned on at once: the first so many of those that are named or found; 0: all")
      ->capture_default_str()
      ->check(natural_number_error);
  command
      .add_option("--workers", options.workers,
                  "Number of worker processes of each device: they prepare and verify candidates side by side, and one "
                  "samples while the others do nothing; on hosts one; 0: as many as the kind of device has by default")
      ->capture_default_str()
      ->check(natural_number_error);
  command
      .add_option("--search", options.search,
                  "race: drop slow candidates early; exhaustive: measure every candidate --warmup + --iters times; "
                  "random, local, model: a race with this order of candidates; classic: as AMD's Triton script "
                  "tune_gemm.py did, to compare with it")
      ->capture_default_str()
      ->check(one_of(search_names()));
  command
      .add_option("--classic", options.classic,
                  "Version of the script for --search classic. v2: 10 launches of each candidate, the last one counts; "
                  "v3.4: 120 launches, the mean of the last 100 among those that took no longer than the first. The "
                  "cache is warm, only the winner is verified, and no table is written")
      ->capture_default_str()
      ->check(one_of({kClassicScriptNames.begin(), kClassicScriptNames.end()}));
  command
      .add_option_function<std::string>(
          "--method", [&options](const std::string&) { options.search = kClassicSearch; },
          "tune_gemm: the same as --search classic")
      ->check(one_of({"tune_gemm"}));
  command.add_option("--budget", options.budget,
                     "Time limit of the whole run, such as 30s, 10m or 2h; shapes that do not fit are reported");
  command.add_option("--timeout", options.timeout, "Time limit for one shape; a shape that takes longer is skipped");
  add_max_trials_flag(
      command, options.max_trials,
      "Number of candidates to try per solver, or all; what one that is behind leaves, the others may try");
  add_rule_flags(command, options.rules, options.where);
  command.add_option("--warmup", options.warmup, "Untimed rounds of --search exhaustive")
      ->capture_default_str()
      ->check(natural_count_error);
  auto* iters =
      command
          .add_option(
              "--iters", options.iters,
              "Timed rounds of --search exhaustive; if given, also the maximum number of clean pairs of a finalist")
          ->capture_default_str()
          ->check(positive_count_error);
  iters->each([&](const std::string&) { options.iters_given = true; });
}

void add_measuring_flags(CLI::App& command, TuneOptions& options) {
  command.option_defaults()->group("Method");
  command
      .add_option("--errRatio", options.err_ratio,
                  "Limit of the share of elements outside the tolerance; a candidate must stay below it and pass the "
                  "other checks")
      ->capture_default_str()
      ->check(amounts(0, 1));
  command.add_option("--min-gain", options.min_gain_pct, "Percent by which a winner must beat the default")
      ->capture_default_str()
      ->check(amounts(0, 100));
  add_require_flag(command, options.require,
                   "What a winner must keep: deterministic (equal bits in every launch and process), or "
                   "batch-invariant (besides, a row of the result does not depend on M). Its rows stand beside the "
                   "others, and may be slower than the default");
  add_inputs_flag(command, options.inputs);
  command
      .add_option("--init_type", options.init_type,
                  "Values of the operands while kernels are timed: randn (N(0,1)), hpl (uniform from -0.5 to 0.5), "
                  "trig_float (the sine of the element's place) or zeros. Results are always checked with N(0,1) and "
                  "with small whole numbers")
      ->capture_default_str()
      ->check(one_of({kTimedValuesNames.begin(), kTimedValuesNames.end()}));
  add_quiet_wait_flag(command, options.quiet_wait_s);
  command.add_option("--seed", options.seed, "Seed of data and schedules")
      ->capture_default_str()
      ->check(natural_number_error);
}

/// Flags for places, compilers and the worker processes of candidates.
void add_environment_flags(CLI::App& command, TuneOptions& options) {
  command.option_defaults()->group("Method");
  command.add_option("--journal", options.journal, "Journal file; default: see `attune paths`");
  command.add_option("--cache", options.kernels.cache, "Folder of compiled kernels; default: see `attune paths`");
  command
      .add_option("--compile-jobs,--num_threads,--jobs", options.kernels.jobs,
                  "Number of compilers to run in parallel; default: one per core. Nothing is compiled while anything "
                  "is measured")
      ->check(whole_numbers(0, 1024));
  command
      .add_option("--compile-deadline", options.kernels.deadline_s,
                  "Seconds that compiling a kernel may take; default: the compiler's own limit, 60 for C")
      ->check(amounts(0.01, 1e6));
  add_cache_size_flag(command, options.kernels.max_cache_bytes);
  add_python_flag(command);
  add_kernel_flag(command, &options.devices.ids);
  add_isolation_flag(command, options.isolation);
  command
      .add_option("--run-deadline", options.run_deadline_s,
                  "Seconds that a launch may take; 50 times the best time so far if that is longer; default: that of "
                  "the kind of device, 2 on a host")
      ->check(amounts(0.01, 1e6));
  command
      .add_option("--load-deadline", options.load_deadline_s,
                  "Seconds that preparing a candidate may take; default: that of the kind of device, 60 on a host")
      ->check(amounts(0.01, 1e6));
  command
      .add_option_function<double>(
          "--candidate-timeout",
          [&options](double seconds) { options.load_deadline_s = options.run_deadline_s = seconds; },
          "Seconds for each of --load-deadline and --run-deadline")
      ->check(amounts(0.01, 1e6));
  command.add_flag("--no-splitK", options.no_split_k, "Skip split-K candidates");
  command.add_flag_callback(
      "--splitK,--shape_grouped", [] {}, "Always on; accepted for scripts of the older tuners");
}

void add_refused_flags(CLI::App& command) {
  for (const RefusedFlag& refused : kFlagsOfOlderTuners) {
    const auto refuse = [refused] { throw CLI::ValidationError(std::string(refused.names) + ": " + refused.why); };
    if (refused.takes_value)
      command
          .add_option_function<std::string>(
              refused.names, [refuse](const std::string&) { refuse(); }, std::string("Refused: ") + refused.why)
          ->group(kRefusedFlags);
    else
      command
          .add_flag_function(
              refused.names, [refuse](int64_t) { refuse(); }, std::string("Refused: ") + refused.why)
          ->group(kRefusedFlags);
  }
}

}  // namespace

void add_tune_flags(CLI::App& command, TuneOptions& options) {
  add_shape_flags(command, options);
  add_model_flags(command, options.model, "What to tune");
  add_output_flags(command, options);
  add_search_flags(command, options);
  add_measuring_flags(command, options);
  add_environment_flags(command, options);
  add_refused_flags(command);
  // The ops' modules are opened for a command that is parsed alone.
  command.preparse_callback([&options, &command](size_t) { add_attribute_flags(command, options.settings); });
}

}  // namespace attune
