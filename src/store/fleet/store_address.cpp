// SPDX-License-Identifier: MIT
#include "store/fleet/store_address.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/locations.h"
#include "base/text.h"
#include "base/variable.h"

namespace attune {
namespace {

constexpr const char* kForms =
    "sqlite:FILE, or SCHEME://USER@HOST[:PORT]/DATABASE with mariadb, mysql or postgresql as SCHEME";

/// What may be shown of a store that cannot be read: a password may stand before an `@`.
std::string safe_part(std::string_view text) {
  const size_t at = text.rfind('@');
  const size_t begin = text.find("://");
  if (begin == std::string_view::npos)
    return at == std::string_view::npos ? shown(text, 500) : "…" + shown(text.substr(at));
  return shown(text.substr(0, begin)) + "://…";
}

[[noreturn]] void fail_unreadable(std::string_view text, const std::string& why) {
  fail(ErrorCode::invalid_input, "the address of ATTUNE_STORE or --from {}; it is {}: '{}'", why, kForms,
       safe_part(text));
}

/// Replaces each %XX. Nothing for a broken one and for control characters.
std::optional<std::string> decoded(std::string_view text) {
  const auto digit = [](char one) {
    if (one >= '0' && one <= '9') return one - '0';
    if (one >= 'a' && one <= 'f') return one - 'a' + 10;
    return one >= 'A' && one <= 'F' ? one - 'A' + 10 : -1;
  };
  std::string found;
  for (size_t i = 0; i < text.size(); ++i) {
    char one = text[i];
    if (one == '%') {
      const int high = i + 2 < text.size() ? digit(text[i + 1]) : -1, low = high < 0 ? -1 : digit(text[i + 2]);
      if (low < 0) return std::nullopt;
      one = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (static_cast<unsigned char>(one) < ' ') return std::nullopt;
    found += one;
  }
  return found;
}

/// The first line of a file that only its owner may read.
std::string password_of_file(const std::string& name, const char* setting) {
  const auto path = fixed_path(name);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0)
    fail(ErrorCode::invalid_input, "the password file that {} names cannot be read ({}): '{}'", setting,
         std::strerror(errno), path.string());
  constexpr mode_t kOthers = 077;
  if (!S_ISREG(status.st_mode) || (status.st_mode & kOthers) != 0)
    fail(ErrorCode::invalid_input,
         "the password file that {} names must be a file that only its owner may read, run: "
         "chmod 600 '{}'",
         setting, path.string());
  constexpr size_t kMaxBytes = 4096;
  std::string content(kMaxBytes, '\0');
  const ssize_t count = ::read(file.number(), content.data(), content.size());
  content.resize(count < 0 ? 0 : static_cast<size_t>(count));
  content.resize(std::min(content.find_first_of("\r\n"), content.size()));
  if (content.empty() || content.size() == kMaxBytes)
    fail(ErrorCode::invalid_input, "the password file that {} names must have the password as its first line: '{}'",
         setting, path.string());
  return content;
}

std::string password(const std::string& file) {
  if (const char* value = variable_or_null("ATTUNE_STORE_PASSWORD")) return value;
  if (!file.empty()) return password_of_file(file, "password_file");
  if (const char* value = variable_or_null("ATTUNE_STORE_PASSWORD_FILE"))
    return password_of_file(value, "ATTUNE_STORE_PASSWORD_FILE");
  const char* const value = variable_or_null("TUNA_DB_USER_PASSWORD");
  return value == nullptr ? "" : value;
}

void set_scheme(StoreAddress& address, std::string_view text, std::string_view scheme) {
  address.scheme = scheme;
  if (scheme == "mariadb" || scheme == "mysql")
    address.kind = DatabaseKind::mariadb;
  else if (scheme == "postgresql" || scheme == "postgres")
    address.kind = DatabaseKind::postgresql;
  else
    fail_unreadable(text, fmt::format("names no known database '{}'", shown(scheme)));
}

/// Reads `HOST`, `HOST:PORT`, `[::1]:PORT`.
void set_host(StoreAddress& address, std::string_view text, std::string_view place) {
  size_t end = place.find(':');
  if (place.starts_with('[')) {
    const size_t close = place.find(']');
    if (close == std::string_view::npos) fail_unreadable(text, "has a '[' without ']'");
    address.host = place.substr(1, close - 1);
    end = close + 1 == place.size() ? std::string_view::npos : close + 1;
    if (end != std::string_view::npos && place[end] != ':') fail_unreadable(text, "has no ':' before its port");
  } else {
    address.host = place.substr(0, end);
  }
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:%";
  if (address.host.empty() || address.host.find_first_not_of(kAllowed) != std::string::npos)
    fail_unreadable(text, "names no host");
  if (end == std::string_view::npos) return;
  const auto port = parse_int(place.substr(end + 1));
  constexpr int64_t kMaxPort = 65535;
  if (!port || *port < 1 || *port > kMaxPort) fail_unreadable(text, "has a port that is not from 1 to 65535");
  address.port = static_cast<int>(*port);
}

/// Reads `a=b&c=d`; returns the file of the password.
std::string set_parameters(StoreAddress& address, std::string_view text, std::string_view parameters) {
  std::string password_file;
  for (const std::string_view one : split(parameters, '&')) {
    const size_t equal = one.find('=');
    const std::string_view name = one.substr(0, equal);
    const auto value = equal == std::string_view::npos ? std::nullopt : decoded(one.substr(equal + 1));
    if (!value || value->empty())
      fail_unreadable(text, fmt::format("has a parameter without a value '{}'", shown(name)));
    if (name == "tls") {
      if (*value != "require") fail_unreadable(text, "has a tls parameter other than tls=require");
      address.requires_tls = true;
    } else if (name == "ca") {
      address.ca_file = fixed_path(*value);
      address.requires_tls = true;
    } else if (name == "socket") {
      address.socket = fixed_path(*value);
    } else if (name == "password_file") {
      password_file = *value;
    } else if (name == "password") {
      fail(ErrorCode::invalid_input,
           "a password must not stand in ATTUNE_STORE, set ATTUNE_STORE_PASSWORD or name a "
           "file of mode 0600 with password_file=FILE");
    } else {
      fail_unreadable(text, fmt::format("has the unknown parameter '{}', known are tls, ca, socket and password_file",
                                        shown(name)));
    }
  }
  return password_file;
}

/// The password of a database of the older tool: never the store's own.
std::string older_password(const std::string& file) {
  if (!file.empty()) return password_of_file(file, "password_file");
  const char* const value = variable_or_null("TUNA_DB_USER_PASSWORD");
  return value == nullptr ? "" : value;
}

StoreAddress server_address(const std::string& text, std::string (*password_of)(const std::string& file)) {
  StoreAddress address;
  const std::string_view all = text;
  const size_t begin = all.find("://");
  set_scheme(address, text, all.substr(0, begin));
  std::string_view rest = all.substr(begin + 3);
  std::string password_file;
  if (const size_t question = rest.find('?'); question != std::string_view::npos) {
    password_file = set_parameters(address, text, rest.substr(question + 1));
    rest = rest.substr(0, question);
  }
  const size_t at = rest.rfind('@');
  if (at == std::string_view::npos || at == 0) fail_unreadable(text, "names no user");
  const std::string_view user = rest.substr(0, at);
  const auto name = decoded(user);
  if (user.find(':') != std::string_view::npos || (name && name->find(':') != std::string::npos))
    fail(ErrorCode::invalid_input,
         "a password must not stand in ATTUNE_STORE, set ATTUNE_STORE_PASSWORD or name a file "
         "of mode 0600 with ?password_file=FILE");
  rest = rest.substr(at + 1);
  const size_t slash = rest.find('/');
  const auto database = slash == std::string_view::npos ? std::nullopt : decoded(rest.substr(slash + 1));
  if (!name) fail_unreadable(text, "has a broken % in its user");
  if (!database || database->empty() || database->find('/') != std::string::npos)
    fail_unreadable(text, "names no database");
  if (rest.substr(slash + 1).find_first_of(" =") != std::string_view::npos)
    fail_unreadable(text, "has a blank or '=' in the name of its database, write %20 and %3d");
  address.user = *name;
  address.database = *database;
  set_host(address, text, rest.substr(0, slash));
  address.password = password_of(password_file);
  return address;
}

/// MITuna's variables; nothing without its host and name.
std::optional<StoreAddress> tuna_address() {
  const char* const host = variable_or_null("TUNA_DB_HOSTNAME");
  const char* const name = variable_or_null("TUNA_DB_NAME");
  if (host == nullptr || name == nullptr) return std::nullopt;
  const char* const user = variable_or_null("TUNA_DB_USER_NAME");
  if (user == nullptr)
    fail(ErrorCode::invalid_input,
         "TUNA_DB_HOSTNAME and TUNA_DB_NAME are set and TUNA_DB_USER_NAME is not, set it or "
         "name the store with ATTUNE_STORE");
  StoreAddress address;
  address.kind = DatabaseKind::mariadb;
  address.scheme = "mysql";
  address.user = user;
  address.database = name;
  address.password = password("");
  set_host(address, host, host);
  return address;
}

}  // namespace

std::string StoreAddress::shown() const {
  if (!is_server()) return file.string();
  const std::string place = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return fmt::format("{}://{}@{}{}/{}", scheme, attune::shown(user), place, port == 0 ? "" : fmt::format(":{}", port),
                     attune::shown(database));
}

StoreAddress store_address(const std::string& store) {
  constexpr std::string_view kSqlite = "sqlite:";
  const char* const variable = variable_or_null("ATTUNE_STORE");
  const std::string named = !store.empty() ? store : variable != nullptr ? variable : "";
  StoreAddress address;
  address.scheme = "sqlite";
  if (named.empty()) {
    if (auto tuna = tuna_address()) return *std::move(tuna);
    address.file = home_location().path / "fleet.db";
    return address;
  }
  if (named.starts_with(kSqlite) && named.size() > kSqlite.size()) {
    address.file = fixed_path(named.substr(kSqlite.size()));
    return address;
  }
  if (named.find("://") == std::string::npos) fail_unreadable(named, "is not understood");
  return server_address(named, &password);
}

StoreAddress older_database_address(const std::string& text) {
  if (!text.starts_with("mariadb://") && !text.starts_with("mysql://"))
    fail(ErrorCode::invalid_input,
         "the older tool's database is on MariaDB or MySQL, name it as mariadb://USER@HOST[:PORT]/DATABASE: '{}'",
         safe_part(text));
  return server_address(text, &older_password);
}

}  // namespace attune
