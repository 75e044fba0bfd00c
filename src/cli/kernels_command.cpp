// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "campaign/open_devices.h"
#include "cli/command.h"
#include "formats/csv/table.h"
#include "measure/contenders.h"
#include "ops/family.h"
#include "ops/op.h"
#include "report/json_output.h"
#include "report/result_table.h"
#include "solver/contender.h"

namespace attune {
namespace {

struct KernelsOptions {
  std::string cache, table, op, devices;
  uint32_t jobs = 0;
  bool json = false;
};

std::filesystem::path cache_folder(const KernelsOptions& options) {
  if (options.cache.empty()) return cache_location().path;
  check_output_folder(options.cache);
  return options.cache;
}

int list_kernels(const KernelsOptions& options) {
  const auto binaries = KernelCache({cache_folder(options)}, kCacheBytes).list();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  uintmax_t total = 0;
  for (const Binary& binary : binaries) {
    std::error_code gone;
    const uintmax_t bytes = std::filesystem::file_size(binary.file, gone);
    if (gone) continue;  // Cleared meanwhile.
    total += bytes;
    if (options.json) {
      list.push_back({{"arch", binary.arch},
                      {"recipe", binary.recipe},
                      {"toolchain", binary.toolchain},
                      {"sha256", binary.sha256},
                      {"bytes", bytes},
                      {"file", binary.file.string()},
                      {"metadata", binary.metadata}});
    } else {
      print_line(stdout, fmt::format("{}  {}  {}  {} bytes", binary.arch, binary.recipe, binary.toolchain, bytes));
    }
  }
  if (options.json)
    print_json(list);
  else
    print_line(stdout, fmt::format("{}, {:.1f} MB in '{}'", counted(binaries.size(), "kernel"),
                                   static_cast<double>(total) / 1e6, cache_folder(options).string()));
  return 0;
}

int clear_kernels(const KernelsOptions& options) {
  const size_t removed = KernelCache({cache_folder(options)}, kCacheBytes).clear();
  print_line(stdout, fmt::format("{} removed from '{}'", counted(removed, "kernel"), cache_folder(options).string()));
  return 0;
}

/// A row whose kernels are to be built.
struct KernelRow {
  size_t line;
  Problem problem;
  std::vector<Contender> contenders;
  Candidate candidate;
};

/// Returns the rows of this device that some solver could run; reports the others on standard error and counts them in
/// `num_unusable`.
std::vector<KernelRow> wanted_rows(const Table& table, const KernelsOptions& options, const Environment& environment,
                                   size_t& num_unusable) {
  const DeviceInfo& device = environment.device();
  std::vector<KernelRow> wanted;
  for (const TableRow& row : table.rows()) {
    if (row.gfx != device.gfx || row.num_units != device.num_units) continue;
    std::string why;
    try {
      Candidate candidate = Candidate::parse(row.kernel_name);
      Problem problem = op_of(row.problem).normalise(row.problem, device);
      auto here = contenders(*environment.executor, problem, {});
      if (const auto reason = why_unusable(candidate, problem, here, device))
        why = *reason;
      else
        wanted.push_back({row.line, std::move(problem), std::move(here), std::move(candidate)});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_input && error.code() != ErrorCode::unavailable) throw;
      why = error.what();
    }
    if (why.empty()) continue;
    ++num_unusable;
    print_line(stderr, fmt::format("{}:{}: left out: {}", options.table, row.line, why));
  }
  return wanted;
}

/// Compiles the kernels that a table's rows need on this device, so that a program never waits for them. Returns 1 if a
/// row of this device still lacks a kernel.
int build_kernels(const KernelsOptions& options) {
  const Table table = Table::read(options.table, family_option(options.op));
  Environment environment = open_environment(options.devices, Isolation::none, {options.cache, options.jobs, {}});
  size_t num_unusable = 0, num_failed = 0, num_rows = 0;
  const auto rows = wanted_rows(table, options, environment, num_unusable);
  std::vector<Kernels::Request> requests;
  for (const KernelRow& row : rows) {
    const auto own = std::find_if(row.contenders.begin(), row.contenders.end(),
                                  [&](const Contender& one) { return one.solver == row.candidate.solver; });
    requests.push_back({&row.problem, &*own, row.candidate});
  }
  const auto built = environment.kernels->build(requests);
  std::set<std::string> files;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const Binary& binary : built[i].binaries) files.insert(binary.file.string());
    num_rows += !built[i].binaries.empty();
    if (built[i].outcome.ok()) continue;
    ++num_failed;
    print_line(stderr, fmt::format("{}:{} {}: {}", options.table, rows[i].line, name(built[i].outcome.status),
                                   built[i].outcome.detail));
  }
  std::string text =
      fmt::format("{} of {} use generated kernels: {} in '{}'", num_rows, counted(table.rows().size(), "row"),
                  counted(files.size(), "file"), cache_folder(options).string());
  if (num_unusable > 0) text += fmt::format("; {} left out", num_unusable);
  print_line(stdout, text);
  return num_failed + num_unusable == 0 ? 0 : 1;
}

}  // namespace

void add_kernels_command(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("kernels", "Compiled kernels: list, clear, build ahead for a table");
  verb->require_subcommand(1);
  auto options = std::make_shared<KernelsOptions>();
  const auto add = [&](const char* name, const char* help, int (*run)(const KernelsOptions&)) {
    auto* sub = verb->add_subcommand(name, help);
    sub->add_option("--cache", options->cache, "Folder of compiled kernels; default: attune paths");
    sub->callback([options, run, &chosen] { chosen = [options, run] { return run(*options); }; });
    return sub;
  };
  add("list", "Every compiled kernel", list_kernels)->add_flag("--json", options->json, "Machine-readable");
  add("clear", "Removes them all; they are compiled again when needed", clear_kernels);
  auto* build = add("build", "Compiles what a table's rows need here", build_kernels);
  build->add_option("--table", options->table, "Tuned table")->required();
  build->add_option("--op", options->op, "Family of the table, when its name does not tell");
  build->add_option("--devices", options->devices, "Device; default cpu:0");
  build->add_option("--jobs", options->jobs, "Compilers at once; default: one a core")->check(CLI::Range(0, 1024));
}

}  // namespace attune
