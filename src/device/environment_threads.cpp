// SPDX-License-Identifier: MIT
#include "device/environment_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "base/variable.h"

namespace attune {
namespace {

/// Returns 0 unless the text is a positive number.
int64_t positive(std::string_view text) { return std::max<int64_t>(0, parse_int(trim(text)).value_or(0)); }

}  // namespace

EnvironmentThreads environment_threads() {
  EnvironmentThreads stated;
  const auto lower = [&](int64_t threads) {
    if (threads > 0 && (stated.threads == 0 || threads < stated.threads)) stated.threads = threads;
  };
  if (const char* text = variable_or_null("OMP_NUM_THREADS")) lower(positive(split(text, ',').front()));
  if (const char* text = variable_or_null("OMP_THREAD_LIMIT")) lower(positive(text));
  if (const char* text = variable_or_null("ATTUNE_THREADS")) {
    const int64_t threads = positive(text);
    if (threads == 0)
      stated.error = fmt::format("ATTUNE_THREADS expects a number of threads from 1, ignoring it: '{}'", text);
    lower(threads);
  }
  return stated;
}

}  // namespace attune
