// SPDX-License-Identifier: MIT
#include "server/serve.h"

extern "C" __attribute__((visibility("default"))) void attune_serve(
    const attune::ServerSettings& settings, const std::atomic<bool>& is_over,
    const std::function<void(const attune::ServedAt& where)>& is_ready) {
  attune::serve(settings, is_over, is_ready);
}
