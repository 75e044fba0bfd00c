// SPDX-License-Identifier: MIT
#include "store/fleet/fleet_connection.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "base/variable.h"
#include "store/fleet/fleet_file.h"
#include "store/fleet/store_away.h"

namespace attune {
namespace {

constexpr double kTryAgainS = 2, kConnectS = 5;
constexpr int kMaxPauseMs = 50;

DatabaseWords words_of(int max_wait_ms) {
  DatabaseWords words = kFleetWords;
  words.max_wait_ms = max_wait_ms;
  return words;
}

std::optional<double> store_timeout_s() {
  const char* const wanted = variable_or_null("ATTUNE_STORE_TIMEOUT_S");
  if (wanted == nullptr) return std::nullopt;
  const auto seconds = parse_double(wanted);
  if (!seconds || !(*seconds > 0))
    fail(ErrorCode::invalid_input, "ATTUNE_STORE_TIMEOUT_S expects a number of seconds above 0, got '{}'",
         shown(wanted));
  return seconds;
}

}  // namespace

FleetConnection::FleetConnection(StoreAddress address, int max_wait_ms, ServerUse use)
    : address_(std::move(address)),
      use_(use),
      dialect_(dialect_of(address_.kind)),
      max_wait_ms_(max_wait_ms),
      timeout_s_(store_timeout_s()) {
  if (!address_.is_server()) file_.emplace(address_.file, SqlAccess::read_write, address_.file, words_of(max_wait_ms));
}

/// Without the password, which a library might repeat.
std::string FleetConnection::reason_of(const std::string& message) const {
  std::string reason = dialect_.reason_of(message);
  if (!address_.password.empty()) {
    for (size_t at = reason.find(address_.password); at != std::string::npos;
         at = reason.find(address_.password, at + 3))
      reason.replace(at, address_.password.size(), "…");
  }
  while (!reason.empty() && (reason.back() == '.' || reason.back() == '\n' || reason.back() == ' ')) reason.pop_back();
  return shown(reason, 400);
}

double FleetConnection::answer_limit_s() const noexcept {
  constexpr double kLeastS = 30, kLockWaits = 3, kMsPerS = 1000;
  return timeout_s_.value_or(std::max(kLeastS, kLockWaits * max_wait_ms_ / kMsPerS));
}

void FleetConnection::close() noexcept {
  server_.reset();
  watch_.forget();
}

void FleetConnection::connect() {
  if (server_) return;
  if (steady_clock().now_s() < next_try_s_) throw StoreAway(why_away_);
  try {
    open();
  } catch (const soci::soci_error& error) {
    close();
    fail_to_connect(error.get_error_message());
  } catch (...) {
    close();
    throw;
  }
}

void FleetConnection::open() {
  server_ = std::make_unique<soci::session>();
  watch_.connect(kConnectS,
                 [this] { server_->open(std::string(dialect_.words.backend), dialect_.connect_string(address_)); });
  watched([this] { prepare(); });
}

/// Prepares a new connection.
void FleetConnection::prepare() {
  if (address_.requires_tls) {
    long long is_encrypted = 0;
    *server_ << std::string(dialect_.words.tls_query), soci::into(is_encrypted);
    if (is_encrypted == 0)
      fail(ErrorCode::invalid_input,
           "the server of the fleet's store offers no encryption, set it up there or leave out tls=require: '{}'",
           address_.shown());
  }
  if (use_ == ServerUse::foreign) return;
  std::string version;
  *server_ << "SELECT VERSION()", soci::into(version);
  if (const std::string why = dialect_.why_unusable(version); !why.empty())
    fail(ErrorCode::invalid_input,
         "the server of the fleet's store cannot be used ({}), name one of MariaDB or "
         "PostgreSQL: '{}'",
         why, address_.shown());
  for (const std::string& one : dialect_.settings()) *server_ << one;
  if (address_.kind == DatabaseKind::mariadb) {
    long long max_bytes = 0;
    *server_ << "SELECT @@max_allowed_packet", soci::into(max_bytes);
    max_bytes_ = static_cast<size_t>(max_bytes);
  }
}

void FleetConnection::fail_to_connect(const std::string& message) {
  if (message.find("shared library for backend") != std::string::npos)
    fail(ErrorCode::invalid_input,
         "this machine has no library for {}, install Debian's package {} or name another "
         "store with ATTUNE_STORE: '{}'",
         dialect_.words.product, dialect_.words.package, address_.shown());
  const std::string reason = reason_of(message);
  if (dialect_.fault_of(message, false) != SqlFault::lost)
    fail(ErrorCode::invalid_input,
         "the server of the fleet's store refuses to be used ({}), check user, password and "
         "database: '{}'",
         reason, address_.shown());
  why_away_ = fmt::format("the server of the fleet's store does not answer ({}), check that it runs: '{}'", reason,
                          address_.shown());
  next_try_s_ = steady_clock().now_s() + kTryAgainS;
  throw StoreAway(why_away_);
}

void FleetConnection::roll_back() noexcept {
  try {
    if (server_) watched([this] { server_->rollback(); });
  } catch (const std::exception&) {
    // The connection is lost. The caller reports the first error.
  }
}

SqlFault FleetConnection::fault_of(const soci::soci_error& error) const {
  const auto category = error.get_error_category();
  if (category == soci::soci_error::connection_error) return SqlFault::lost;
  const SqlFault fault = dialect_.fault_of(error.get_error_message(), true);
  return category == soci::soci_error::constraint_violation && fault == SqlFault::other ? SqlFault::duplicate : fault;
}

void FleetConnection::recover(const soci::soci_error& error, int num_tries, double began_s) {
  const std::string message = error.get_error_message();
  constexpr int kMaxDuplicates = 20;  // About a second. After that the transaction itself has it twice.
  const SqlFault fault = fault_of(error);
  switch (fault) {
    case SqlFault::lost:
      close();
      if (num_tries == 0) return;
      throw StoreAway(fmt::format("the server of the fleet's store ended the connection ({}): '{}'", reason_of(message),
                                  address_.shown()));
    case SqlFault::duplicate:
    case SqlFault::conflict: {
      if (fault == SqlFault::duplicate && num_tries >= kMaxDuplicates) fail_with(error);
      const double waited_ms = (steady_clock().now_s() - began_s) * 1000;
      if (waited_ms >= max_wait_ms_)
        fail(ErrorCode::database, "another process keeps the fleet's store locked, end it or try again later: '{}'",
             address_.shown());
      Random random(static_cast<uint64_t>(steady_clock().now_s() * 1e9) + static_cast<uint64_t>(::getpid()));
      const int max_ms = std::min(kMaxPauseMs, 2 << std::min(num_tries, 5));
      ::usleep(static_cast<useconds_t>(1000 * random.uniform() * max_ms));
      return;
    }
    case SqlFault::full:
    case SqlFault::refused:
    case SqlFault::other:
      fail_with(error);
  }
}

void FleetConnection::fail_with(const soci::soci_error& error) {
  const std::string message = error.get_error_message();
  const std::string reason = reason_of(message);
  const SqlFault fault = fault_of(error);
  if (fault == SqlFault::lost) {
    close();
    throw StoreAway(
        fmt::format("the server of the fleet's store ended the connection ({}): '{}'", reason, address_.shown()));
  }
  if (fault == SqlFault::full)
    fail(ErrorCode::database, "no space left for the fleet's store on its server ({}): '{}'", reason, address_.shown());
  fail(ErrorCode::database, "the fleet's store cannot be read or written ({}): '{}'", reason, address_.shown());
}

void FleetConnection::check_size(size_t num_bytes) const {
  constexpr size_t kRest = 4096;
  if (max_bytes_ == 0 || num_bytes + kRest <= max_bytes_) return;
  fail(ErrorCode::database,
       "a statement of {} bytes is longer than max_allowed_packet of the fleet's server ({}), raise it there: '{}'",
       num_bytes, max_bytes_, address_.shown());
}

}  // namespace attune
