// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "server/tables/table_reader.h"

namespace attune {

/// The most journals of a server, each of which takes a thread.
inline constexpr size_t kMaxJournals = 32;

/// What `attune serve` was asked to do.
struct ServerSettings {
  std::vector<std::filesystem::path> journals;
  std::string listen;                ///< As parse_listen_address() reads it.
  std::filesystem::path token_file;  ///< Empty: no token.
  std::vector<std::string> allow_hosts;
  ReadRows read_rows;  ///< Called by threads of the server, one at a time.
};

/// Where a server takes requests.
struct ServedAt {
  std::string place;  ///< `http://127.0.0.1:8080/` for browsers; `0.0.0.0:8080` if none is known.
  std::string note;  ///< A sentence about the names under which it answers, if they are fewer than those that reach it.
};

/// Serves journals until `is_over`, which it sees within 0.1 s. `is_ready` is called once, when requests are taken.
/// Throws invalid_input for wrong settings, io when the address cannot be had, and what opening a journal throws.
void serve(const ServerSettings& settings, const std::atomic<bool>& is_over,
           const std::function<void(const ServedAt& where)>& is_ready);

/// The entry point of the module attune_server.so, which alone links the HTTP library: with it every start of the
/// program, as of each worker, would take 2 to 5 ms longer.
inline constexpr const char* kServeEntry = "attune_serve";
using ServeEntry = decltype(serve);

}  // namespace attune
