// SPDX-License-Identifier: MIT
#include "server/journal_site.h"

#include "base/error.h"
#include "server/event_stream.h"
#include "server/request_values.h"

namespace attune {

std::optional<HttpAnswer> JournalSite::answer(const HttpRequest& request) {
  if (request.path != "/events") return api_.answer(request);
  try {
    return event_stream(request, journal_, watch_);
  } catch (const Error& error) {
    return error_answer(400, error.what());
  }
}

}  // namespace attune
