// SPDX-License-Identifier: MIT
#include "server/http/request_head.h"

#include <string_view>

namespace attune {
namespace {

bool is_token(char byte) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
         kMarks.find(byte) != std::string_view::npos;
}

bool is_control(char byte) { return static_cast<unsigned char>(byte) < ' ' || byte == '\x7f'; }

}  // namespace

bool RequestHead::take(char byte) {
  switch (place_) {
    case Place::request_line:
    case Place::value:
      if (byte == '\r') {
        place_ = Place::line_feed;
        return true;
      }
      return !is_control(byte) || (byte == '\t' && place_ == Place::value);
    case Place::line_start:
      place_ = byte == '\r' ? Place::last_line_feed : Place::name;
      return byte == '\r' || is_token(byte);
    case Place::name:
      if (byte == ':') place_ = Place::value;
      return byte == ':' || is_token(byte);
    case Place::line_feed:
      place_ = Place::line_start;
      return byte == '\n';
    case Place::last_line_feed:
      place_ = Place::end;
      return byte == '\n';
    case Place::end:
      return true;
  }
  return false;
}

}  // namespace attune
