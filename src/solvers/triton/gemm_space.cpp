// SPDX-License-Identifier: MIT
#include "solvers/triton/gemm_space.h"

#include <algorithm>

#include "base/error.h"
#include "search/strategy/space_rules.h"
#include "solvers/triton/gemm_rules.h"

namespace attune::triton {
namespace {

struct Number {
  const char* name;
  int64_t GemmConfig::*member;
  Binding binding;
  std::vector<Value> values;
};

std::vector<Value> numbers(std::initializer_list<int64_t> values) { return {values.begin(), values.end()}; }

/// In the order of the script.
const std::vector<Number>& parameters() {
  const auto compile_time = Binding::compile_time, launch_time = Binding::launch_time;
  static const std::vector<Number>& all = *new std::vector<Number>{
      {"BLOCK_SIZE_M", &GemmConfig::block_m, compile_time, numbers({16, 32, 64, 128, 256})},
      {"BLOCK_SIZE_N", &GemmConfig::block_n, compile_time, numbers({16, 32, 64, 128, 256})},
      {"BLOCK_SIZE_K", &GemmConfig::block_k, compile_time, numbers({16, 32, 64, 128, 256})},
      {"GROUP_SIZE_M", &GemmConfig::group_m, launch_time, numbers({1, 2, 4, 8, 16, 32})},
      {"SPLIT_K", &GemmConfig::split_k, launch_time, numbers({1, 2, 4, 5, 6, 8, 10, 12, 16, 18, 24})},
      {"num_warps", &GemmConfig::num_warps, compile_time, numbers({1, 2, 4, 8})},
      {"num_stages", &GemmConfig::num_stages, compile_time, numbers({1, 2, 3, 4, 5})}};
  return all;
}

int64_t num_units(const DeviceInfo& device) { return std::max<int64_t>(device.num_units, 1); }

/// A config as the space of a device has it. On AMD's GPUs Triton has two stages, and the instructions of 16 rows are
/// allowed for every tile.
Config config_for(const DeviceInfo& device, GemmConfig config) {
  if (!is_amd(device)) return config.text();
  config.num_stages = 2;
  auto values = config.text().values();
  values.emplace_back("waves_per_eu", int64_t{0});
  values.emplace_back("matrix_instr_nonkdim", int64_t{16});
  values.emplace_back("kpack", int64_t{2});
  values.emplace_back("instruction_sched_variant", "none");
  return Config(std::move(values));
}

/// Collects configs that the rules allow, each once.
class Starts {
 public:
  Starts(const Problem& problem, const DeviceInfo& device)
      : shape_(GemmShape::of(problem)),
        device_(device),
        units_(num_units(device)),
        space_(gemm_space(shape_, device)),
        rules_(space_, problem, device) {}

  /// With as many rows of tiles in a group as there are, and the first number of parts that gives every multiprocessor
  /// a program, or the last one allowed.
  void add(GemmConfig config) {
    while (config.num_stages > 2 && !is_allowed(config)) --config.num_stages;
    for (const int64_t group : {8, 4, 2, 1}) {
      config.group_m = group;
      if (group <= num_pieces(shape_.m, config.block_m) && is_allowed(config)) break;
    }
    const GemmConfig whole = config;
    if (!is_allowed(whole)) return;
    for (const int64_t parts : {2, 4, 8, 16}) {
      if (num_pieces(shape_.m, config.block_m) * num_pieces(shape_.n, config.block_n) * config.split_k >= units_) break;
      GemmConfig more = config;
      more.split_k = parts;
      if (is_allowed(more)) config = more;
    }
    if (const Config text = config_for(device_, config); std::ranges::find(found_, text) == found_.end())
      found_.push_back(text);
  }
  std::vector<Config> take() { return std::move(found_); }

 private:
  bool is_allowed(const GemmConfig& config) const {
    const auto index = space_.index_of(config_for(device_, config));
    return index && rules_.rejects(*index) == nullptr;
  }

  GemmShape shape_;
  const DeviceInfo& device_;
  int64_t units_;
  SearchSpace space_;
  SpaceRules rules_;
  std::vector<Config> found_;
};

}  // namespace

GemmConfig GemmConfig::of(const Config& config) {
  GemmConfig one;
  for (const Number& number : parameters()) {
    one.*number.member = config.integer(number.name);
    if (one.*number.member < 1)
      fail(ErrorCode::invalid_input, "{} must be 1 or more, got {}", number.name, one.*number.member);
  }
  return one;
}

Config GemmConfig::text() const {
  std::vector<std::pair<std::string, Value>> values;
  for (const Number& number : parameters()) values.emplace_back(number.name, this->*number.member);
  return Config(std::move(values));
}

Division::Division(const GemmShape& shape, const GemmConfig& config)
    : num_tiles(num_pieces(shape.m, config.block_m) * num_pieces(shape.n, config.block_n)),
      part_length(num_pieces(num_pieces(shape.k, config.block_k), config.split_k) * config.block_k),
      num_parts(num_pieces(shape.k, part_length)),
      masks_k(shape.k % config.block_k != 0) {}

SearchSpace gemm_space(const GemmShape& shape, const DeviceInfo& device) {
  std::vector<Parameter> all;
  for (const Number& number : parameters())
    all.push_back({.name = number.name, .values = number.values, .binding = number.binding});
  if (is_amd(device)) {
    std::erase_if(all, [](const Parameter& one) { return one.name == "num_stages"; });
    const auto add = [&](const char* name, std::vector<Value> values) {
      all.push_back({.name = name, .values = std::move(values), .binding = Binding::compile_time});
    };
    add("num_stages", numbers({2}));
    add("waves_per_eu", numbers({0}));
    add("matrix_instr_nonkdim", numbers({16, 32}));
    add("kpack", numbers({1, 2}));
    add("instruction_sched_variant", {std::string("none")});
  }
  return SearchSpace::product(std::move(all), launch_rules(), rule_sets_of(shape, device));
}

std::vector<Config> gemm_starts(const Problem& problem, const DeviceInfo& device) {
  const auto shape = GemmShape::of(problem);
  Starts starts(problem, device);
  const auto add = [&](int64_t m, int64_t n, int64_t k, int64_t warps, int64_t stages) {
    starts.add({.block_m = m, .block_n = n, .block_k = k, .num_warps = warps, .num_stages = stages});
  };
  if (shape.in == DType::fp32) {
    if (shape.m > 32) add(64, 64, 32, 8, 3);
    if (shape.m > 16) add(32, 64, 32, 4, 3);
    add(16, 64, 32, 4, 4);
  } else {
    if (shape.m > 64) add(128, 256, 64, 8, 3);
    if (shape.m > 64) add(128, 128, 64, 4, 4);
    if (shape.m > 32) add(64, 256, 64, 4, 4);
    if (shape.m > 32) add(64, 128, 64, 4, 4);
    if (shape.m > 32) add(64, 64, 128, 4, 4);
    if (shape.m > 16) add(32, 64, 128, 4, 4);
    add(16, 64, 128, 4, 4);
    add(16, 32, 256, 4, 3);
    add(16, 128, 64, 4, 5);
  }
  add(16, 16, 32, 1, 3);
  add(16, 16, 16, 1, 1);  // For products that are too small for all others.
  return starts.take();
}

}  // namespace attune::triton
