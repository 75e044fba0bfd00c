// SPDX-License-Identifier: MIT
#include "formats/model_config/model_options.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "ops/extent.h"

namespace attune {
namespace {

constexpr size_t kMaxNumbers = 1000;
/// Parses unique numbers such as `1,512,1024`.
std::vector<int64_t> numbers_of(const std::string& text, std::string_view flag) {
  std::vector<int64_t> all;
  const auto pieces = split(text, ',');
  if (pieces.size() > kMaxNumbers)
    fail(ErrorCode::invalid_input, "{} accepts at most {} numbers, got {}", flag, kMaxNumbers, pieces.size());
  for (const std::string_view piece : pieces) {
    const auto number = parse_int(trim(piece));
    if (!number || *number < 1 || *number > kMaxExtent)
      fail(ErrorCode::invalid_input, "{} expects whole numbers from 1 to {}, such as 1,512,4096, got '{}'", flag,
           kMaxExtent, shown(piece));
    if (std::find(all.begin(), all.end(), *number) == all.end()) all.push_back(*number);
  }
  return all;
}

}  // namespace

std::optional<DType> dtype_option(const std::string& text, std::string_view flag) {
  if (text.empty()) return std::nullopt;
  if (const auto dtype = parse_dtype(text)) return dtype;
  fail(ErrorCode::invalid_input, "{} expects a data type such as bf16, fp16 or fp32, got '{}'", flag, text);
}

ModelShapes shapes_of_model(const ModelOptions& options, const std::string& dtype, const std::string& outdtype) {
  ModelShapesOptions how;
  how.tp = options.tp;
  how.tokens = numbers_of(options.nsets, "--nsets");
  how.sequences = numbers_of(options.sequences, "--sequences");
  how.dtype = dtype_option(dtype, "--dtype");
  how.outdtype = dtype_option(outdtype, "--outdtype");
  for (const auto& [type, flag] : {std::pair(how.dtype, "--dtype"), std::pair(how.outdtype, "--outdtype")}) {
    if (type && *type != DType::bf16 && *type != DType::fp16 && *type != DType::fp32)
      fail(ErrorCode::invalid_input,
           "{} is the model's own type, bf16, fp16 or fp32 (quantised weights are its "
           "quantization_config's), got '{}'",
           flag, name(*type));
  }
  return model_shapes(read_model_config(options.folder), how);
}

}  // namespace attune
