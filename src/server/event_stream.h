// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>

#include "server/http/http_message.h"
#include "server/journal/journal_watch.h"
#include "server/journal/served_journal.h"

namespace attune {

/// A comment is sent after so long without an entry, so that a proxy does not take the connection for a dead one.
constexpr std::chrono::milliseconds kEventKeepAlive{15'000};

/// The entries of a journal from a cursor on, as they are committed, as server-sent events
/// (https://html.spec.whatwg.org/multipage/server-sent-events.html): `id` is the entry's, `data` its heading as JSON.
/// The cursor is the parameter `after` or the header Last-Event-ID; without one, and with one beyond the newest entry,
/// it begins there. A comment is sent after each `keep_alive` without an entry. Ends with the event `replaced` when
/// another file takes the journal's place. Throws invalid_input for a cursor that is no number. `journal` and `watch`
/// must outlive the stream.
HttpAnswer event_stream(const HttpRequest& request, ServedJournal& journal, const JournalWatch& watch,
                        std::chrono::milliseconds keep_alive = kEventKeepAlive);

}  // namespace attune
