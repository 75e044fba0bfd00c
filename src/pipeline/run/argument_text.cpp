// SPDX-License-Identifier: MIT
#include "pipeline/run/argument_text.h"

#include <utility>

#include "base/error.h"

namespace attune {
namespace {

constexpr std::string_view kOfShells = ";|&<>()$`\\*?#~!{}[]";

bool is_control(char one) { return static_cast<unsigned char>(one) < ' ' || one == '\x7f'; }

class ArgumentReader {
 public:
  explicit ArgumentReader(std::string_view text) : text_(text) {}

  std::vector<std::string> read() {
    for (; at_ < text_.size(); ++at_) take(text_[at_]);
    end_argument();
    return std::move(arguments_);
  }

 private:
  void take(char one) {
    if (is_control(one))
      fail(ErrorCode::invalid_input,
           "the arguments hold a line end or another control character, put them on one line");
    if (one == ' ') {
      end_argument();
    } else if (one == '\'' || one == '"') {
      take_quoted(one);
    } else if (kOfShells.find(one) != std::string_view::npos) {
      fail(ErrorCode::invalid_input,
           "the arguments are flags of attune tune and no shell reads them: put values with '{}' in single quotes, or "
           "leave it out",
           one);
    } else {
      add(one);
    }
  }

  /// Takes all up to the quote that ends the part. A control character in it is refused, too.
  void take_quoted(char quote) {
    is_inside_ = true;  // '' is an empty argument.
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      const bool is_escape = quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
                             (text_[at_ + 1] == '"' || text_[at_ + 1] == '\\');
      if (is_escape) ++at_;
      if (is_control(text_[at_])) take(text_[at_]);
      add(text_[at_]);
    }
    if (at_ == text_.size())
      fail(ErrorCode::invalid_input, "a quote in the arguments is not closed, add another: {}", quote);
  }

  void add(char one) {
    is_inside_ = true;
    argument_ += one;
  }

  void end_argument() {
    if (is_inside_) arguments_.push_back(std::exchange(argument_, ""));
    is_inside_ = false;
  }

  std::string_view text_;
  size_t at_ = 0;
  bool is_inside_ = false;  ///< Of an argument, which may be empty so far.
  std::string argument_;
  std::vector<std::string> arguments_;
};

}  // namespace

std::vector<std::string> split_arguments(std::string_view text) { return ArgumentReader(text).read(); }

}  // namespace attune
