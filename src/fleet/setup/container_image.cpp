// SPDX-License-Identifier: MIT
#include "fleet/setup/container_image.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/variable.h"

namespace attune {
namespace {

constexpr const char* kVariable = "ATTUNE_IMAGE_DIGEST";
constexpr size_t kMaxDigest = 255, kMaxFileBytes = 64 << 10;

bool is_digest(std::string_view text) {
  return text.size() <= kMaxDigest && std::ranges::all_of(text, [](char one) { return one > ' ' && one < 0x7f; });
}

}  // namespace

std::string container_image(const std::filesystem::path& file) {
  if (const char* stated = variable_or_null(kVariable)) {
    if (!is_digest(stated))
      fail(ErrorCode::invalid_input, "{} expects a digest such as sha256:1f0c66d2, without blanks: '{}'", kVariable,
           shown(stated));
    return stated;
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return {};
  std::string text;
  try {
    text = read_file(file, kMaxFileBytes);
  } catch (const Error&) {
    return {};
  }
  for (const std::string_view line : split(text, '\n')) {
    constexpr std::string_view kName = "imageid=";
    if (!line.starts_with(kName)) continue;
    std::string_view id = trim(line.substr(kName.size()));
    if (id.size() >= 2 && id.front() == '"' && id.back() == '"') id = id.substr(1, id.size() - 2);
    if (id.empty() || !is_digest(id)) return {};
    return id.starts_with("sha256:") ? std::string(id) : "sha256:" + std::string(id);
  }
  return {};
}

std::string image_difference(const FleetSession& session, const std::string& image) {
  const std::string& first = session.custody.image;
  if (first.empty() || first == image) return {};
  return fmt::format("session {} was begun in the container image {}, and this is {}", session.id, first,
                     image.empty() ? "none that is known: ATTUNE_IMAGE_DIGEST states one" : image);
}

}  // namespace attune
