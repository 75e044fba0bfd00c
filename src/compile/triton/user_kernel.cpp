// SPDX-License-Identifier: MIT
#include "compile/triton/user_kernel.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "compile/compiler.h"
#include "compile/triton/triton_package.h"
#include "process/run_command.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint64_t kMaxSourceBytes = 1 << 20;
constexpr uint64_t kMaxDescriptionBytes = 8 << 20;
constexpr size_t kMaxFunctionName = 60;
constexpr size_t kNameDigits = 16;
constexpr size_t kMaxParameters = 60;
constexpr const char* kSourceName = "kernel.py";  // As the scripts have it.
constexpr const char* kDescribeScript = "describe_kernel.py";
constexpr std::string_view kUsage = "--kernel expects FILE:FUNCTION, a Python file and a @triton.jit function in it";

struct RoleName {
  std::string_view name;
  GemmRole role;
};
/// The first name of a role is shown to users.
constexpr RoleName kRoleNames[] = {{"a", GemmRole::a},
                                   {"b", GemmRole::b},
                                   {"c", GemmRole::c},
                                   {"bias", GemmRole::bias},
                                   {"m", GemmRole::m},
                                   {"n", GemmRole::n},
                                   {"k", GemmRole::k},
                                   {"stride_am", GemmRole::stride_am},
                                   {"stride_ak", GemmRole::stride_ak},
                                   {"stride_bk", GemmRole::stride_bk},
                                   {"stride_bn", GemmRole::stride_bn},
                                   {"stride_cm", GemmRole::stride_cm},
                                   {"stride_cn", GemmRole::stride_cn}};
constexpr RoleName kConstantNames[] = {
    {"block_size_m", GemmRole::block_m}, {"block_m", GemmRole::block_m},       {"bm", GemmRole::block_m},
    {"block_size_n", GemmRole::block_n}, {"block_n", GemmRole::block_n},       {"bn", GemmRole::block_n},
    {"block_size_k", GemmRole::block_k}, {"block_k", GemmRole::block_k},       {"bk", GemmRole::block_k},
    {"group_size_m", GemmRole::group_m}, {"group_m", GemmRole::group_m},       {"split_k", GemmRole::split_k},
    {"num_warps", GemmRole::num_warps},  {"num_stages", GemmRole::num_stages}, {"has_bias", GemmRole::has_bias}};
constexpr GemmRole kLastTensor = GemmRole::bias, kLastArgument = GemmRole::stride_cn;
/// Roles for which Attune has values where the kernel has no configs.
constexpr std::array kTunedRoles = {GemmRole::block_m, GemmRole::block_n, GemmRole::block_k, GemmRole::group_m,
                                    GemmRole::split_k};

bool is_argument(GemmRole role) { return role <= kLastArgument; }
/// Attune knows the value.
bool is_bound(GemmRole role) {
  return is_argument(role) || role == GemmRole::num_warps || role == GemmRole::num_stages || role == GemmRole::has_bias;
}

bool is_identifier(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  return !text.empty() && kLetters.find(text[0]) != kLetters.npos &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == text.npos;
}

/// A config's value of a constant: integers are numbers; True, False, None and names are texts.
Value value_of(const json& constant) {
  if (constant.is_boolean()) return std::string(constant.get<bool>() ? "True" : "False");
  if (constant.is_null()) return std::string("None");
  if (constant.is_string()) return constant.get<std::string>();
  return constant.get<int64_t>();
}

Config config_of(const json& described) {
  std::vector<std::pair<std::string, Value>> values;
  for (const auto& [name, constant] : described.at("constants").items()) values.emplace_back(name, value_of(constant));
  for (const char* name : {"num_warps", "num_stages", "maxnreg"}) {
    if (described.contains(name)) values.emplace_back(name, described.at(name).get<int64_t>());
  }
  return Config(std::move(values));
}

/// Fills all but function and source. Throws json::exception.
UserKernel kernel_of(const json& described) {
  UserKernel kernel;
  for (const json& one : described.at("parameters")) {
    UserKernel::Parameter parameter{.name = one.at("name"), .is_constexpr = one.at("constexpr")};
    parameter.has_default = one.contains("default");
    if (parameter.has_default && one.at("default").is_number_integer())
      parameter.default_number = one.at("default").get<int64_t>();
    kernel.parameters.push_back(std::move(parameter));
  }
  kernel.is_autotuned = described.at("autotuned");
  for (const json& one : described.at("configs")) {
    Config config = one.is_string() ? Config::parse(one.get<std::string>()) : config_of(one);
    if (std::ranges::find(kernel.configs, config) == kernel.configs.end()) kernel.configs.push_back(std::move(config));
  }
  kernel.reset_to_zero = described.at("reset_to_zero").get<std::vector<std::string>>();
  kernel.restore_value = described.at("restore_value").get<std::vector<std::string>>();
  return kernel;
}

/// Throws invalid_input naming a text's first line that is not UTF-8.
void check_utf8(std::string_view text, const std::string& file) {
  size_t line = 1;
  for (size_t at = 0; at < text.size();) {
    const size_t length = text[at] == '\0' ? 0 : utf8_length(text.substr(at));
    if (length == 0)
      fail(ErrorCode::invalid_input, "{}:{}: a kernel's file must be UTF-8, convert it", shown(file, 500), line);
    line += text[at] == '\n' ? 1 : 0;
    at += length;
  }
}

CommandResult run_description(const std::string& source, const std::string& function, Milliseconds deadline) {
  const TritonPackage package = triton_package();
  const TemporaryFolder folder("triton");
  write_task_file(folder.path() / kSourceName, source);
  ChildCommand command{.arguments = {package.python, "-I", "-B", "-c", std::string(triton_script(kDescribeScript)),
                                     package.packages, function},
                       .environment = separate_python_environment(folder.path().string()),
                       .folder = folder.path()};
  command.environment["PATH"] = program_search_path();
  command.environment["TRITON_CACHE_DIR"] = (folder.path() / "cache").string();
  return run_command(std::move(command), deadline, kMaxDescriptionBytes);
}

[[noreturn]] void refuse(const UserKernel& kernel, const std::string& why) {
  fail(ErrorCode::invalid_input, "the kernel '{}' cannot be used as a GEMM: {}", kernel.function, why);
}

std::string known_names() {
  std::vector<std::string> names;
  for (const RoleName& one : kRoleNames) names.emplace_back(one.name);
  return join(names, ", ");
}

void check_configs(const UserKernel& kernel) {
  for (const Config& config : kernel.configs) {
    for (const auto& [name, value] : config.values()) {
      if (name == "num_warps" || name == "num_stages" || name == "maxnreg") continue;
      const UserKernel::Parameter* const parameter = kernel.find(name);
      if (parameter == nullptr || !parameter->is_constexpr || is_argument(gemm_role(name)))
        refuse(kernel, fmt::format("a config gives '{}', which is no constexpr parameter of its own", name));
    }
    for (const UserKernel::Parameter& one : kernel.parameters) {
      if (one.is_constexpr && !one.has_default && !is_bound(gemm_role(one.name)) && !config.has(one.name))
        refuse(kernel,
               fmt::format("a config does not give the constexpr parameter '{}', give it there or a default: {}",
                           one.name, config.key()));
    }
    for (const GemmRole role : {GemmRole::block_m, GemmRole::block_n, GemmRole::split_k}) {
      const UserKernel::Parameter* const size = find_role(kernel, role);
      if (size == nullptr) continue;
      const auto number = config.has(size->name) ? std::get_if<int64_t>(&config.at(size->name))
                                                 : (size->default_number ? &*size->default_number : nullptr);
      if (number == nullptr || *number < 1 || *number > 1 << 20)
        refuse(kernel, fmt::format("'{}' must be an integer from 1 to 1048576: {}", size->name, config.key()));
    }
  }
}

}  // namespace

std::string UserKernel::name() const { return function + "-" + sha256(to_json()).substr(0, kNameDigits); }

const UserKernel::Parameter* UserKernel::find(std::string_view parameter) const noexcept {
  const auto found = std::ranges::find(parameters, parameter, &Parameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

std::string UserKernel::to_json() const {
  json document = {{"function", function},           {"source", source},
                   {"autotuned", is_autotuned},      {"parameters", json::array()},
                   {"configs", json::array()},       {"reset_to_zero", reset_to_zero},
                   {"restore_value", restore_value}, {"format", "attune-triton-kernel/1"}};
  for (const Parameter& one : parameters) {
    json described = {{"name", one.name}, {"constexpr", one.is_constexpr}};
    if (one.has_default) described["default"] = one.default_number ? json(*one.default_number) : json(nullptr);
    document["parameters"].push_back(std::move(described));
  }
  for (const Config& one : configs) document["configs"].push_back(one.key());
  return document.dump(1) + "\n";
}

UserKernel UserKernel::from_json(std::string_view text) {
  try {
    const json document = json::parse(text);
    UserKernel kernel = kernel_of(document);
    kernel.function = document.at("function");
    kernel.source = document.at("source");
    return kernel;
  } catch (const json::exception& error) {
    fail(ErrorCode::invalid_input, "expected the file of a kernel: {}", shown(error.what(), 200));
  }
}

GemmRole gemm_role(std::string_view parameter) {
  std::string name = to_lower(parameter);
  for (const RoleName& one : kConstantNames) {
    if (one.name == name) return one.role;
  }
  constexpr std::string_view kPointer = "_ptr", kStride = "stride_";
  const bool is_pointer = name.ends_with(kPointer);
  if (is_pointer) name.resize(name.size() - kPointer.size());
  if (name.starts_with(kStride) && name.size() == kStride.size() + 3 && name[kStride.size() + 1] == '_')
    name.erase(kStride.size() + 1, 1);
  for (const RoleName& one : kRoleNames) {
    if (one.name == name && (!is_pointer || one.role <= kLastTensor)) return one.role;
  }
  return GemmRole::constant;
}

const UserKernel::Parameter* find_role(const UserKernel& kernel, GemmRole role) {
  const auto found =
      std::ranges::find_if(kernel.parameters, [&](const auto& one) { return gemm_role(one.name) == role; });
  return found == kernel.parameters.end() ? nullptr : &*found;
}

void check_gemm_kernel(const UserKernel& kernel) {
  if (!is_identifier(kernel.function) || kernel.function.size() > kMaxFunctionName)
    refuse(kernel, fmt::format("its name must have 1 to {} letters, digits and underscores", kMaxFunctionName));
  if (kernel.parameters.size() > kMaxParameters)
    refuse(kernel, fmt::format("it has more than {} parameters", kMaxParameters));
  std::set<GemmRole> roles;
  for (const UserKernel::Parameter& one : kernel.parameters) {
    const GemmRole role = gemm_role(one.name);
    if (!is_identifier(one.name) || one.name == "kernel" || one.name == "maxnreg")
      refuse(kernel, fmt::format("a parameter must have another name: '{}'", shown(one.name)));
    if (role != GemmRole::constant && !roles.insert(role).second)
      refuse(kernel, fmt::format("two parameters have the same meaning, rename one: '{}'", one.name));
    if (!one.is_constexpr && !is_argument(role))
      refuse(kernel, fmt::format("Attune does not know its parameter '{}'; known are {}, tensors also with _ptr, and "
                                 "constexpr parameters",
                                 one.name, known_names()));
    if (one.is_constexpr && role <= kLastTensor)
      refuse(kernel, fmt::format("the tensor '{}' must not be constexpr", one.name));
    const bool is_tuned = std::ranges::find(kTunedRoles, role) != kTunedRoles.end();
    if (!kernel.is_autotuned && one.is_constexpr && !one.has_default && !is_bound(role) && !is_tuned)
      refuse(kernel, fmt::format("no value is known for the constexpr parameter '{}', give it a default or "
                                 "@triton.autotune with configs",
                                 one.name));
  }
  for (const auto& [role, what] :
       {std::pair(GemmRole::a, "a"), std::pair(GemmRole::b, "b"), std::pair(GemmRole::c, "c"),
        std::pair(GemmRole::block_m, "BLOCK_SIZE_M (or BLOCK_M, BM)"),
        std::pair(GemmRole::block_n, "BLOCK_SIZE_N (or BLOCK_N, BN)")}) {
    if (!roles.contains(role)) refuse(kernel, fmt::format("it has no parameter {}", what));
    if (role > kLastArgument && !find_role(kernel, role)->is_constexpr)
      refuse(kernel, fmt::format("{} must be constexpr", what));
  }
  for (const auto& [names, what] :
       {std::pair(&kernel.reset_to_zero, "reset_to_zero"), std::pair(&kernel.restore_value, "restore_value")}) {
    for (const std::string& name : *names) {
      if (gemm_role(name) != GemmRole::c)
        refuse(kernel, fmt::format("{} names '{}', and only c is supported", what, shown(name)));
    }
  }
  if (kernel.is_autotuned && kernel.configs.empty()) refuse(kernel, "it has no configs");
  check_configs(kernel);
}

UserKernel describe_user_kernel(std::string_view file_and_function, Milliseconds deadline) {
  const size_t colon = file_and_function.rfind(':');
  if (colon == file_and_function.npos || colon == 0 || !is_identifier(file_and_function.substr(colon + 1)))
    fail(ErrorCode::invalid_input, "{}, got '{}'", kUsage, shown(file_and_function, 500));
  const std::string file(file_and_function.substr(0, colon)), function(file_and_function.substr(colon + 1));
  const std::string source = read_file(file, kMaxSourceBytes);
  check_utf8(source, file);
  const CommandResult result = run_description(source, function, deadline);
  const json described = json::parse(marked_line(result.output, "\nattune-kernel: "), nullptr, false);
  if (!described.is_object())
    fail(ErrorCode::invalid_input,
         "{}: the file must only define kernels, but running it did not come to its end (Python {})", shown(file, 500),
         result.status.describe());
  try {
    const std::string line = described.contains("line") ? fmt::format(":{}", described.at("line").get<int64_t>()) : "";
    const std::string place = shown(file, 500) + line;
    if (described.contains("flaw"))
      fail(ErrorCode::invalid_input, "{}: {}", place, shown(described.at("flaw").get<std::string>(), 500));
    UserKernel kernel = kernel_of(described);
    kernel.function = function;
    kernel.source = source;
    try {
      check_gemm_kernel(kernel);
    } catch (Error& error) {
      error.add_context(place);
      throw;
    }
    return kernel;
  } catch (const json::exception& error) {
    fail(ErrorCode::invalid_input, "{}: Python describes the kernel '{}' in a form that is not understood: {}",
         shown(file, 500), function, shown(error.what(), 200));
  }
}

}  // namespace attune
