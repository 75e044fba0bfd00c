// SPDX-License-Identifier: MIT
#include "formats/device_info/device_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace attune {
namespace {

using nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;

DeviceInfo described_device() {
  return {.id = "cpu:0",
          .kind = "host",
          .gfx = "x86-64-v4+bf16+amx",
          .num_units = 56,
          .model = "Intel(R) Xeon(R) Platinum 8480+",
          .processor = "GenuineIntel/6/143/8 avx2 avx512f amx_bf16",
          .memory_bytes = int64_t{512} << 30,
          .cache_bytes = 110100480,
          .facts = {{"num_units", 56}, {"l2_bytes", 2 << 20}},
          .peak_gflops = {{"fp32", 23296.125}, {"bf16", 745472}},
          .bandwidth_gbs = 0.1};
}

std::string device_refusal(const std::string& content) {
  try {
    parse_device_info(content, "d.json");
    return "nothing was thrown";
  } catch (const Error& error) {
    return std::string(name(error.code())) + ": " + error.what();
  }
}

/// The refusal of the device with one field changed.
std::string refusal_with(const std::string& field, const ordered_json& value) {
  ordered_json device = device_json(described_device());
  device[field] = value;
  return device_refusal(device.dump());
}

TEST(DeviceInfoFile, HasEveryFieldOfADevice) {
  const auto read = parse_device_info(device_json(described_device()).dump(), "d.json");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read.front(), described_device());
  EXPECT_EQ(read.front().fingerprint(), described_device().fingerprint());
}

TEST(DeviceInfoFile, MayBeAListOfDevices) {
  DeviceInfo other = described_device();
  other.id = "fake:0";
  const ordered_json list = {device_json(described_device()), device_json(other)};
  EXPECT_EQ(parse_device_info(list.dump(2), "d.json"), (std::vector{described_device(), other}));
}

TEST(DeviceInfoFile, MayLackWhatIsMeasuredAndHaveWhatIsNotKnown) {
  ordered_json device = device_json(described_device());
  device.erase("peak_gflops");
  device.erase("bandwidth_gbs");
  device["colour"] = "blue";
  EXPECT_EQ(parse_device_info(device.dump(), "d.json").front().fingerprint(), described_device().fingerprint());
  EXPECT_EQ(device["fingerprint"], described_device().fingerprint());
}

TEST(DeviceInfoFile, LacksNothingThatAKernelCanDependOn) {
  for (const char* field :
       {"id", "kind", "gfx", "cu_num", "model", "processor", "memory_bytes", "cache_bytes", "facts"}) {
    ordered_json device = device_json(described_device());
    device.erase(field);
    EXPECT_THAT(device_refusal(device.dump()),
                HasSubstr(std::string("invalid_input: d.json: field '") + field + "' is missing; is this a device of"));
  }
}

TEST(DeviceInfoFile, OfValuesThatNoDeviceHasIsRefusedWithTheField) {
  EXPECT_THAT(refusal_with("cu_num", 0), HasSubstr("d.json: field 'cu_num' expects a whole number from 1 to 1048576"));
  EXPECT_THAT(refusal_with("cu_num", int64_t{1} << 62), HasSubstr("'cu_num'"));
  EXPECT_THAT(refusal_with("cu_num", 2.5), HasSubstr("got '2.5'"));
  EXPECT_THAT(refusal_with("gfx", "../../etc"), HasSubstr("field 'gfx' expects a name"));
  EXPECT_THAT(refusal_with("gfx", ".new"), HasSubstr("field 'gfx' expects a name"));
  EXPECT_THAT(refusal_with("model", "a,b"), HasSubstr("field 'model' expects one line"));
  EXPECT_THAT(refusal_with("processor", "a\nb"), HasSubstr("field 'processor' expects one line"));
  EXPECT_THAT(refusal_with("facts", {{"l2_bytes", -1}}), HasSubstr("field 'facts.l2_bytes' expects a whole number"));
  EXPECT_THAT(refusal_with("facts", {{"l2 bytes", 1}}), HasSubstr("field 'facts' expects names"));
  EXPECT_THAT(refusal_with("facts", 3), HasSubstr("field 'facts' expects an object"));
  EXPECT_THAT(refusal_with("peak_gflops", {{"fp32", "fast"}}), HasSubstr("field 'peak_gflops.fp32'"));
}

TEST(DeviceInfoFile, OfAnotherKindIsRefusedWithThePlace) {
  const auto one = device_json(described_device());
  EXPECT_THAT(device_refusal("{\"id\": }"), AllOf(HasSubstr("d.json: not JSON"), HasSubstr("near byte 8")));
  EXPECT_THAT(device_refusal("[]"), HasSubstr("d.json: expected one device, or a list of them"));
  EXPECT_THAT(device_refusal("7"), HasSubstr("got number"));
  EXPECT_THAT(device_refusal(ordered_json::array({one, 7}).dump()), HasSubstr("item 1 is of type number"));
  EXPECT_THAT(device_refusal(ordered_json::array({one, one}).dump()), HasSubstr("'[1].id' is the id of two devices"));
  EXPECT_THAT(device_refusal(std::string(100, '[')), HasSubstr("nested deeper"));
}

}  // namespace
}  // namespace attune
