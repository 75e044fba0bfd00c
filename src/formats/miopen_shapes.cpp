// SPDX-License-Identifier: MIT
#include "formats/miopen_shapes.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace attune {

size_t MiopenShapesBuilder::add(Problem problem, size_t line) {
  ++found_.num_keys;
  const auto [place, is_new] = places_.try_emplace(problem.key(), found_.shapes.size());
  if (is_new) found_.shapes.push_back({std::move(problem), line});
  return place->second;
}

void MiopenShapesBuilder::leave_out(size_t line, std::string why) {
  ++found_.num_keys;
  if (found_.num_untunable++ > 0) return;
  first_line_ = line;
  first_reason_ = std::move(why);
}

void MiopenShapesBuilder::add_result(MiopenResult result) {
  if (result_keys_.insert(fmt::format("{} {}", result.shape, result.solver)).second)
    found_.results.push_back(std::move(result));
}

void MiopenShapesBuilder::leave_out_result(size_t line) {
  if (num_untimed_++ == 0) first_untimed_ = line;
}

MiopenShapes MiopenShapesBuilder::take() {
  if (found_.num_untunable > 0)
    found_.notices.push_back(fmt::format("{}:{}: {} without a problem left out, the first because {}{}", file_,
                                         first_line_, counted(found_.num_untunable, "key"), first_reason_,
                                         is_checked_ ? " (attune check lists them)" : ""));
  if (num_untimed_ > 0)
    found_.notices.push_back(fmt::format("{}:{}: {} without a usable time left out", file_, first_untimed_,
                                         counted(num_untimed_, "result")));
  if (found_.shapes.empty()) fail(ErrorCode::invalid_input, "no key of the {} names a problem: '{}'", noun_, file_);
  return std::move(found_);
}

}  // namespace attune
