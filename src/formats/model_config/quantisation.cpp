// SPDX-License-Identifier: MIT
// Fields of `quantization_config`: huggingface/transformers, src/transformers/utils/quantization_config.py (fp8, mxfp4,
// fbgemm_fp8); compressed-tensors, quant_config.py and quant_args.py; AMD Quark's and NVIDIA ModelOpt's exports.
#include "formats/model_config/quantisation.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "formats/json_fields.h"

namespace attune {
namespace {

// A list that names every expert of every layer has some ten thousand entries.
constexpr size_t kMaxEntries = 200'000, kMaxEntryBytes = 500;
constexpr std::string_view kRemedy =
    "expects a method that a family of tables supports; remove the field for the shapes of the model in its own type";

/// Translates `re:^model\.layers\.\d+.*self_attn` to `model.layers.**self_attn`. Syntax without a translation stays,
/// with a character that no name contains.
std::string plain_pattern(std::string_view entry) {
  if (!entry.starts_with("re:")) return std::string(entry);
  static constexpr std::pair<std::string_view, std::string_view> kPieces[] = {
      {".*", "*"}, {"\\d+", "*"}, {"[0-9]+", "*"}, {"\\.", "."}, {"^", ""}, {"$", ""}, {"*", "+"}};
  std::string text;
  for (entry.remove_prefix(3); !entry.empty();) {
    const auto piece = std::find_if(std::begin(kPieces), std::end(kPieces),
                                    [&](const auto& one) { return entry.starts_with(one.first); });
    text += piece == std::end(kPieces) ? entry.substr(0, 1) : piece->second;
    entry.remove_prefix(piece == std::end(kPieces) ? 1 : piece->first.size());
  }
  return text;
}

/// Splits `re:a(b|c)` into `re:ab`, `re:ac`; returns an entry without such a choice unchanged.
std::vector<std::string> choices_of(const std::string& entry) {
  const size_t open = entry.find('('), close = entry.find(')', open == std::string::npos ? 0 : open);
  if (!entry.starts_with("re:") || open == std::string::npos || close == std::string::npos) return {entry};
  std::vector<std::string> all;
  for (const std::string_view choice : split(std::string_view(entry).substr(open + 1, close - open - 1), '|'))
    all.push_back(entry.substr(0, open) + std::string(choice) + entry.substr(close + 1));
  return all;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// True if a part of a pattern matches a part of a name; `*` at its ends matches anything.
bool same_part(std::string_view pattern, std::string_view name) {
  const size_t first = pattern.find_first_not_of('*');
  if (first == std::string_view::npos) return true;
  const size_t last = pattern.find_last_not_of('*');
  const std::string_view literal = pattern.substr(first, last - first + 1);
  if (first > 0 && last + 1 < pattern.size()) return name.find(literal) != std::string_view::npos;
  if (first > 0) return name.ends_with(literal);
  return last + 1 < pattern.size() ? name.starts_with(literal) : name == literal;
}

/// True: `parts` follow one another in `module`. False: they name a part of it (`mlp.experts.3.up_proj` of
/// `mlp.experts`). nullopt: they name something else.
std::optional<bool> matches_whole(const std::vector<std::string_view>& parts,
                                  const std::vector<std::string_view>& module) {
  for (size_t begin = 0; begin < module.size(); ++begin) {
    size_t i = 0;
    while (i < parts.size() && begin + i < module.size() && same_part(parts[i], module[begin + i])) ++i;
    if (i == parts.size()) return true;
    if (begin + i == module.size() && begin == 0) return false;
  }
  return std::nullopt;
}

PlainModules kept_by(std::string_view entry, std::string_view module) {
  if (!Quantisation::understood(entry)) return PlainModules::nowhere;
  const std::string text = plain_pattern(entry);
  std::vector<std::string_view> parts = split(text, '.');
  bool one_layer = false;
  const auto layers = std::find(parts.begin(), parts.end(), "layers");
  if (layers != parts.end()) {
    auto rest = layers + 1;
    if (rest != parts.end() && (is_number(*rest) || *rest == "*")) one_layer = *rest++ != "*";
    parts.erase(parts.begin(), rest);
    if (parts.empty() && one_layer && module != "lm_head") return PlainModules::in_some_layers;
  }
  while (!parts.empty() && parts.front() == "*") parts.erase(parts.begin());
  while (!parts.empty() && parts.back() == "*") parts.pop_back();
  if (parts.empty()) return PlainModules::nowhere;
  const auto whole = matches_whole(parts, split(module, '.'));
  if (!whole) return PlainModules::nowhere;
  return one_layer || !*whole ? PlainModules::in_some_layers : PlainModules::everywhere;
}

bool is_block_of_128(const JsonFields& fields, std::string_view field) {
  return fields.integers(field) == std::vector<int64_t>{128, 128};
}

/// Format of `fp8` with or without blocks, as in DeepSeek-V3 and Qwen3-…-FP8.
WeightFormat format_of_fp8(const JsonFields& fields) {
  if (!fields.has("weight_block_size")) return WeightFormat::fp8_tensor;
  if (is_block_of_128(fields, "weight_block_size")) return WeightFormat::fp8_blocks;
  fields.refuse("weight_block_size", "expects [128, 128], the only blocks that tables support", "other blocks");
}

/// Format of one group of compressed-tensors.
WeightFormat format_of_group(const JsonFields& group) {
  const auto weights = group.object("weights");
  if (!weights) group.refuse("weights", kRemedy, "none");
  const int64_t bits = weights->integer("num_bits").value_or(0);
  const std::string type = weights->text("type").value_or(""), strategy = weights->text("strategy").value_or("");
  const bool whole_activations = !group.has("input_activations");
  const int64_t group_size = weights->integer("group_size", -1).value_or(0);
  if (bits == 4 && type == "int" && group_size == 32 && whole_activations) return WeightFormat::int4_experts;
  if (bits == 4 && type == "float" && group_size == 32)
    return whole_activations ? WeightFormat::mxfp4_experts : WeightFormat::mxfp4;
  if (bits == 8 && !whole_activations) {
    if (type == "int" && (strategy == "channel" || strategy == "tensor")) return WeightFormat::int8_channels;
    if (type == "float" && strategy == "channel") return WeightFormat::fp8_channels;
    if (type == "float" && strategy == "tensor") return WeightFormat::fp8_tensor;
    if (type == "float" && strategy == "block" && is_block_of_128(*weights, "block_structure"))
      return WeightFormat::fp8_blocks;
  }
  weights->refuse(
      "num_bits", kRemedy,
      fmt::format("{} bits, {}, {}{}", bits, type, strategy, whole_activations ? ", activations not quantised" : ""));
}

WeightFormat format_of_compressed_tensors(const JsonFields& fields) {
  std::optional<WeightFormat> format;
  for (const JsonFields& group : fields.objects("config_groups")) {
    const WeightFormat own = format_of_group(group);
    if (format && *format != own) fields.refuse("config_groups", kRemedy, "groups of different kinds");
    format = own;
  }
  if (!format) fields.refuse("config_groups", kRemedy, "none");
  return *format;
}

WeightFormat format_of_quark(const JsonFields& fields) {
  const auto config = fields.object("global_quant_config");
  const auto weight = config ? config->object("weight") : std::nullopt;
  if (!weight) fields.refuse("global_quant_config", kRemedy, "no weight");
  const std::string dtype = weight->text("dtype").value_or(""), scheme = weight->text("qscheme").value_or("");
  if (dtype == "fp4" && weight->integer("group_size", -1).value_or(0) == 32) return WeightFormat::mxfp4;
  if (dtype == "fp8_e4m3" && scheme == "per_tensor") return WeightFormat::fp8_tensor;
  if (dtype == "fp8_e4m3" && scheme == "per_channel") return WeightFormat::fp8_channels;
  if (dtype == "int8" && scheme == "per_channel") return WeightFormat::int8_channels;
  weight->refuse("dtype", kRemedy, dtype + " " + scheme);
}

WeightFormat format_of(const JsonFields& fields) {
  const std::string method = fields.text("quant_method").value_or("");
  if (method == "fp8") return format_of_fp8(fields);
  if (method == "fbgemm_fp8") return WeightFormat::fp8_channels;
  // GPT-OSS converts only the experts (transformers, integrations/mxfp4.py).
  if (method == "mxfp4") return WeightFormat::mxfp4_experts;
  if (method == "compressed-tensors") return format_of_compressed_tensors(fields);
  if (method == "quark") return format_of_quark(fields);
  if (method == "modelopt" && fields.text("quant_algo").value_or("") == "FP8") return WeightFormat::fp8_tensor;
  fields.refuse("quant_method", kRemedy, method.empty() ? "none" : method);
}

}  // namespace

bool Quantisation::understood(std::string_view entry) {
  const std::string text = plain_pattern(entry);
  return text.find_first_of("[](){}|+?\\") == std::string::npos;
}

PlainModules Quantisation::kept_of(std::string_view module) const {
  PlainModules widest = PlainModules::nowhere;
  for (const std::string& entry : kept) widest = std::max(widest, kept_by(entry, module));
  return widest;
}

Quantisation read_quantisation(const JsonFields& fields) {
  Quantisation quantisation{format_of(fields), {}};
  for (const std::string_view field :
       {"modules_to_not_convert", "ignored_layers", "ignore", "exclude", "exclude_modules"}) {
    for (const std::string& entry : fields.texts(field)) {
      if (entry.size() > kMaxEntryBytes)
        fields.refuse(field, fmt::format("expects names of at most {} bytes", kMaxEntryBytes), entry);
      for (std::string& choice : choices_of(entry)) quantisation.kept.push_back(std::move(choice));
      if (quantisation.kept.size() > kMaxEntries)
        fields.refuse(field, fmt::format("expects at most {} names", kMaxEntries), "more");
    }
  }
  return quantisation;
}

}  // namespace attune
