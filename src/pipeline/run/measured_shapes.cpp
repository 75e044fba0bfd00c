// SPDX-License-Identifier: MIT
#include "pipeline/run/measured_shapes.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

std::string shown_file(const std::filesystem::path& file) { return shown(file.string(), 500); }

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return ::fdatasync(descriptor) == 0;
}

}  // namespace

MeasuredShapes::MeasuredShapes(std::filesystem::path file) : file_(std::move(file)) {
  std::error_code missing;
  std::string text;
  if (std::filesystem::exists(file_, missing)) text = read_file(file_);
  const size_t end = text.rfind('\n');
  text.resize(end == std::string::npos ? 0 : end);
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) read_line(line);
  }
  output_ = Descriptor(::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
  const auto whole_bytes = static_cast<off_t>(text.empty() ? 0 : text.size() + 1);
  if (output_.number() < 0 || ::ftruncate(output_.number(), whole_bytes) != 0)
    fail(ErrorCode::io, "cannot write what the run has measured ({}): '{}'", std::strerror(errno), shown_file(file_));
}

void MeasuredShapes::read_line(std::string_view line) {
  ordered_json object = ordered_json::parse(line, nullptr, false);
  try {
    Key key(object.at("step").get<std::string>(), object.at("family").get<std::string>(),
            object.at("shape").at("problem").get<std::string>());
    shapes_.insert_or_assign(std::move(key), std::move(object["shape"]));
  } catch (const nlohmann::json::exception&) {
    fail(ErrorCode::invalid_input, "a line of what the run has measured cannot be read, remove the folder: '{}'",
         shown_file(file_));
  }
}

ordered_json MeasuredShapes::find(std::string_view step, std::string_view family, const std::string& problem) const {
  const auto found = shapes_.find(Key(step, family, problem));
  return found == shapes_.end() ? ordered_json() : found->second;
}

void MeasuredShapes::add(std::string_view step, std::string_view family, const ordered_json& shape) {
  shapes_.insert_or_assign(Key(step, family, shape.at("problem").get<std::string>()), shape);
  const ordered_json line = {{"step", step}, {"family", family}, {"shape", shape}};
  const off_t before_bytes = ::lseek(output_.number(), 0, SEEK_END);
  if (write_all(output_.number(), line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n")) return;
  if (why_unwritten_.empty())
    why_unwritten_ =
        fmt::format("cannot write what the run has measured ({}): '{}'", std::strerror(errno), shown_file(file_));
  // A part of a line would spoil the next one.
  if (before_bytes >= 0 && ::ftruncate(output_.number(), before_bytes) != 0) output_ = Descriptor();
}

}  // namespace attune
