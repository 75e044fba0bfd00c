// SPDX-License-Identifier: MIT
#include "solvers/triton/own_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/error.h"
#include "solvers/triton/gemm_rules.h"
#include "solvers/triton/gemm_space.h"

namespace attune::triton {
namespace {

constexpr int64_t kPointerBytes = 16;  // Tensors' addresses are multiples.
constexpr int64_t kMaxSumsPerThread = 128;
constexpr int64_t kLeastSharedBytes = 99 << 10;  // Of the smallest GPU since 8.0, if the device does not report it.

bool is_tensor_role(GemmRole role) { return role <= GemmRole::bias; }

/// The number of a role of the product.
int64_t number_of(GemmRole role, const GemmShape& shape) {
  switch (role) {
    case GemmRole::m:
      return shape.m;
    case GemmRole::n:
      return shape.n;
    case GemmRole::k:
      return shape.k;
    case GemmRole::stride_am:
      return shape.trans_a ? 1 : shape.k;
    case GemmRole::stride_ak:
      return shape.trans_a ? shape.m : 1;
    case GemmRole::stride_bk:
      return shape.b_is_kn ? shape.n : 1;
    case GemmRole::stride_bn:
      return shape.b_is_kn ? 1 : shape.k;
    case GemmRole::stride_cm:
      return shape.n;
    case GemmRole::stride_cn:
      return 1;
    default:
      break;
  }
  fail(ErrorCode::internal, "a role of a kernel's parameter has no number");
}

bool is_number_role(GemmRole role) { return role > GemmRole::bias && role <= GemmRole::stride_cn; }

/// Whether the layout alone makes the stride 1, for every size: then it is a constant, as in Triton's own launches.
bool is_one_stride(GemmRole role, const GemmShape& shape) {
  switch (role) {
    case GemmRole::stride_am:
      return shape.trans_a;
    case GemmRole::stride_ak:
      return !shape.trans_a;
    case GemmRole::stride_bk:
      return !shape.b_is_kn;
    case GemmRole::stride_bn:
      return shape.b_is_kn;
    case GemmRole::stride_cn:
      return true;
    default:
      return false;
  }
}

bool needs_i64(const GemmShape& shape) {
  return std::max({shape.m * shape.k, shape.n * shape.k, shape.m * shape.n}) > std::numeric_limits<int32_t>::max();
}

/// The largest power of two up to 16 that divides a number.
int64_t divisor_of(int64_t number) {
  int64_t divisor = 16;
  while (number % divisor != 0) divisor /= 2;
  return divisor;
}

const char* type_of(GemmRole role, const GemmShape& shape) {
  return attune::name(role == GemmRole::c ? shape.out : shape.in).data();
}

/// Whether a launch passes the parameter; the binary has the others as constants.
bool is_passed(const UserKernel::Parameter& parameter, const GemmShape& shape) {
  const GemmRole role = gemm_role(parameter.name);
  if (parameter.is_constexpr || is_one_stride(role, shape)) return false;
  return role != GemmRole::bias || shape.bias;
}

std::string constant_text(const Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  const auto& text = std::get<std::string>(value);
  return text == "True" || text == "False" || text == "None" ? text : "'" + text + "'";
}

/// The constant of a parameter that is not passed; nothing: the kernel's default holds.
std::optional<std::string> constant_of(const UserKernel::Parameter& parameter, const GemmShape& shape,
                                       const Config& config) {
  const GemmRole role = gemm_role(parameter.name);
  if (is_number_role(role)) return std::to_string(number_of(role, shape));
  if (role == GemmRole::bias) return "None";
  if (role == GemmRole::has_bias) return shape.bias ? "True" : "False";
  if (config.has(parameter.name)) return constant_text(config.at(parameter.name));
  return std::nullopt;
}

/// The number of a constant, or 1 where the kernel has no such parameter. Throws invalid_input for text.
int64_t constant_number(const UserKernel& kernel, GemmRole role, const Config& config) {
  const UserKernel::Parameter* const parameter = find_role(kernel, role);
  if (parameter == nullptr) return 1;
  const int64_t value =
      config.has(parameter->name) ? config.integer(parameter->name) : parameter->default_number.value_or(0);
  if (value < 1) fail(ErrorCode::invalid_input, "{} must be 1 or more, got {}", parameter->name, value);
  return value;
}

/// Values of a parameter for kernels without configs of their own.
struct TunedRole {
  GemmRole role;
  const char* launch_name;  ///< Null: the kernel's own name.
  std::vector<int64_t> values;
};
const std::vector<TunedRole>& tuned_roles() {
  static const std::vector<TunedRole>& all =
      *new std::vector<TunedRole>{{GemmRole::block_m, nullptr, {16, 32, 64, 128, 256}},
                                  {GemmRole::block_n, nullptr, {16, 32, 64, 128, 256}},
                                  {GemmRole::block_k, nullptr, {32, 64, 128}},
                                  {GemmRole::group_m, nullptr, {1, 8}},
                                  {GemmRole::split_k, nullptr, {1}},
                                  {GemmRole::num_warps, "num_warps", {4, 8}},
                                  {GemmRole::num_stages, "num_stages", {2, 3, 4}}};
  return all;
}

using Values = std::vector<std::pair<std::string, Value>>;

/// All combinations of tuned_roles() that the kernel has.
std::vector<Values> product_of(const UserKernel& kernel) {
  std::vector<Values> all(1);
  for (const TunedRole& one : tuned_roles()) {
    const UserKernel::Parameter* const parameter = find_role(kernel, one.role);
    if (one.launch_name == nullptr && parameter == nullptr) continue;
    const std::string name = one.launch_name != nullptr ? one.launch_name : parameter->name;
    std::vector<Values> longer;
    for (const Values& before : all) {
      for (const int64_t value : one.values) {
        longer.push_back(before);
        longer.back().emplace_back(name, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::vector<Config> configs_of(const UserKernel& kernel, const std::string& name) {
  std::vector<Config> configs;
  const auto add = [&](Values values) {
    values.emplace_back(kOwnKernel, name);
    configs.emplace_back(std::move(values));
  };
  for (const Config& one : kernel.configs) add(one.values());
  if (!kernel.is_autotuned) {
    for (Values& values : product_of(kernel)) add(std::move(values));
  }
  return configs;
}

/// Rules for the configs of a kernel that has none of its own, like the solver triton.gemm has.
void add_rules(std::vector<Rule>& rules, const UserKernel& kernel, const std::string& name, const GemmShape& shape,
               const DeviceInfo& device) {
  const std::string m = find_role(kernel, GemmRole::block_m)->name, n = find_role(kernel, GemmRole::block_n)->name;
  const UserKernel::Parameter* const depth = find_role(kernel, GemmRole::block_k);
  const auto add = [&](const char* id, const std::string& expression, const char* reason) {
    rules.push_back({fmt::format("{}-{}", id, name), fmt::format("kernel != '{}' || {}", name, expression), reason});
  };
  add("rows", fmt::format("{} <= max(16, {})", m, 2 * shape.m - 1), "half of the tile's rows or more would be padding");
  add("columns", fmt::format("{} <= max(16, {})", n, 2 * shape.n - 1),
      "half of the tile's columns or more would be padding");
  add("sums", fmt::format("{} * {} <= {} * num_warps", m, n, 32 * kMaxSumsPerThread),
      "the sums do not fit into 128 registers of a thread");
  if (depth == nullptr) return;
  const auto fact = device.facts.find("shared_bytes");
  const int64_t shared = fact != device.facts.end() && fact->second > 0 ? fact->second : kLeastSharedBytes;
  add("shared",
      fmt::format("({} + {}) * {} * {} * max(1, num_stages - 1) <= {}", m, n, depth->name,
                  static_cast<int64_t>(bits(shape.in)) / 8, shared),
      "the stages do not fit into a block's shared memory");
}

}  // namespace

std::string why_not_for(const UserKernel& kernel, const GemmShape& shape) {
  if (shape.bias && find_role(kernel, GemmRole::bias) == nullptr)
    return fmt::format("the kernel {} has no parameter 'bias'", kernel.function);
  return {};
}

SearchSpace own_gemm_space(std::span<const StoredKernel> stored, std::span<const std::string> chosen,
                           const GemmShape& shape, const DeviceInfo& device) {
  std::vector<Config> configs;
  std::string is_chosen = "0";
  std::vector<Rule> rules;
  for (const StoredKernel& one : stored) {
    if (!one.kernel || !why_not_for(*one.kernel, shape).empty()) continue;
    for (Config& config : configs_of(*one.kernel, one.name)) configs.push_back(std::move(config));
    if (std::ranges::find(chosen, one.name) == chosen.end()) continue;
    is_chosen += fmt::format(" || {} == '{}'", kOwnKernel, one.name);
    if (!one.kernel->is_autotuned) add_rules(rules, *one.kernel, one.name, shape, device);
  }
  if (configs.empty()) return {};
  rules.insert(rules.begin(), {"chosen", is_chosen, "another kernel is tuned: --kernel names those of a search"});
  return SearchSpace::listed(configs).with_rule_set(kAttuneRules, std::move(rules));
}

bool is_config_of(const UserKernel& kernel, const Config& config) {
  if (!config.has(kOwnKernel)) return false;
  const std::vector<Config> all = configs_of(kernel, to_text(config.at(kOwnKernel)));
  return std::ranges::find(all, config) != all.end();
}

CompileTask own_gemm_task(const UserKernel& kernel, const GemmShape& shape, const Config& config,
                          const std::string& arch) {
  CompileTask task{
      .compiler = "triton", .source = kernel.source, .arch = arch, .options = {}, .entries = {kernel.function}};
  const auto add = [&](std::string option) { task.options.push_back(std::move(option)); };
  const char* const number = needs_i64(shape) ? "i64" : "i32";
  for (const UserKernel::Parameter& one : kernel.parameters) {
    const GemmRole role = gemm_role(one.name);
    if (!is_passed(one, shape)) {
      if (const auto constant = constant_of(one, shape, config))
        add(fmt::format("--constant={}:{}", one.name, *constant));
      continue;
    }
    if (is_tensor_role(role)) {
      add(fmt::format("--argument={}:*{}:{}", one.name, type_of(role, shape), kPointerBytes));
      continue;
    }
    // The rows of C alone: one binary serves every M, unless A's rows depend on it.
    const int64_t divisor = role == GemmRole::m ? 1 : divisor_of(number_of(role, shape));
    add(divisor > 1 ? fmt::format("--argument={}:{}:{}", one.name, number, divisor)
                    : fmt::format("--argument={}:{}", one.name, number));
  }
  for (const auto& [option, name] :
       {std::pair("num-warps", "num_warps"), std::pair("num-stages", "num_stages"), std::pair("maxnreg", "maxnreg")}) {
    if (config.has(name)) add(fmt::format("--{}={}", option, config.integer(name)));
  }
  return task;
}

OwnLaunch own_gemm_launch(const UserKernel& kernel, const GemmShape& shape, const Config& config) {
  OwnLaunch launch;
  for (const UserKernel::Parameter& one : kernel.parameters) {
    if (!is_passed(one, shape)) continue;
    const GemmRole role = gemm_role(one.name);
    launch.arguments.push_back({role, is_tensor_role(role) ? 0 : number_of(role, shape)});
  }
  launch.num_programs = num_pieces(shape.m, constant_number(kernel, GemmRole::block_m, config)) *
                        num_pieces(shape.n, constant_number(kernel, GemmRole::block_n, config));
  launch.num_programs_y = constant_number(kernel, GemmRole::split_k, config);
  launch.zeroes_c = !kernel.reset_to_zero.empty();
  constexpr int64_t kMaxPrograms = 1 << 30, kMaxProgramsY = 65535;  // CUDA's limit of the second dimension.
  if (launch.num_programs > kMaxPrograms || launch.num_programs_y > kMaxProgramsY)
    fail(ErrorCode::unavailable, "the launch would have {} × {} programs, more than a GPU takes", launch.num_programs,
         launch.num_programs_y);
  return launch;
}

}  // namespace attune::triton
