// SPDX-License-Identifier: MIT
#include "worker/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "process/channel/cbor.h"

namespace attune {
namespace {

using nlohmann::json;
using testing::HasSubstr;

template <typename Number>
using Of = std::numeric_limits<Number>;

constexpr double kInf = Of<double>::infinity();

std::string any_bytes() {
  std::string bytes;
  for (int byte = 255; byte >= 0; --byte) bytes += static_cast<char>(byte);
  return bytes;
}

Candidate candidate() { return {"jit_cpu.gemm", any_bytes(), Config::parse("a=5;order=[b=1;c=2];tile=64")}; }

Outcome outcome() {
  Measurement measurement{.samples = {{Of<float>::denorm_min(), -0.0f, 3, true}, {Of<float>::max(), 0.1f, ~0u, false}},
                          .noisy = true,
                          .median_us = 1.0 / 3,
                          .spread_us = Of<double>::denorm_min(),
                          .workspace_bytes = Of<uint64_t>::max(),
                          .rotation_bytes = 1ull << 63,
                          .timing = Timing::graph,
                          .epoch = ~0u,
                          .dropped_samples = 7};
  return {Status::crashed, "it said: " + any_bytes(), {kInf, -kInf, -0.0}, std::move(measurement)};
}

Protocol protocol() { return {CachePolicy::warm, any_bytes(), Of<uint64_t>::max(), 0.1 + 0.2, Of<double>::max()}; }

Admission admission() {
  const Binary binary{
      "x86-64-v4", "00ff", "gcc-12.2.0", "ab", "/tmp/\xff\xfe dir/k.so", {{"cmd\x80", any_bytes()}, {"", ""}}};
  return {candidate(), {binary, {}}, false, true, {kLongestLimit, Milliseconds(1)}};
}

DeviceInfo device() {
  return {.id = "cpu:0",
          .kind = "host",
          .gfx = "x86-64-v4+bf16+amx",
          .num_units = 2,
          .model = "Processor \xff of a vendor",
          .processor = "",
          .memory_bytes = int64_t{1} << 60,
          .cache_bytes = 0,
          .facts = {{"l2_bytes", (int64_t{1} << 60) - 1}, {"schedstat", 0}},
          .peak_gflops = {{"bf16", 1e308}, {"fp32", 0.1f}},
          .bandwidth_gbs = Of<double>::min()};
}

Contender contender(const std::string& solver, const SearchSpace& space) {
  Contender made;
  made.solver = solver;
  made.version = "1+2.6";
  made.space = space;
  return made;
}

std::vector<Contender> contenders() {
  const std::vector<Parameter> parameters = {
      {"bm", {int64_t{16}, Of<int64_t>::max(), Of<int64_t>::min()}, Binding::compile_time, "", std::nullopt},
      {"name", {std::string("[solver@1:a=b]"), std::string("5")}, Binding::launch_time, "bm == 16", 3}};
  const auto product = SearchSpace::product(parameters, {{"id", "bm * 2 <= device.l2_bytes", "für \"alle\"\n"}});
  const auto listed = SearchSpace::listed({Config::parse("algo=1;split=2"), Config::parse("algo=7")})
                          .with_features({{"algo", "rows", {{int64_t{7}, Of<int64_t>::min()}, {std::string("x"), 1}}}},
                                         {{"work", "algo.rows * problem.m"}});
  const auto one = SearchSpace::product({}, {{"id", "problem.m > 0", ""}});
  const Versions versions = {{"jit_cpu.gemm", "1"}, {any_bytes(), any_bytes()}, {"", ""}};
  std::vector<Contender> all = {contender("jit_cpu.gemm", product), contender("onednn.gemm", {}),
                                contender("listed", listed), contender("", one)};
  all[0].versions = versions;
  all[0].default_config = Config::parse("bm=16");
  all[2].recommended = {Config::parse("algo=7"), Config::parse("algo=1;split=2")};
  all[1].support = Support::no(any_bytes());
  return all;
}

std::vector<Turn> turns() {
  return {{}, {1, 2, 3, Milliseconds(4), Timing::events, false}, {~0u, ~0u, ~0u, kLongestLimit}};
}

std::vector<WorkerRequest> requests() {
  const auto problem = Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0");
  return {request::Hello{},
          request::Hello{"cpu:0", any_bytes(), {0, 7, 4095}, {{3, any_bytes()}}, 0.5, 7, {{"hostcc", "gcc-12.2.0"}}},
          request::Open{},
          request::Open{~0u, problem, protocol(), std::vector<Candidate>{}},
          request::Open{1, problem, protocol(), std::vector{candidate()}},
          request::Close{},
          request::Close{~0u},
          request::Admit{},
          request::Admit{~0u, 5, admission()},
          request::Drop{},
          request::Drop{{~0u, 0, 7}},
          request::Sample{},
          request::Sample{turns()}};
}

TimeUse time_use() {
  TimeUse time;
  for (size_t i = 0; i < kNumActivities; ++i) time.shares[i] = {1.5 + static_cast<double>(i), -1e-300};
  return time;
}

std::vector<Reply> answers() {
  std::vector<Reply> all = {
      reply::Ready{device(), ""},
      reply::Ready{device(), any_bytes()},
      reply::Completion{},
      reply::Failure{},
      OpenAnswer{},
      OpenAnswer{~0u, any_bytes(), true, true, contenders()},
      AdmitAnswer{},
      AdmitAnswer{~0u, outcome(), ~0u, Of<uint64_t>::max(), Of<uint64_t>::max() - 1, Of<uint64_t>::max() - 2},
      AdmitAnswer{.slot = 1, .verified = {}, .timing = Timing::graph},
      AdmitAnswer{.slot = 1, .time = time_use()},
      OpenAnswer{.time = time_use()},
      SampleAnswer{.time = time_use()},
      SampleAnswer{},
      SampleAnswer{
          ~0u, true, turns(), outcome().measurement->samples, Of<uint64_t>::max(), ~0u, {{5, outcome()}, {~0u, {}}}}};
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
    const reply::Failure failed{static_cast<ErrorCode>(code), any_bytes()};
    all.emplace_back(failed);
  }
  for (int status = 0; status <= static_cast<int>(Status::cancelled); ++status) {
    AdmitAnswer admitted;
    admitted.verified.status = static_cast<Status>(status);
    admitted.verified.measurement.emplace();
    all.emplace_back(admitted);
  }
  return all;
}

std::string refusal(const std::function<void()>& read) {
  try {
    read();
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input) << error.what();
    return error.what();
  }
}
std::string request_refusal(const std::string& payload) {
  return refusal([&] { request_from(payload); });
}
std::string answer_refusal(const std::string& payload) {
  return refusal([&] { answer_from(payload); });
}

/// The reader's error for a message with one member replaced (`/samples/0/2`).
template <typename Message>
std::string refusal_with(const Message& message, const std::string& member, const json& value) {
  json changed = decode_cbor(to_payload(message));
  changed.at(json::json_pointer(member)) = value;
  const auto payload = encode_cbor(changed);
  return std::is_same_v<Message, WorkerRequest> ? request_refusal(payload) : answer_refusal(payload);
}

TEST(Messages, RequestsComeBackAsTheyWere) {
  for (const WorkerRequest& request : requests())
    EXPECT_EQ(request_from(to_payload(request)), request) << request.index();
}

TEST(Messages, AnswersComeBackAsTheyWere) {
  for (const Reply& answer : answers()) EXPECT_EQ(answer_from(to_payload(answer)), answer) << answer.index();
}

TEST(Messages, NumbersThatAreNoneKeepTheirBits) {
  for (const uint64_t bits : {0x7ff8000000000000u, 0xfff8000000000000u, 0x7ff8000000000001u, 0xffffffffffffffffu}) {
    AdmitAnswer admitted;
    admitted.verified.errors.cosine = std::bit_cast<double>(uint64_t{bits});
    admitted.verified.measurement.emplace().samples = {{std::bit_cast<float>(0xffc00001u), -0.0f, 1, false}};
    const auto read = std::get<AdmitAnswer>(answer_from(to_payload(Reply(admitted))));
    EXPECT_EQ(std::bit_cast<uint64_t>(read.verified.errors.cosine), bits);
    EXPECT_EQ(std::bit_cast<uint32_t>(read.verified.measurement->samples[0].us), 0xffc00001u);
    EXPECT_TRUE(std::signbit(read.verified.measurement->samples[0].clock));
  }
}

TEST(Messages, ARequestIsNoAnswer) {
  for (const WorkerRequest& request : requests())
    EXPECT_THAT(answer_refusal(to_payload(request)), HasSubstr("unknown type"));
  for (const Reply& answer : answers()) EXPECT_THAT(request_refusal(to_payload(answer)), HasSubstr("unknown type"));
}

template <typename Message>
void expect_all_members_wanted(const std::vector<Message>& messages) {
  for (const Message& message : messages) {
    const json whole = decode_cbor(to_payload(message));
    for (const auto& [member, value] : whole.items()) {
      json less = whole;
      less.erase(member);
      const auto payload = encode_cbor(less);
      const bool asks = std::is_same_v<Message, WorkerRequest>;
      EXPECT_THAT(asks ? request_refusal(payload) : answer_refusal(payload), HasSubstr("'" + member + "'"));
      // No member accepts null, and none accepts both a list and a text.
      EXPECT_NE(refusal_with(message, "/" + member, nullptr), "") << member;
      EXPECT_NE(refusal_with(message, "/" + member, value.is_array() ? json("x") : json::array()), "") << member;
    }
  }
}

TEST(Messages, EachMissingMemberIsNamedAndEachOfAnotherTypeIsRefused) {
  expect_all_members_wanted(requests());
  expect_all_members_wanted(answers());
}

TEST(Messages, NumbersThatDoNotFitAreRefused) {
  const WorkerRequest sample = request::Sample{turns()};
  const auto schedule = decode_cbor(to_payload(sample)).at("schedule").get<std::string>();
  EXPECT_THAT(refusal_with(sample, "/schedule", schedule.substr(1)),
              HasSubstr("items of 22 bytes cannot have 65 bytes"));
  EXPECT_THAT(refusal_with(sample, "/schedule", schedule.substr(0, 12) + std::string(8, '\xff') + std::string(2, '\0')),
              HasSubstr("a limit must be between 0 and 3153600000000 ms, got -1"));
  EXPECT_THAT(refusal_with(sample, "/schedule", schedule.substr(0, 12) + std::string(7, '\0') + "\x7f\1\1"),
              HasSubstr("a limit"));
  EXPECT_THAT(refusal_with(sample, "/schedule", schedule.substr(0, 20) + "\3\1"), HasSubstr("the timing of a turn"));
  EXPECT_THAT(refusal_with(Reply(SampleAnswer{}), "/samples", "x"), HasSubstr("items of 13 bytes"));
  EXPECT_THAT(refusal_with(Reply(AdmitAnswer{}), "/time", std::string(255, '\0')), HasSubstr("has 255 bytes"));
  EXPECT_THAT(refusal_with(Reply(AdmitAnswer{}), "/time", std::string(kNumActivities * 16, '\xff')),
              HasSubstr("is not a number"));
  EXPECT_THAT(refusal_with(WorkerRequest(request::Drop{{0}}), "/slots/0", -1), HasSubstr("from 0 to 2^64 - 1, got -1"));
  EXPECT_THAT(refusal_with(WorkerRequest(request::Drop{{0}}), "/slots/0", uint64_t{1} << 32),
              HasSubstr("got 4294967296"));
  for (const double share : {0.0, -0.5, 1.5})
    EXPECT_THAT(refusal_with(WorkerRequest(request::Hello{}), "/memory_share", share), HasSubstr("a share must be"));
  EXPECT_NE(refusal_with(WorkerRequest(request::Drop{{0}}), "/slots/0", 1.5), "");
  EXPECT_NE(refusal_with(WorkerRequest(request::Drop{}), "/slots", true), "");
  const WorkerRequest admit = request::Admit{1, 2, admission()};
  EXPECT_THAT(refusal_with(admit, "/admission/run_ms", Of<int64_t>::max()), HasSubstr("a limit"));
  const Reply ready = reply::Ready{device(), ""};
  EXPECT_THAT(refusal_with(ready, "/device/cu_num", Of<uint64_t>::max()),
              HasSubstr("a worker's answer: field 'cu_num' expects a whole number from 1"));
  EXPECT_THAT(refusal_with(ready, "/device/facts/l2_bytes", 1e300), HasSubstr("'facts.l2_bytes'"));
  EXPECT_THAT(refusal_with(ready, "/device/model", "a,b"), HasSubstr("one line")) << "it would be cells of a table";
  EXPECT_NE(refusal_with(ready, "/device/peak_gflops", json::array()), "");
  // -1 - 0xffff'ffff'ffff'ffff, which wraps to 0 in 64 bits.
  EXPECT_THAT(request_refusal("\xa1\x64slot\x3b\xff\xff\xff\xff\xff\xff\xff\xff"), HasSubstr("below -2^63"));
}

TEST(Messages, AListOfConfigsArrivesWhateverTheNumberOfItsValues) {
  for (const uint32_t num_values : {255u, 256u, 65535u, 65536u}) {
    ConfigTable::Column column{.name = "tile", .values = {}, .codes = {}};
    for (uint32_t value = 0; value < num_values; ++value) {
      column.values.emplace_back(int64_t{value});
      column.codes.push_back(value + 1);
    }
    const auto space = SearchSpace::listed(ConfigTable(num_values, {column}));
    const Reply sent = OpenAnswer{1, "", false, false, {contender("listed", space)}};
    const Reply came = answer_from(to_payload(sent));
    EXPECT_TRUE(std::get<OpenAnswer>(came).contenders.at(0).space == space) << num_values;
  }
}

TEST(Messages, WordsThatAreNotKnownAreRefusedAndShownHarmless) {
  EXPECT_THAT(refusal_with(Reply(reply::Failure{}), "/code", "\x1b[0m"), HasSubstr("'\\x1b[0m'"));
  EXPECT_THAT(refusal_with(Reply(AdmitAnswer{}), "/verified/status", "fine"), HasSubstr("the status is not known"));
  EXPECT_THAT(refusal_with(WorkerRequest(request::Open{}), "/protocol/cache", "hot"),
              HasSubstr("served, cold or warm, not 'hot'"));
  EXPECT_THAT(refusal_with(WorkerRequest(request::Drop{}), "/type", std::string(1 << 20, 'x')), HasSubstr("x…'"));
  const Reply admitted = AdmitAnswer{1, outcome()};
  EXPECT_THAT(refusal_with(admitted, "/verified/measurement/timing", "sundial"), HasSubstr("the timing"));
  const Reply opened = OpenAnswer{1, "", false, false, contenders()};
  EXPECT_THAT(refusal_with(opened, "/contenders/0/space/parameters/0/binding", "later"), HasSubstr("compile_time"));
}

TEST(Messages, TextsThatMeanNothingAreRefused) {
  EXPECT_NE(refusal_with(WorkerRequest(request::Open{}), "/problem", "gemm m=1 m=2"), "");
  const WorkerRequest admit = request::Admit{1, 2, admission()};
  EXPECT_NE(refusal_with(admit, "/admission/candidate/config", "a=1;a=2"), "");
  const Reply opened = OpenAnswer{1, "", false, false, contenders()};
  EXPECT_NE(refusal_with(opened, "/contenders/0/untuned", "a"), "");
  EXPECT_NE(refusal_with(opened, "/contenders/0/space", json::object()), "");
  EXPECT_NE(refusal_with(opened, "/contenders/0/space/rules/0/reason", "\xff"), "") << "JSON is UTF-8";
}

TEST(Messages, ASpaceWhoseReasonIsNoTextIsTheSendersBug) {
  const auto space = SearchSpace::product({}, {{"id", "1", "\xff"}});
  try {
    to_payload(Reply(OpenAnswer{1, "", false, false, {contender("solver", space)}}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
  }
}

TEST(Messages, TornAnywhereIsRefused) {
  for (const std::string& whole :
       {to_payload(WorkerRequest(request::Admit{1, 2, admission()})), to_payload(answers()[9])}) {
    for (size_t size = 0; size < whole.size(); size += 1 + size / 100) {
      EXPECT_NE(request_refusal(whole.substr(0, size)), "");
      EXPECT_NE(answer_refusal(whole.substr(0, size)), "");
    }
    EXPECT_THAT(request_refusal(whole + '\0'), HasSubstr("bytes after the end"));
  }
}

TEST(Messages, WhatIsChangedIsReadOrRefused) {
  // The frame's checksum finds changes; without it they must cause nothing but an Error.
  const std::string whole = to_payload(Reply(AdmitAnswer{1, outcome()}));
  size_t num_refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char byte : {'\x00', '\x1b', '\x9b'}) {
      std::string changed = whole;
      changed[at] = byte;
      num_refused += answer_refusal(changed).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(num_refused, 100u);
}

TEST(Cbor, NestingIsBounded) {
  std::string nested(kMaxCborDepth, '\x81');
  EXPECT_EQ(refusal([&] { decode_cbor(nested + '\x00'); }), "");
  EXPECT_THAT(refusal([&] { decode_cbor('\x81' + nested + '\x00'); }), HasSubstr("nested too deep"));
  EXPECT_THAT(refusal([] { decode_cbor(std::string(1 << 20, '\x81')); }), HasSubstr("nested too deep"));
  EXPECT_THAT(request_refusal(std::string(1 << 20, '\xa1')), HasSubstr("not valid CBOR"));
  // Many lists side by side are not deep.
  std::string flat = "\x99\x10";
  flat += '\0';
  for (int i = 0; i < 4096; ++i) flat += "\x81\x80";
  EXPECT_EQ(decode_cbor(flat).size(), 4096u);
}

TEST(Cbor, LengthsAreNotBelieved) {
  for (const std::string head : {"\x5b", "\x7b", "\x9b", "\xbb"}) {
    EXPECT_THAT(refusal([&] { decode_cbor(head + "\xff\xff\xff\xff\xff\xff\xff\xff"); }),
                HasSubstr("the end is missing"));
    EXPECT_THAT(refusal([&] { decode_cbor(head + "\x7f\xff\xff\xff\xff\xff\xff\xff"); }),
                HasSubstr("the end is missing"));
  }
}

TEST(Cbor, OnlyWhatJsonHasIsRead) {
  for (const std::string bytes : {"\x9f\xff", "\xbf\xff", "\x5f\xff", "\x7f\xff", "\xff", "\x1c", "\xc0\x60", "\xf7",
                                  "\xf8\x20", "\xe0", "\x41x", "\xa1\x01\x01", ""}) {
    EXPECT_NE(refusal([&] { decode_cbor(bytes); }), "")
        << json(bytes).dump(-1, ' ', true, json::error_handler_t::replace);
  }
  EXPECT_EQ(decode_cbor("\x83\xf4\xf5\xf6"), json::array({false, true, nullptr}));
  EXPECT_EQ(decode_cbor("\x3b\x7f\xff\xff\xff\xff\xff\xff\xff"), Of<int64_t>::min());
}

}  // namespace
}  // namespace attune
