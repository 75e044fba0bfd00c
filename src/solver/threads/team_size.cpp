// SPDX-License-Identifier: MIT
#include "solver/threads/team_size.h"

#include <algorithm>
#include <cstdint>

namespace attune {
namespace {

constinit TeamSizes shared;

}  // namespace

TeamSizes TeamSizes::make() noexcept {
  TeamSizes made;
  pthread_key_t key{};
  if (pthread_key_create(&key, nullptr) == 0) made.key_ = key;
  return made;
}

int TeamSizes::here() const noexcept {
  return key_ ? std::max(1, static_cast<int>(reinterpret_cast<intptr_t>(pthread_getspecific(*key_)))) : 1;
}

void TeamSizes::set_here(int size) const noexcept {
  if (key_) pthread_setspecific(*key_, reinterpret_cast<void*>(intptr_t{size}));
}

const TeamSizes& team_sizes() noexcept { return shared; }
void share_team_sizes(const TeamSizes& of_process) noexcept { shared = of_process; }

}  // namespace attune
