// SPDX-License-Identifier: MIT
#include "worker/messages.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "core/json_values.h"
#include "formats/device_info/device_info.h"
#include "process/channel/cbor.h"

namespace attune {
namespace {

using nlohmann::json;

template <typename Number>
using Of = std::numeric_limits<Number>;

constexpr std::array kErrorCodes = {
    ErrorCode::invalid_input, ErrorCode::not_found, ErrorCode::unavailable, ErrorCode::io,
    ErrorCode::database,      ErrorCode::device,    ErrorCode::timeout,     ErrorCode::internal};

std::string text_from(const json& value) { return value.get<std::string>(); }

ErrorCode error_code_from(const json& value) {
  const auto text = text_from(value);
  for (const ErrorCode code : kErrorCodes) {
    if (name(code) == text) return code;
  }
  fail(ErrorCode::invalid_input, "unknown error code: '{}'", shown(text));
}

/// Deadlines are bounded so that the time can be counted in nanoseconds.
Milliseconds limit_from(int64_t limit) {
  if (limit < 0 || Milliseconds(limit) > kLongestLimit) {
    fail(ErrorCode::invalid_input, "a limit must be between 0 and {} ms, got {}", kLongestLimit.count(), limit);
  }
  return Milliseconds(limit);
}

double share_from(const json& value) {
  const auto share = value.get<double>();
  if (!(share > 0 && share <= 1))
    fail(ErrorCode::invalid_input, "a share must be above 0 and at most 1, got {}", share);
  return share;
}

/// An empty Problem has no text that Problem::parse() accepts.
Problem problem_from(const json& value) {
  const auto key = text_from(value);
  return key.empty() ? Problem() : Problem::parse(key);
}

json json_of(const Binary& binary) {
  return {{"arch", binary.arch},     {"recipe", binary.recipe},      {"toolchain", binary.toolchain},
          {"sha256", binary.sha256}, {"file", binary.file.native()}, {"metadata", binary.metadata}};
}
Binary binary_from(const json& value) {
  return {text_from(value.at("arch")),      text_from(value.at("recipe")),
          text_from(value.at("toolchain")), text_from(value.at("sha256")),
          text_from(value.at("file")),      value.at("metadata").get<std::map<std::string, std::string>>()};
}

/// Turns and samples come by the thousand. Their little-endian bytes in one text are read and written many times faster
/// than a list of numbers.
static_assert(std::endian::native == std::endian::little);
template <typename... Numbers>
void append(std::string& bytes, Numbers... numbers) {
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof(Numbers)), ...);
}
template <typename Number>
Number taken(std::string_view& bytes) {
  Number number{};
  bytes.copy(reinterpret_cast<char*>(&number), sizeof(Number));
  bytes.remove_prefix(sizeof(Number));
  return number;
}

constexpr size_t kTurnBytes = 22, kSampleBytes = 13;

json packed(const std::vector<Turn>& turns) {
  std::string bytes;
  bytes.reserve(turns.size() * kTurnBytes);
  for (const Turn& turn : turns) {
    append(bytes, turn.slot, turn.round, turn.launches, int64_t{turn.limit.count()}, static_cast<uint8_t>(turn.timing),
           uint8_t{turn.has_warm_up});
  }
  return bytes;
}
json packed(const std::vector<Sample>& samples) {
  std::string bytes;
  bytes.reserve(samples.size() * kSampleBytes);
  for (const Sample& sample : samples) append(bytes, sample.us, sample.clock, sample.round, uint8_t{sample.dirty});
  return bytes;
}

json packed(const TimeUse& time) {
  std::string bytes;
  for (const TimeUse::Share& share : time.shares) append(bytes, share.wall_s, share.busy_s);
  return bytes;
}
TimeUse time_from(const json& value) {
  std::string_view bytes = value.get_ref<const std::string&>();
  TimeUse time;
  if (bytes.size() != kNumActivities * 2 * sizeof(double))
    fail(ErrorCode::invalid_input, "the time of a worker has {} bytes", bytes.size());
  for (TimeUse::Share& share : time.shares) share = {taken<double>(bytes), taken<double>(bytes)};
  for (const TimeUse::Share& share : time.shares) {
    if (!std::isfinite(share.wall_s) || !std::isfinite(share.busy_s))
      fail(ErrorCode::invalid_input, "the time of a worker is not a number");
  }
  return time;
}

/// `read` consumes the bytes of one item and returns the item.
template <typename Read>
auto unpacked(const json& value, size_t item_bytes, Read read) {
  std::string_view bytes = value.get_ref<const std::string&>();
  if (bytes.size() % item_bytes != 0)
    fail(ErrorCode::invalid_input, "a list of items of {} bytes cannot have {} bytes", item_bytes, bytes.size());
  std::vector<decltype(read(bytes))> items;
  items.reserve(bytes.size() / item_bytes);
  while (!bytes.empty()) items.push_back(read(bytes));
  return items;
}
std::vector<Turn> turns_from(const json& value) {
  return unpacked(value, kTurnBytes, [](std::string_view& bytes) {
    Turn turn{taken<uint32_t>(bytes), taken<uint32_t>(bytes), taken<uint32_t>(bytes)};
    turn.limit = limit_from(taken<int64_t>(bytes));
    const auto timing = taken<uint8_t>(bytes);
    if (timing > static_cast<uint8_t>(Timing::graph))
      fail(ErrorCode::invalid_input, "the timing of a turn is not known: {}", timing);
    turn.timing = static_cast<Timing>(timing);
    turn.has_warm_up = taken<uint8_t>(bytes) != 0;
    return turn;
  });
}
std::vector<Sample> samples_from(const json& value) {
  return unpacked(value, kSampleBytes, [](std::string_view& bytes) {
    return Sample{taken<float>(bytes), taken<float>(bytes), taken<uint32_t>(bytes), taken<uint8_t>(bytes) != 0};
  });
}

/// Codes that each name one of `num_values` values, or none. Both sides know that number, so each code takes only the
/// bytes it needs.
template <typename Code>
std::string packed_as(const std::vector<uint32_t>& codes) {
  std::string bytes;
  bytes.reserve(codes.size() * sizeof(Code));
  for (const uint32_t code : codes) append(bytes, static_cast<Code>(code));
  return bytes;
}
json packed_codes(const std::vector<uint32_t>& codes, size_t num_values) {
  if (num_values <= Of<uint8_t>::max()) return packed_as<uint8_t>(codes);
  return num_values <= Of<uint16_t>::max() ? packed_as<uint16_t>(codes) : packed_as<uint32_t>(codes);
}
template <typename Code>
std::vector<uint32_t> codes_as(const json& value) {
  return unpacked(value, sizeof(Code), [](std::string_view& bytes) { return uint32_t{taken<Code>(bytes)}; });
}
std::vector<uint32_t> codes_from(const json& value, size_t num_values) {
  if (num_values <= Of<uint8_t>::max()) return codes_as<uint8_t>(value);
  return num_values <= Of<uint16_t>::max() ? codes_as<uint16_t>(value) : codes_as<uint32_t>(value);
}

/// A library's list of configs has a million codes. Other spaces are their JSON text, parsed into a value, so that its
/// nesting is bounded with the rest.
json json_of(const SearchSpace& space) {
  if (!space.is_listed() || !space.search_rules().empty()) return json::parse(space.to_json());
  json columns = json::array();
  for (const ConfigTable::Column& column : space.table().columns()) {
    json values = json::array();
    for (const Value& one : column.values)
      values.push_back(std::visit([](const auto& held) { return json(held); }, one));
    columns.push_back({{"name", column.name},
                       {"values", std::move(values)},
                       {"codes", packed_codes(column.codes, column.values.size())}});
  }
  json listed = {{"rows", space.table().size()}, {"columns", std::move(columns)}};
  // Meanings and features are the JSON of an empty space that has them.
  if (!space.meanings().empty() || !space.features().empty())
    listed["features"] = json::parse(SearchSpace().with_features(space.meanings(), space.features()).to_json());
  return listed;
}
SearchSpace space_from(const json& value) {
  if (!value.contains("rows")) return SearchSpace::from_json(value.dump());
  std::vector<ConfigTable::Column> columns;
  for (const json& one : value.at("columns")) {
    ConfigTable::Column column{.name = text_from(one.at("name")), .values = {}, .codes = {}};
    for (const json& held : one.at("values"))
      column.values.push_back(held.is_string() ? Value(text_from(held)) : Value(int64_from(held)));
    column.codes = codes_from(one.at("codes"), column.values.size());
    columns.push_back(std::move(column));
  }
  const auto space = SearchSpace::listed(ConfigTable(uint64_from(value.at("rows")), std::move(columns)));
  if (!value.contains("features")) return space;
  const auto other = SearchSpace::from_json(value.at("features").dump());
  return space.with_features(other.meanings(), other.features());
}

/// The keys of problems or configs.
template <typename Named>
json keys_of(const std::vector<Named>& all) {
  json keys = json::array();
  for (const Named& one : all) keys.push_back(one.key());
  return keys;
}
std::vector<Config> configs_from(const json& value) {
  std::vector<Config> configs;
  for (const json& one : value) configs.push_back(Config::parse(text_from(one)));
  return configs;
}
std::vector<Problem> problems_from(const json& value) {
  std::vector<Problem> problems;
  for (const json& one : value) problems.push_back(Problem::parse(text_from(one)));
  return problems;
}

json json_of(const Contender& contender) {
  return {{"solver", contender.solver},
          {"version", contender.version},
          {"versions", contender.versions},
          {"supported", contender.support.yes},
          {"reason", contender.support.reason},
          {"space", json_of(contender.space)},
          {"untuned", contender.default_config.key()},
          {"recommended", keys_of(contender.recommended)},
          {"invariant", json_of(contender.invariant)},
          {"parts", keys_of(contender.parts)}};
}
Contender contender_from(const json& value) {
  return {text_from(value.at("solver")),         text_from(value.at("version")),
          value.at("versions").get<Versions>(),  {value.at("supported").get<bool>(), text_from(value.at("reason"))},
          space_from(value.at("space")),         Config::parse(text_from(value.at("untuned"))),
          configs_from(value.at("recommended")), space_from(value.at("invariant")),
          problems_from(value.at("parts"))};
}

json json_of(const std::pair<Slot, Outcome>& failed) { return json::array({failed.first, json_of(failed.second)}); }
std::pair<Slot, Outcome> failed_from(const json& value) {
  return {uint32_from(value.at(0)), outcome_from(value.at(1))};
}

/// Reads a list; `read` converts one item.
template <typename Read>
auto list_from(const json& value, Read read) {
  std::vector<decltype(read(value))> items;
  for (const json& item : value.get_ref<const json::array_t&>()) items.push_back(read(item));
  return items;
}
template <typename Item>
json json_of(const std::vector<Item>& items) {
  json list = json::array();
  for (const Item& item : items) list.push_back(json_of(item));
  return list;
}

json json_of(const Admission& admission) {
  return {{"candidate", json_of(admission.candidate)},
          {"binaries", json_of(admission.binaries)},
          {"verify", admission.verify},
          {"twice", admission.twice},
          {"load_ms", admission.limits.load.count()},
          {"run_ms", admission.limits.run.count()},
          {"must_meet", admission.must_meet},
          {"output", admission.output}};
}
Admission admission_from(const json& value) {
  return {candidate_from(value.at("candidate")),
          list_from(value.at("binaries"), binary_from),
          value.at("verify").get<bool>(),
          value.at("twice").get<bool>(),
          {limit_from(int64_from(value.at("load_ms"))), limit_from(int64_from(value.at("run_ms")))},
          value.at("must_meet").get<bool>(),
          text_from(value.at("output"))};
}

json json_of(const std::map<uint32_t, std::string>& skipped) {
  json list = json::array();
  for (const auto& [place, why] : skipped) list.push_back(json::array({place, why}));
  return list;
}
std::map<uint32_t, std::string> skipped_solvers_from(const json& value) {
  std::map<uint32_t, std::string> skipped;
  for (const json& one : value.get_ref<const json::array_t&>())
    skipped.emplace(uint32_from(one.at(0)), text_from(one.at(1)));
  return skipped;
}

json json_of(const request::Hello& hello) {
  return {{"type", "hello"},
          {"device", hello.device},
          {"build", hello.build},
          {"cores", hello.cores},
          {"skipped_solvers", json_of(hello.skipped)},
          {"memory_share", hello.memory_share},
          {"memory_reserve", hello.memory_reserve},
          {"stored_toolchains", hello.stored_toolchains}};
}
json json_of(const request::Open& open) {
  return {{"type", "open"},
          {"id", open.id},
          {"problem", open.problem.key()},
          {"protocol", json_of(open.protocol)},
          {"is_limited", open.candidates.has_value()},
          {"candidates", json_of(open.candidates.value_or(std::vector<Candidate>{}))}};
}
json json_of(const request::Close& close) { return {{"type", "close"}, {"id", close.id}}; }
json json_of(const request::Admit& admit) {
  return {{"type", "admit"}, {"id", admit.id}, {"slot", admit.slot}, {"admission", json_of(admit.admission)}};
}
json json_of(const request::Drop& drop) { return {{"type", "drop"}, {"slots", drop.slots}}; }
json json_of(const request::Sample& sample) {
  return {{"type", "sample"}, {"schedule", packed(sample.schedule)}, {"recheck", sample.recheck}};
}

json json_of(const reply::Ready& ready) {
  return {{"type", "ready"},
          {"device", json(device_json(ready.device))},
          {"build", ready.build},
          {"free_bytes", ready.free_bytes}};
}
json json_of(const reply::Completion&) { return json::object({{"type", "done"}}); }
json json_of(const reply::Failure& failed) {
  return {{"type", "failed"}, {"code", name(failed.code)}, {"message", failed.message}};
}
json json_of(const OpenAnswer& opened) {
  return {{"type", "opened"},
          {"id", opened.problem},
          {"refused", opened.refused},
          {"busy", opened.busy},
          {"lacks_memory", opened.lacks_memory},
          {"contenders", json_of(opened.contenders)},
          {"time", packed(opened.time)}};
}
json json_of(const AdmitAnswer& admitted) {
  return {{"type", "admitted"},
          {"slot", admitted.slot},
          {"verified", json_of(admitted.verified)},
          {"batch", admitted.batch},
          {"workspace_bytes", admitted.workspace_bytes},
          {"rotation_bytes", admitted.rotation_bytes},
          {"launches", admitted.launches},
          {"bandwidth_gbs", admitted.bandwidth_gbs},
          {"corrupted", admitted.corrupted},
          {"lacks_memory", admitted.lacks_memory},
          {"states", text(admitted.states)},
          {"output", admitted.output},
          {"timing", name(admitted.timing)},
          {"time", packed(admitted.time)}};
}
json json_of(const SampleAnswer& sampled) {
  return {{"type", "sampled"},
          {"epoch", sampled.epoch},
          {"interrupted", sampled.interrupted},
          {"turns", packed(sampled.turns)},
          {"samples", packed(sampled.samples)},
          {"launches", sampled.launches},
          {"dropped", sampled.dropped},
          {"failed", json_of(sampled.failed)},
          {"suspect", sampled.suspect},
          {"time", packed(sampled.time)}};
}

WorkerRequest request_of(const json& value) {
  const auto type = text_from(value.at("type"));
  if (type == "hello") {
    return request::Hello{text_from(value.at("device")),
                          text_from(value.at("build")),
                          list_from(value.at("cores"), uint32_from),
                          skipped_solvers_from(value.at("skipped_solvers")),
                          share_from(value.at("memory_share")),
                          uint64_from(value.at("memory_reserve")),
                          value.at("stored_toolchains").get<Toolchains>()};
  }
  if (type == "open") {
    request::Open open{uint32_from(value.at("id")), problem_from(value.at("problem")),
                       protocol_from(value.at("protocol")), list_from(value.at("candidates"), candidate_from)};
    if (!value.at("is_limited").get<bool>()) open.candidates.reset();
    return open;
  }
  if (type == "close") return request::Close{uint32_from(value.at("id"))};
  if (type == "admit") {
    return request::Admit{uint32_from(value.at("id")), uint32_from(value.at("slot")),
                          admission_from(value.at("admission"))};
  }
  if (type == "drop") return request::Drop{list_from(value.at("slots"), uint32_from)};
  if (type == "sample") return request::Sample{turns_from(value.at("schedule")), value.at("recheck").get<bool>()};
  fail(ErrorCode::invalid_input, "unknown type of request: '{}'", shown(type));
}

Reply answer_of(const json& value) {
  const auto type = text_from(value.at("type"));
  if (type == "ready")
    return reply::Ready{device_from_json(value.at("device"), "a worker's answer"), text_from(value.at("build")),
                        uint64_from(value.at("free_bytes"))};
  if (type == "done") return reply::Completion{};
  if (type == "failed") return reply::Failure{error_code_from(value.at("code")), text_from(value.at("message"))};
  if (type == "opened") {
    return OpenAnswer{.problem = uint32_from(value.at("id")),
                      .refused = text_from(value.at("refused")),
                      .busy = value.at("busy").get<bool>(),
                      .lacks_memory = value.at("lacks_memory").get<bool>(),
                      .contenders = list_from(value.at("contenders"), contender_from),
                      .time = time_from(value.at("time"))};
  }
  if (type == "admitted") {
    return AdmitAnswer{uint32_from(value.at("slot")),
                       outcome_from(value.at("verified")),
                       uint32_from(value.at("batch")),
                       uint64_from(value.at("workspace_bytes")),
                       uint64_from(value.at("rotation_bytes")),
                       uint64_from(value.at("launches")),
                       real_from(value.at("bandwidth_gbs")),
                       value.at("corrupted").get<bool>(),
                       value.at("lacks_memory").get<bool>(),
                       parse_requirement(text_from(value.at("states"))),
                       text_from(value.at("output")),
                       timing_from(value.at("timing")),
                       time_from(value.at("time"))};
  }
  if (type == "sampled") {
    return SampleAnswer{.epoch = uint32_from(value.at("epoch")),
                        .interrupted = value.at("interrupted").get<bool>(),
                        .turns = turns_from(value.at("turns")),
                        .samples = samples_from(value.at("samples")),
                        .launches = uint64_from(value.at("launches")),
                        .dropped = uint32_from(value.at("dropped")),
                        .failed = list_from(value.at("failed"), failed_from),
                        .suspect = value.at("suspect").get<bool>(),
                        .time = time_from(value.at("time"))};
  }
  fail(ErrorCode::invalid_input, "unknown type of answer: '{}'", shown(type));
}

template <typename Message>
std::string payload_of(const Message& message) {
  try {
    return encode_cbor(std::visit([](const auto& one) { return json_of(one); }, message));
  } catch (const json::exception& error) {
    // Only the text of a search space can be unwritable: a rule whose reason is not UTF-8.
    fail(ErrorCode::internal, "a message of the worker's channel cannot be written: {}", error.what());
  }
}

template <typename Read>
auto message_from(std::string_view payload, Read read) {
  try {
    return read(decode_cbor(payload));
  } catch (const json::exception& error) {
    fail(ErrorCode::invalid_input, "a message of the worker's channel cannot be read: {}", error.what());
  }
}

}  // namespace

std::string to_payload(const WorkerRequest& request) { return payload_of(request); }
std::string to_payload(const Reply& answer) { return payload_of(answer); }
WorkerRequest request_from(std::string_view payload) { return message_from(payload, request_of); }
Reply answer_from(std::string_view payload) { return message_from(payload, answer_of); }

bool fits(const WorkerRequest& request, const Reply& answer) {
  if (std::holds_alternative<reply::Failure>(answer)) return true;
  if (std::holds_alternative<request::Hello>(request)) return std::holds_alternative<reply::Ready>(answer);
  if (const auto* open = std::get_if<request::Open>(&request)) {
    const auto* opened = std::get_if<OpenAnswer>(&answer);
    return opened != nullptr && opened->problem == open->id;
  }
  if (const auto* admit = std::get_if<request::Admit>(&request)) {
    const auto* admitted = std::get_if<AdmitAnswer>(&answer);
    return admitted != nullptr && admitted->slot == admit->slot;
  }
  if (std::holds_alternative<request::Sample>(request)) {
    const auto* sampled = std::get_if<SampleAnswer>(&answer);
    return sampled != nullptr && sampled->turns.size() == sampled->samples.size();
  }
  return std::holds_alternative<reply::Completion>(answer);
}

}  // namespace attune
