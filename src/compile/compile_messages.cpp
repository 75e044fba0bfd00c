// SPDX-License-Identifier: MIT
#include "compile/compile_messages.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "process/channel/cbor.h"

namespace attune {
namespace {

using nlohmann::json;

/// Calls `read` with the decoded payload; a missing member or one of another type is an invalid message.
template <typename Read>
auto decoded(std::string_view payload, const Read& read) {
  const json value = decode_cbor(payload);
  try {
    return read(value);
  } catch (const json::exception&) {
    fail(ErrorCode::invalid_input, "a message between a pool and its helper is not one of theirs");
  }
}

}  // namespace

std::string to_payload(const CompileTask& task) {
  return encode_cbor({{"compiler", task.compiler},
                      {"source", task.source},
                      {"arch", task.arch},
                      {"options", task.options},
                      {"entries", task.entries},
                      {"candidate", task.candidate}});
}

std::string to_payload(const LibraryOutput& output) {
  return encode_cbor({{"is_compiled", output.is_compiled},
                      {"binary", output.binary},
                      {"log", output.log},
                      {"toolchain", output.toolchain},
                      {"is_rejected", output.is_rejected}});
}

CompileTask compile_task_from(std::string_view payload) {
  return decoded(payload, [](const json& value) {
    return CompileTask{.compiler = value.at("compiler"),
                       .source = value.at("source"),
                       .arch = value.at("arch"),
                       .options = value.at("options").get<std::vector<std::string>>(),
                       .entries = value.at("entries").get<std::vector<std::string>>(),
                       .candidate = value.at("candidate")};
  });
}

LibraryOutput library_output_from(std::string_view payload) {
  return decoded(payload, [](const json& value) {
    return LibraryOutput{.is_compiled = value.at("is_compiled"),
                         .binary = value.at("binary"),
                         .log = value.at("log"),
                         .toolchain = value.at("toolchain"),
                         .is_rejected = value.at("is_rejected")};
  });
}

}  // namespace attune
