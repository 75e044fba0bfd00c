// SPDX-License-Identifier: MIT
#include "report/entry_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/text.h"
#include "report/result_table.h"
#include "store/entry_json.h"

namespace attune {
namespace {

std::string line_of(const Started& started) {
  return fmt::format("started   {}  {}", short_shape(started.problem), short_candidate(started.candidate));
}
std::string line_of(const Record& record) {
  const auto& measured = record.outcome.measurement;
  return fmt::format("{:<9} {}  {}  {}{}", name(record.stage), short_shape(record.problem),
                     short_candidate(record.candidate), name(record.outcome.status),
                     measured ? fmt::format("  {:.2f} µs", measured->median_us) : "");
}
std::string line_of(const Decision& decision) { return fmt::format("decision  {}", result_line(decision)); }
std::string line_of(const Pardon& pardon) { return fmt::format("pardoned  {}", short_candidate(pardon.candidate)); }
std::string line_of(const RunBegin& run) {
  return fmt::format("begin     {} on {}, process {}", fmt::join(run.command, " "), run.host, run.pid);
}
std::string line_of(const BanChange& change) {
  const Ban& ban = change.ban;
  return fmt::format("{:<9} {}{}{}, by {}: {}", change.lifted ? "unbanned" : "banned", ban.candidate,
                     ban.device.empty() ? "" : " on " + ban.device, ban.problem.empty() ? "" : " for " + ban.problem,
                     change.by, ban.reason);
}
std::string line_of(const RunEnd& run) { return fmt::format("end       {}", run.ending); }

}  // namespace

std::string with_stamp(const std::string& object, const Stamp& stamp) {
  const std::string at = stamp.at_ms > 0 ? fmt::format("\"{}\"", utc_time_text(stamp.at_ms)) : "null";
  return fmt::format("{{\"id\":{},\"at\":{},\"run\":{},{}", stamp.id, at, stamp.run, object.substr(1));
}

std::string entry_line_json(const Entry& entry, const Stamp& stamp) { return with_stamp(entry_to_json(entry), stamp); }

std::string short_time(const Stamp& stamp) {
  if (stamp.at_ms <= 0) return std::string(16, ' ');
  std::string text = utc_time_text(stamp.at_ms).substr(0, 16);
  text[10] = ' ';
  return text;
}

std::string stamp_header() { return fmt::format("{:<16}  {:>7}", "time (UTC)", "run"); }

std::string short_stamp(const Stamp& stamp) {
  return fmt::format("{}  {:>7}", short_time(stamp), stamp.run > 0 ? std::to_string(stamp.run) : "-");
}

std::string entry_line(const Entry& entry, const Stamp& stamp) {
  return fmt::format("{}  {}", short_stamp(stamp), std::visit([](const auto& one) { return line_of(one); }, entry));
}

}  // namespace attune
