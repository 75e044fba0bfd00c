// SPDX-License-Identifier: MIT
#include "cli/fleet/tuna_spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

/// A flag of the older tool.
struct TunaFlag {
  std::string_view names;  ///< `-t --tag`
  bool has_value = true;
  std::string_view spelling;      ///< Here. Empty: see `ignored` and `refusal`.
  bool is_ignored = false;        ///< Always true here.
  std::string_view refusal = {};  ///< Why it has no meaning here, with what to do.
};

constexpr std::string_view kNoFrameworks = "frameworks and models are not kept: name the set with -t";
constexpr std::string_view kNoMachines = "an agent works on the machine where it is started";
constexpr std::string_view kPinned = "a session pins the device that it was begun on";
constexpr std::string_view kNoQueue = "agents take jobs from the store: no queue is filled ahead";
constexpr std::string_view kChooseSolvers = "choose solvers with -s when the jobs are loaded";

constexpr std::array kImportFlags = {
    TunaFlag{"-t --tag", true, "-t"},
    TunaFlag{"-f --file_name", true, "-f"},
    TunaFlag{"-b --batches --batchsize", true, "-b"},
    TunaFlag{"-c --command", true, "-c"},
    TunaFlag{"-d --driver", true, "-d"},
    TunaFlag{"-T --tag_only", false, "-T"},
    TunaFlag{"--mark_recurrent", false, "--recurrent"},
    TunaFlag{"--strict", false, "--strict"},
    TunaFlag{"--source", true, "--source"},
    TunaFlag{"--json", false, "--json"},
    TunaFlag{"-F --framework", true, {}, false, kNoFrameworks},
    TunaFlag{"--fw_version", true, {}, false, kNoFrameworks},
    TunaFlag{"-m --model", true, {}, false, kNoFrameworks},
    TunaFlag{"--md_version", true, {}, false, kNoFrameworks},
    TunaFlag{"-g --gpu_count", true, {}, false, kNoFrameworks},
    TunaFlag{"--add_framework", false, {}, false, kNoFrameworks},
    TunaFlag{"--add_model", false, {}, false, kNoFrameworks},
    TunaFlag{"--add_benchmark", false, {}, false, kNoFrameworks},
    TunaFlag{"--print_models", false, {}, false, kNoFrameworks},
    TunaFlag{"-C --config_type", true, {}, false, "the operator is that of each line"},
};

constexpr std::array kLoadFlags = {
    TunaFlag{"--session_id", true, "--session"},
    TunaFlag{"-t --tag", true, "-t"},
    TunaFlag{"--all_configs", false, "--all-configs"},
    TunaFlag{"--fin_steps", true, "--steps"},
    TunaFlag{"-o --only_applicable", false, "-o"},
    TunaFlag{"-l --label", true, "-l"},
    TunaFlag{"-s --solvers", true, "--solvers"},
    TunaFlag{"--json", false, "--json"},
    TunaFlag{"-A --algo", true, {}, false, "solvers are not grouped by algorithm: name them with -s"},
    TunaFlag{"-d --only_dynamic", false, {}, false, "no solver is dynamic here: name solvers with -s"},
    TunaFlag{"--tunable", false, {}, false, "a solver that cannot be tuned takes part with its default config"},
    TunaFlag{"-c --cmd", true, {}, false, "the operator is that of each configuration: choose them by tag"},
};

constexpr std::array kExportFlags = {
    TunaFlag{"--session_id", true, "--session"},
    TunaFlag{"-p --perf_db", false, "-p"},
    TunaFlag{"-f --find_db", false, "-f"},
    TunaFlag{"-k --kern_db", false, "-k"},
    TunaFlag{"--config_tag", true, "-t"},
    TunaFlag{"-o", true, "-o"},
    TunaFlag{"--json", false, "--json"},
    TunaFlag{"--golden_v", true, "--golden_v"},
    TunaFlag{"-a --arch", true, {}, false, kPinned},
    TunaFlag{"-n --num_cu", true, {}, false, kPinned},
    TunaFlag{"-c --opencl", false, {}, false, "no kernel is OpenCL's"},
    TunaFlag{"--filename", true, {}, false, "the device gives the files their names: choose their folder with -o"},
};

constexpr std::array kGoldenFlags = {
    TunaFlag{"--golden_v", true, "--golden_v"},
    TunaFlag{"--base_golden_v", true, "--base"},
    TunaFlag{"--session_id", true, "--session"},
    TunaFlag{"-o --overwrite", false, "", true},
    TunaFlag{"--json", false, "--json"},
    TunaFlag{"--create_perf_table", false, {}, false, "compare versions with: attune golden diff"},
};

/// The spelling of a flag that chooses what go_fish does is a command.
constexpr std::array kFishFlags = {
    TunaFlag{"--update_solvers", false, "solvers update"},
    TunaFlag{"--list_solvers", false, "solvers list"},
    TunaFlag{"--init_session", false, "session init"},
    TunaFlag{"--update_applicability", false, "applicability update"},
    TunaFlag{"-s --status", false, "status"},
    TunaFlag{"--fin_steps", true, "--steps"},
    TunaFlag{"--session_id", true, "--session"},
    TunaFlag{"-l --label", true, "-l"},
    TunaFlag{"--json", false, "--json"},
    TunaFlag{"--local_machine", false, {}, true},
    TunaFlag{"-a --arch", true, {}, false, kPinned},
    TunaFlag{"-n --num_cu", true, {}, false, kPinned},
    TunaFlag{"-m --machines", true, {}, false, kNoMachines},
    TunaFlag{"--remote_machine", false, {}, false, kNoMachines},
    TunaFlag{"-r --restart", false, {}, false, kNoMachines},
    TunaFlag{"-e --exec", true, {}, false, kNoMachines},
    TunaFlag{"--docker_name", true, {}, false, kNoMachines},
    TunaFlag{"--gpu_lim", true, {}, false, "choose devices with: attune fleet run --devices cuda:0,cuda:1"},
    TunaFlag{"-i --reset_interval", true, {}, false, kNoMachines},
    TunaFlag{"--enqueue_only", false, {}, false, kNoQueue},
    TunaFlag{"--shutdown_workers", false, {}, false, kNoQueue},
    TunaFlag{"--add_tables", false, {}, false, "the store makes its tables itself"},
    TunaFlag{"--ticket", true, "--ticket"},
    TunaFlag{"--find_mode", true, {}, false, "a find step times the default config of every solver"},
    TunaFlag{"--solver_id", true, {}, false, kChooseSolvers},
    TunaFlag{"--dynamic_solvers_only", false, {}, false, kChooseSolvers},
    TunaFlag{"-B --blacklist", true, {}, false, kChooseSolvers},
    TunaFlag{"-d --direction", true, {}, false, "the direction is that of each configuration: choose them by tag"},
    TunaFlag{"-C --config_type", true, {}, false, "the operator is that of each configuration: choose them by tag"},
    TunaFlag{"--yaml", true, {}, false, "give the flags of each step on its command line"},
};

constexpr std::string_view kVerbs = "import_configs, go_fish, load_job, export_db and update_golden";

const TunaFlag* find_flag(std::span<const TunaFlag> flags, std::string_view name) {
  for (const TunaFlag& flag : flags) {
    const auto names = split(flag.names, ' ');
    if (std::ranges::find(names, name) != names.end()) return &flag;
  }
  return nullptr;
}

/// A flag that was typed, and its value.
struct TypedFlag {
  const TunaFlag* flag = nullptr;
  std::string value;
};

std::vector<TypedFlag> read_flags(const std::string& verb, std::span<const TunaFlag> flags,
                                  std::span<const std::string> arguments) {
  std::vector<TypedFlag> typed;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& text = arguments[i];
    const size_t equals = text.starts_with("--") ? text.find('=') : std::string::npos;
    const std::string name = text.substr(0, equals);
    const TunaFlag* const flag = find_flag(flags, name);
    if (flag == nullptr) {
      std::vector<std::string> known;
      for (const TunaFlag& one : flags) {
        if (one.refusal.empty()) known.emplace_back(split(one.names, ' ').front());
      }
      fail(ErrorCode::invalid_input, "tuna {} has no flag '{}', its flags are {}", verb, shown(text),
           join(known, ", "));
    }
    if (!flag->refusal.empty())
      fail(ErrorCode::invalid_input, "{} of tuna {} has no meaning here: {}", name, verb, flag->refusal);
    if (!flag->has_value && equals != std::string::npos)
      fail(ErrorCode::invalid_input, "{} of tuna {} takes no value, got '{}'", name, verb, shown(text));
    TypedFlag one{flag, {}};
    if (flag->has_value && equals != std::string::npos) {
      one.value = text.substr(equals + 1);
    } else if (flag->has_value) {
      if (i + 1 == arguments.size()) fail(ErrorCode::invalid_input, "{} of tuna {} needs a value", name, verb);
      one.value = arguments[++i];
    }
    typed.push_back(std::move(one));
  }
  return typed;
}

std::vector<std::string> spelled(std::vector<std::string> command, std::span<const TypedFlag> typed) {
  for (const TypedFlag& one : typed) {
    if (one.flag->is_ignored) continue;
    command.emplace_back(one.flag->spelling);
    if (one.flag->has_value) command.push_back(one.value);
  }
  return command;
}

/// go_fish does one thing, which a flag names.
std::vector<std::string> spelled_go_fish(std::span<const std::string> arguments) {
  std::vector<TypedFlag> typed = read_flags("go_fish", kFishFlags, arguments);
  const auto is_command = [](const TypedFlag& one) {
    return one.flag->spelling == "--steps" ||
           (!one.flag->has_value && one.flag->spelling.find('-') != 0 && !one.flag->spelling.empty());
  };
  const auto count = std::ranges::count_if(typed, is_command);
  if (count != 1)
    fail(ErrorCode::invalid_input,
         "tuna go_fish does one thing at a time, name {} of --update_solvers, --list_solvers, --init_session, "
         "--update_applicability, --fin_steps and --status",
         count == 0 ? "one" : "only one");
  const auto chosen = std::ranges::find_if(typed, is_command);
  if (chosen->flag->spelling == "--steps") return spelled({"fleet", "run"}, typed);
  std::vector<std::string> command;
  for (const std::string_view word : split(chosen->flag->spelling, ' ')) command.emplace_back(word);
  typed.erase(chosen);
  return spelled(std::move(command), typed);
}

std::vector<std::string> spelled_verb(std::string verb, std::span<const std::string> rest) {
  if (verb.ends_with(".py")) verb.resize(verb.size() - 3);
  if (verb == "import_configs") return spelled({"configs", "import"}, read_flags(verb, kImportFlags, rest));
  if (verb == "load_job") return spelled({"jobs", "load"}, read_flags(verb, kLoadFlags, rest));
  if (verb == "export_db") return spelled({"export"}, read_flags(verb, kExportFlags, rest));
  if (verb == "update_golden") return spelled({"golden", "update"}, read_flags(verb, kGoldenFlags, rest));
  if (verb == "import_db")
    fail(ErrorCode::invalid_input, "tuna import_db is here: attune session import -l REASON -t TAG -f FILE");
  if (verb != "go_fish") fail(ErrorCode::invalid_input, "tuna has no command '{}', it has {}", shown(verb), kVerbs);
  if (rest.empty() || rest.front().starts_with("-")) return spelled_go_fish(rest);
  if (rest.front() != "miopen")
    fail(ErrorCode::invalid_input, "of the libraries of tuna only miopen is read here, got '{}'", shown(rest.front()));
  rest = rest.subspan(1);
  if (rest.empty() || rest.front().starts_with("-")) return spelled_go_fish(rest);
  // `go_fish miopen --session_id 1 load_job …` of the later tool begins with the verb, too.
  return spelled_verb(rest.front(), rest.subspan(1));
}

}  // namespace

std::vector<std::string> arguments_of_tuna(std::vector<std::string> arguments) {
  if (arguments.empty()) fail(ErrorCode::invalid_input, "name a command of tuna: {}", kVerbs);
  const auto asks = [](const std::string& one) { return one == "-h" || one == "--help"; };
  if (std::ranges::any_of(arguments, asks)) return {"tuna", "--help"};
  const std::string verb = arguments.front();
  return spelled_verb(verb, std::span(arguments).subspan(1));
}

}  // namespace attune
