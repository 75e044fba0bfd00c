// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

/// Largest dimension accepted; products of three dimensions stay far below 2^63.
inline constexpr int64_t kMaxDimension = int64_t{1} << 24;

/// A JSON document in messages.
struct JsonSource {
  std::string file;
  std::string kind;  ///< Expected content: `the config.json of a language model`.
};

/// Parses a document of any origin. Throws invalid_input, with the file and the place, for what is no JSON or is nested
/// deeper than `max_depth` levels.
nlohmann::json parse_json(std::string_view content, const JsonSource& source, int max_depth);

/// Typed access to the fields of one JSON object; `null` counts as absent. Throws invalid_input `config.json: field
/// 'num_attention_heads' …` for values of another type or out of range. The object must outlive it.
class JsonFields {
 public:
  /// `prefix` precedes a field's name in messages: `text_config.`.
  JsonFields(const nlohmann::json& object, JsonSource source, std::string prefix = {});

  bool has(std::string_view field) const;
  std::vector<std::string> names() const;  ///< Names of all fields, ascending.
  std::optional<int64_t> integer(std::string_view field, int64_t min = 1, int64_t max = kMaxDimension) const;
  int64_t required(std::string_view field, int64_t min = 1, int64_t max = kMaxDimension) const;
  std::optional<double> real(std::string_view field) const;  ///< Finite and not negative.
  std::optional<std::string> text(std::string_view field) const;
  std::string required_text(std::string_view field) const;
  bool flag(std::string_view field) const;  ///< False when absent.
  std::vector<std::string> texts(std::string_view field) const;
  std::vector<int64_t> integers(std::string_view field) const;  ///< Values ≥ 0.
  bool is_list(std::string_view field) const;
  std::optional<JsonFields> object(std::string_view field) const;
  /// The objects in an object, in order, whatever their names.
  std::vector<JsonFields> objects(std::string_view field) const;

  /// Throws invalid_input `config.json: field 'x' <wanted>, got '<got>'`.
  [[noreturn]] void refuse(std::string_view field, std::string_view wanted, std::string_view got) const;
  /// Throws invalid_input `config.json: field 'x' is missing; is this <kind>?`.
  [[noreturn]] void refuse_absence(std::string_view field) const;
  const std::string& file() const noexcept { return source_.file; }

 private:
  const nlohmann::json* find(std::string_view field) const;
  [[noreturn]] void refuse_value(std::string_view field, std::string_view wanted, const nlohmann::json& value) const;

  const nlohmann::json& object_;
  JsonSource source_;
  std::string prefix_;
};

}  // namespace attune
