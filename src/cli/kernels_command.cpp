// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/random.h"
#include "base/text.h"
#include "campaign/devices/device_view.h"
#include "campaign/interrupt.h"
#include "campaign/live_line.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/kernel_flag.h"
#include "cli/flags/problem_option.h"
#include "cli/flags/python_flag.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/value_checks.h"
#include "compile/cache_limit.h"
#include "formats/csv/table.h"
#include "formats/kernel_archive/kernel_archive.h"
#include "ops/family.h"
#include "report/json_output.h"
#include "report/kernel_listing.h"
#include "search/prune.h"
#include "solver/registry.h"
#include "solver/static/rule_choice.h"
#include "tables/kernel_rows.h"
#include "tables/row_status.h"

namespace attune {
namespace {

struct KernelsOptions {
  std::string cache, archive, table, op, info_file, space, problem;
  std::string rules{kDefaultRuleSet};
  std::vector<std::string> where;
  uint64_t max_kernels = 0;
  DeviceChoice devices;
  uint32_t jobs = 0;
  std::optional<uint64_t> max_cache_bytes;
  bool json = false;
};

/// The folder that kernels are compiled into.
std::filesystem::path cache_folder(const KernelsOptions& options) {
  if (options.cache.empty()) return cache_location().path;
  check_output_folder(options.cache);
  return options.cache;
}

/// The folder of kernels that were compiled before; the user's own need not be there yet.
std::filesystem::path existing_cache_folder(const KernelsOptions& options) {
  if (!options.cache.empty() && !std::filesystem::exists(options.cache))
    fail(ErrorCode::invalid_input, "there is no such folder of compiled kernels, name another with --cache: '{}'",
         shown(options.cache, 500));
  return cache_folder(options);
}

/// Lists kernels with the candidate for which each was compiled; others may share it.
int list_kernels(const KernelsOptions& options) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  uintmax_t total = 0;
  size_t num_kernels = 0;
  for (const Binary& binary : KernelCache({existing_cache_folder(options)}, kProgramCacheBytes).list()) {
    const auto kernel = listed_kernel(binary);
    if (!kernel) continue;
    total += kernel->num_bytes;
    if (!options.json && num_kernels == 0) print_line(stdout, kernel_header());
    ++num_kernels;
    if (options.json)
      list.push_back(nlohmann::ordered_json::parse(kernel_json(*kernel)));
    else
      print_line(stdout, kernel_line(*kernel));
  }
  if (options.json)
    print_json(list);
  else
    print_line(stdout, fmt::format("{}, {:.1f} MB in '{}'", counted(num_kernels, "kernel"),
                                   static_cast<double>(total) / 1e6, cache_folder(options).string()));
  return 0;
}

int clear_kernels(const KernelsOptions& options) {
  const auto folder = existing_cache_folder(options);
  const size_t removed = KernelCache({folder}, kProgramCacheBytes).clear();
  print_line(stdout, fmt::format("{} removed from '{}'", counted(removed, "kernel"), folder.string()));
  return 0;
}

int export_kernels(const KernelsOptions& options) {
  check_output(options.archive);
  const size_t written =
      kernel_archive::write(options.archive, KernelCache({existing_cache_folder(options)}, kProgramCacheBytes));
  print_line(stdout, fmt::format("{} written to '{}'", counted(written, "kernel"), options.archive));
  return 0;
}

int import_kernels(const KernelsOptions& options) {
  const auto folder = cache_folder(options);
  const CacheLimit limit = cache_limit(kProgramCacheBytes);
  if (!limit.error.empty()) fail(ErrorCode::invalid_input, "{}", limit.error);
  KernelCache cache({folder}, limit.bytes);
  const kernel_archive::Added added = kernel_archive::add(options.archive, cache);
  std::string text = fmt::format("{} added to '{}'", counted(added.kernels, "kernel"), folder.string());
  if (added.outdated > 0)
    text += fmt::format("; {} of another version of Attune skipped, export them anew", added.outdated);
  print_line(stdout, text);
  return 0;
}

DeviceView view_of(const KernelsOptions& options) {
  return DeviceView(
      {options.devices,
       options.info_file,
       {.cache = options.cache, .jobs = options.jobs, .keep = {}, .max_cache_bytes = options.max_cache_bytes}});
}

/// Candidates of a contender in random order, as many as need so many different kernels; 0: all.
std::vector<Candidate> candidates_for_kernels(const Contender& contender, const Problem& problem,
                                              const DeviceInfo& device, uint64_t max_kernels) {
  auto indices = prune(contender.space, problem, device, 0).allowed;
  Random(derive_seed(0, "kernels build")).shuffle(indices);
  const Solver& solver = *registry().find(contender.solver);
  std::vector<Candidate> candidates;
  std::set<std::string> recipes;
  for (const uint64_t index : indices) {
    if (max_kernels > 0 && recipes.size() >= max_kernels) break;
    candidates.push_back({contender.solver, contender.version, contender.space.at(index)});
    for (const CompileTask& task : solver.compile_tasks(problem, candidates.back().config, device))
      recipes.insert(task.recipe());
  }
  return candidates;
}

/// Compiles the kernels of a solver's configs for a problem, so that a search finds them. Returns 1 if one cannot be
/// compiled.
int build_space(const KernelsOptions& options) {
  if (options.problem.empty())
    fail(ErrorCode::invalid_input,
         "--space needs the problem whose configs are meant: --problem \"gemm_a16w16 m=64 n=64 "
         "k=64 dtype=bf16\"");
  DeviceView view = view_of(options);
  const Problem problem = parse_problem(options.problem, view.device());
  const RuleChoice rules = parse_rule_choice(options.rules, options.where, registry());
  check_rule_choice(rules, registry(), problem, view.device());
  auto contenders = view.contenders(problem);
  for (Contender& one : contenders) one.space = rules.apply(one.space, one.solver);
  const Contender* const contender = find_contender(contenders, options.space);
  if (contender == nullptr)
    fail(ErrorCode::invalid_input, "no solver of this name is available, see `attune list solvers`: '{}'",
         shown(options.space));
  if (!contender->support.yes) fail(ErrorCode::invalid_input, "{} {}", options.space, contender->support.reason);
  const auto candidates = candidates_for_kernels(*contender, problem, view.device(), options.max_kernels);
  const InterruptHandler handler;
  ProgressLine progress{.num_ended = 0, .num_all = candidates.size(), .counts = {}, .doing = {}, .remarks = {}};
  LiveLine display([&] { return progress; });
  const auto built = view.kernels().build(problem, contenders, candidates, [&](size_t num_waiting) {
    progress.num_ended = candidates.size() - num_waiting;
    progress.counts = fmt::format("{} of {} configs have their kernels", progress.num_ended, candidates.size());
    display.update();
    return is_interrupted();
  });
  display.hide();
  std::set<std::filesystem::path> files;
  size_t num_failed = 0;
  for (size_t i = 0; i < built.size(); ++i) {
    for (const Binary& binary : built[i].binaries) files.insert(binary.file);
    if (built[i].outcome.ok() || built[i].outcome.status == Status::cancelled) continue;
    ++num_failed;
    print_line(stderr,
               fmt::format("{}: {}: {}", candidates[i].name(), name(built[i].outcome.status), built[i].outcome.detail));
  }
  print_line(stdout,
             fmt::format("{}: {} in '{}'{}", counted(candidates.size(), "config"), counted(files.size(), "file"),
                         cache_folder(options).string(), num_failed > 0 ? fmt::format("; {} failed", num_failed) : ""));
  if (is_interrupted()) {
    print_line(stderr, "attune: interrupted, the same command goes on");
    return interrupt_status();
  }
  return num_failed == 0 ? 0 : 1;
}

/// Compiles the kernels that a table's rows need on a device, so that a program never waits for them there. Returns 1
/// if a row of the device still lacks a kernel.
int build_kernels(const KernelsOptions& options) {
  if (options.table.empty() == options.space.empty())
    fail(ErrorCode::invalid_input, "name a tuned table (--table), or a solver (--space) and a problem (--problem)");
  if (!options.space.empty()) return build_space(options);
  if (!options.problem.empty() || options.max_kernels > 0)
    fail(ErrorCode::invalid_input, "--problem and --max-kernels belong to --space, a table names its own problems");
  if (!options.where.empty() || options.rules != kDefaultRuleSet)
    fail(ErrorCode::invalid_input, "--rules and --where choose the configs of --space, and --table names rows");
  const Table table = Table::read(options.table, family_option(options.op));
  DeviceView view = view_of(options);
  const KernelRows rows =
      kernel_rows(table, view.device(), [&](const Problem& problem) { return view.contenders(problem); });
  for (const auto& [row, why] : rows.unusable)
    print_line(stderr, fmt::format("{}: skipped: {}", place_of(table, *row), why));
  const RowKernels built = build_row_kernels(
      rows, [&](std::span<const Kernels::Request> requests) { return view.kernels().build(requests); });
  for (const auto& [row, outcome] : built.failures)
    print_line(stderr, fmt::format("{}: {}: {}", place_of(table, *row), name(outcome.status), outcome.detail));
  std::string text =
      fmt::format("{} with generated kernels: {} in '{}'", counted_of(built.num_rows, table.rows().size(), "row"),
                  counted(built.files.size(), "file"), cache_folder(options).string());
  if (!rows.unusable.empty()) text += fmt::format("; {} skipped", rows.unusable.size());
  print_line(stdout, text);
  return built.failures.empty() && rows.unusable.empty() ? 0 : 1;
}

void add_kernels_flags(CLI::App& command, Action& chosen) {
  command.require_subcommand(1);
  auto options = std::make_shared<KernelsOptions>();
  const auto add = [&](const char* name, const char* help, int (*run)(const KernelsOptions&)) {
    auto* sub = command.add_subcommand(name, help);
    sub->add_option("--cache", options->cache, "Folder of compiled kernels; default: see `attune paths`");
    sub->callback([options, run, &chosen] { chosen = [options, run] { return run(*options); }; });
    return sub;
  };
  add_json_flag(*add("list", "List every compiled kernel, and a candidate that needs it", list_kernels), options->json);
  add("clear", "Remove all compiled kernels; they are compiled again when needed", clear_kernels);
  for (auto* sub :
       {add("export", "Write all compiled kernels into a file, for `import` on another machine", export_kernels),
        add("import", "Add the kernels of such a file, after checking all of it; run only kernels of people you trust",
            import_kernels)})
    sub->add_option("file", options->archive, "A tar file")->required();
  auto* build =
      add("build", "Compile the kernels that a table's rows or a solver's configs need on this machine, or on another",
          build_kernels);
  build->add_option("--table", options->table, "Tuned table");
  build->add_option("--space", options->space, "In place of a table: solver whose configs for --problem are compiled");
  build->add_option("--problem", options->problem, "The problem of --space");
  build
      ->add_option("--max-kernels", options->max_kernels,
                   "About how many kernels of --space to compile, of configs chosen at random; 0: all")
      ->check(whole_numbers(0, 1'000'000));
  add_rule_flags(*build, options->rules, options->where);
  build->add_option("--op", options->op, "Family of the table, if its name does not identify it");
  add_device_flags(*build, options->devices, "Device; default: the first GPU, else cpu:0");
  add_device_info_flag(*build, options->info_file);
  build->add_option("--jobs", options->jobs, "Number of compilers to run in parallel; default: one per core")
      ->check(whole_numbers(0, 1024));
  add_cache_size_flag(*build, options->max_cache_bytes);
  add_python_flag(*build);
  add_kernel_flag(*build);
}

}  // namespace

Command kernels_command() {
  return {CommandGroup::maintenance, "kernels",
          "List, clear or carry compiled kernels, or compile those of a table in advance", add_kernels_flags};
}

}  // namespace attune
