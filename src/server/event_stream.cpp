// SPDX-License-Identifier: MIT
#include "server/event_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "server/request_values.h"

namespace attune {
namespace {

using namespace std::chrono_literals;
using nlohmann::ordered_json;
constexpr auto kWait = 500ms;  // After it, the server sees whether it has to end.
constexpr size_t kEntriesOfAPart = 200;

std::string event(const EntryHeading& heading) {
  const ordered_json data = {
      {"id", heading.stamp.id},         {"at_ms", heading.stamp.at_ms}, {"run", heading.stamp.run},
      {"kind", name(heading.kind)},     {"problem", heading.problem},   {"device", heading.device},
      {"candidate", heading.candidate}, {"stage", heading.stage},       {"status", heading.status}};
  return fmt::format("id: {}\ndata: {}\n\n", heading.stamp.id,
                     data.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

class EventStream {
 public:
  EventStream(int64_t after, ServedJournal& journal, const JournalWatch& watch, std::chrono::milliseconds keep_alive)
      : journal_(journal),
        watch_(watch),
        generation_(watch.state().generation),
        keep_alive_(keep_alive),
        last_id_(after) {}

  std::optional<std::string> next() {
    if (is_ended_) return std::nullopt;
    const WatchState state = watch_.wait_beyond(last_id_, generation_, kWait);
    if (state.generation != generation_) {
      is_ended_ = true;
      return "event: replaced\ndata: {}\n\n";
    }
    std::string text = state.newest_id > last_id_ ? entries() : std::string();
    const auto now = std::chrono::steady_clock::now();
    if (text.empty() && now - sent_at_ >= keep_alive_) text = ": nothing new\n\n";
    if (!text.empty()) sent_at_ = now;
    return text;
  }

 private:
  std::string entries() {
    std::string text;
    try {
      journal_.read([&](const Journal& journal) {
        journal.visit_headings({.after = last_id_, .limit = kEntriesOfAPart, .runs = true, .bans = true},
                               [&](const EntryHeading& one) {
                                 last_id_ = one.stamp.id;
                                 text += event(one);
                               });
      });
    } catch (const Error&) {  // The watch says why the journal cannot be read; the stream waits.
    }
    return text;
  }

  ServedJournal& journal_;
  const JournalWatch& watch_;
  const uint64_t generation_;
  const std::chrono::milliseconds keep_alive_;
  int64_t last_id_;
  std::chrono::steady_clock::time_point sent_at_ = std::chrono::steady_clock::now();
  bool is_ended_ = false;
};

/// The newest entry's id; `otherwise` while the journal cannot be read, when there is nothing to send either.
int64_t newest_id(ServedJournal& journal, int64_t otherwise) {
  int64_t newest = otherwise;
  try {
    journal.read([&](const Journal& read) {
      read.visit_headings({.newest_first = true, .limit = 1, .runs = true, .bans = true},
                          [&](const EntryHeading& one) { newest = one.stamp.id; });
    });
  } catch (const Error&) {
  }
  return newest;
}

}  // namespace

HttpAnswer event_stream(const HttpRequest& request, ServedJournal& journal, const JournalWatch& watch,
                        std::chrono::milliseconds keep_alive) {
  HttpRequest asked = request;
  if (!request.last_event_id.empty()) asked.query["after"] = request.last_event_id;  // A client that comes back.
  const int64_t seen = watch.state().newest_id;                                      // What the data's answers know.
  const int64_t newest = newest_id(journal, seen);
  // A watch that has read nothing yet begins with the newest. A cursor beyond the end is one of another journal:
  // entries must not be passed over until there are as many.
  const int64_t after = std::min(integer_value(asked, "after", seen == 0 ? newest : seen, 0, kMaxId), newest);
  auto stream = std::make_shared<EventStream>(after, journal, watch, keep_alive);
  return {.type = "text/event-stream", .headers = {{"Cache-Control", "no-store"}}, .parts = [stream] {
            return stream->next();
          }};
}

}  // namespace attune
