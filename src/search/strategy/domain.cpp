// SPDX-License-Identifier: MIT
#include "search/strategy/domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "search/strategy/space_rules.h"

namespace attune {
namespace {

double distance_of_values(const Parameter& parameter, const Value* a, const Value* b) {
  if (!a || !b) return a == b ? 0 : 1;
  if (*a == *b) return 0;
  if (!number_of(*a) || !number_of(*b)) return 1;
  // Both pointers point into the parameter's list.
  return std::abs(static_cast<double>(a - b)) / static_cast<double>(parameter.values.size() - 1);
}

}  // namespace

struct Domain::Contents {
  Contents(SearchSpace given, const Problem& problem, const DeviceInfo& device, DomainLimits bounds)
      : space(std::move(given)), rules(space, problem, device), limits(bounds) {
    if (space.size() > limits.max_enumerated) return;
    allowed.emplace();
    rules.for_each_config([&](uint64_t index) {
      if (!rules.rejects(index)) allowed->push_back(index);
    });
  }

  SearchSpace space;
  SpaceRules rules;
  DomainLimits limits;
  std::optional<std::vector<uint64_t>> allowed;  ///< Ascending; none if the space is too large to enumerate.
};

Domain::Domain(SearchSpace space, const Problem& problem, const DeviceInfo& device, DomainLimits limits)
    : contents_(std::make_shared<const Contents>(std::move(space), problem, device, limits)) {}

const SearchSpace& Domain::space() const noexcept { return contents_->space; }
const DomainLimits& Domain::limits() const noexcept { return contents_->limits; }
bool Domain::is_enumerated() const noexcept { return contents_->allowed.has_value(); }
uint64_t Domain::size() const noexcept { return is_enumerated() ? contents_->allowed->size() : space().size(); }
uint64_t Domain::index(uint64_t position) const { return is_enumerated() ? (*contents_->allowed)[position] : position; }

bool Domain::contains(uint64_t index) const {
  if (is_enumerated()) return std::binary_search(contents_->allowed->begin(), contents_->allowed->end(), index);
  return index < space().size() && space().canonical(index) == index && !contents_->rules.rejects(index);
}

double Domain::distance(uint64_t a, uint64_t b) const {
  if (space().is_listed()) {
    const ConfigTable& table = space().table();
    const size_t max_size = std::max(table.num_attributes(a), table.num_attributes(b));
    const size_t shared = table.num_shared(a, b);
    return max_size == 0 ? 0 : 1 - static_cast<double>(shared) / static_cast<double>(max_size);
  }
  const auto x = space().values_at(a);
  const auto y = space().values_at(b);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += distance_of_values(space().parameters()[i], x[i], y[i]);
  return sum / static_cast<double>(x.size());
}

uint64_t RandomOrder::draw() {
  const auto value_at = [&](uint64_t position) {
    const auto found = moved_.find(position);
    return found == moved_.end() ? position : found->second;
  };
  const uint64_t drawn = num_drawn_ + random_.below(domain_.size() - num_drawn_);
  const uint64_t result = value_at(drawn);
  moved_[drawn] = value_at(num_drawn_);
  moved_.erase(num_drawn_);
  ++num_drawn_;
  return domain_.index(result);
}

std::optional<uint64_t> RandomOrder::next() {
  for (uint64_t num_rejected = 0; !exhausted(); ++num_rejected) {
    if (num_rejected == domain_.limits().max_rejected) {
      gave_up_ = true;
      break;
    }
    const uint64_t index = draw();
    if (domain_.is_enumerated() || domain_.contains(index)) return index;
  }
  return std::nullopt;
}

std::string RandomOrder::remark() const {
  if (!gave_up_) return "";
  return fmt::format("no more configs are drawn at random, because the rules of the space excluded {} in a row",
                     domain_.limits().max_rejected);
}

}  // namespace attune
