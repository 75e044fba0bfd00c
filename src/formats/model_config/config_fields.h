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

/// Typed access to the fields of one JSON object; `null` counts as absent. Throws invalid_input `config.json: field
/// 'num_attention_heads' …` for values of another type or out of range. The object must outlive it.
class ConfigFields {
 public:
  /// `prefix` precedes a field's name in messages: `text_config.`.
  ConfigFields(const nlohmann::json& object, std::string file, std::string prefix = {});

  bool has(std::string_view field) const;
  std::optional<int64_t> integer(std::string_view field, int64_t min = 1, int64_t max = kMaxDimension) const;
  int64_t required(std::string_view field) const;
  std::optional<std::string> text(std::string_view field) const;
  bool flag(std::string_view field) const;  ///< False when absent.
  std::vector<std::string> texts(std::string_view field) const;
  std::vector<int64_t> integers(std::string_view field) const;  ///< Values ≥ 0.
  bool is_list(std::string_view field) const;
  std::optional<ConfigFields> object(std::string_view field) const;
  /// The objects in an object, in order, whatever their names.
  std::vector<ConfigFields> objects(std::string_view field) const;

  /// Throws invalid_input `config.json: field 'x' <wanted>, got '<got>'`.
  [[noreturn]] void refuse(std::string_view field, std::string_view wanted, std::string_view got) const;
  const std::string& file() const noexcept { return file_; }

 private:
  const nlohmann::json* find(std::string_view field) const;
  [[noreturn]] void refuse_value(std::string_view field, std::string_view wanted, const nlohmann::json& value) const;

  const nlohmann::json& object_;
  std::string file_, prefix_;
};

}  // namespace attune
