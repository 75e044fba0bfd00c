// SPDX-License-Identifier: MIT
#include "formats/model_config/model_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace attune {
namespace {

using testing::StartsWith;

/// The sentence with which a model is refused; the folder does not exist, so that it is refused in any case.
template <typename Change>
std::string refusal(Change&& change, const std::string& dtype = "", const std::string& outdtype = "") {
  ModelOptions options;
  options.folder = "/no/such/model";
  change(options);
  try {
    shapes_of_model(options, dtype, outdtype);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "accepted";
}

TEST(OptionsOfModels, ListsAreWholeNumbers) {
  for (const char* list : {"", "1,", "0", "-1", "1.5", "many"}) {
    EXPECT_THAT(refusal([&](ModelOptions& options) { options.nsets = list; }),
                StartsWith("--nsets expects whole numbers"))
        << list;
  }
  EXPECT_THAT(refusal([](ModelOptions& options) { options.sequences = "x"; }),
              StartsWith("--sequences expects whole numbers"));
  std::string long_list = "1";
  for (int i = 0; i < 1000; ++i) long_list += ",1";
  EXPECT_EQ(refusal([&](ModelOptions& options) { options.nsets = long_list; }),
            "--nsets accepts at most 1000 numbers, got 1001");
}

TEST(OptionsOfModels, TypesAreThoseOfAModel) {
  const auto nothing = [](ModelOptions&) {};
  EXPECT_EQ(refusal(nothing, "int3"), "--dtype expects a data type such as bf16, fp16 or fp32, got 'int3'");
  EXPECT_THAT(refusal(nothing, "bf16", "e4m3fn"), StartsWith("--outdtype is the model's own type, bf16, fp16 or fp32"));
  EXPECT_EQ(dtype_option("fp32", "--dtype"), DType::fp32);
  EXPECT_EQ(dtype_option("", "--dtype"), std::nullopt);
}

}  // namespace
}  // namespace attune
