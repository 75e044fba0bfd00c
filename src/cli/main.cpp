// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/line_output.h"
#include "campaign/interrupt.h"
#include "cli/commands.h"
#include "report/json_output.h"

namespace {

/// Checks for write errors, which a full disk or a closed pipe may only show at the end.
void check_standard_output() {
  std::cout.flush();  // CLI11 writes its help there.
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) || !std::cout;
  pollfd reader{STDOUT_FILENO, POLLOUT, 0};
  // A reader such as `head` that ended early wants no more.
  if (failed && ::poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0) return;
  if (failed) attune::fail(attune::ErrorCode::io, "cannot write to standard output, the output is incomplete");
}

/// Prints one sentence, and with `wants_json` the same as JSON. Returns the exit status.
int say_failure(attune::ErrorCode code, const std::string& sentence, bool wants_json) {
  attune::print_line(stderr, "attune: " + sentence);
  if (wants_json) attune::print_json({{"error", {{"code", attune::name(code)}, {"message", sentence}}}});
  return attune::exit_status(code);
}

int guarded_run(int argc, char** argv) {
  using attune::ErrorCode;
  const bool json = std::any_of(argv, argv + argc, [](std::string_view one) { return one.starts_with("--json"); });
  try {
    const int status = attune::run_command({argv + 1, argv + argc});
    check_standard_output();
    return status;
  } catch (const attune::Error& error) {
    if (attune::is_interrupted()) return attune::interrupt_status();
    return say_failure(error.code(), error.what(), json);
  } catch (const std::bad_alloc&) {
    return say_failure(ErrorCode::unavailable, "out of memory; tune smaller shapes or close other programs", json);
  } catch (const std::filesystem::filesystem_error& error) {
    return say_failure(ErrorCode::invalid_input,
                       fmt::format("cannot use a path ({}), check its mode or name another: '{}'",
                                   error.code().message(), error.path1().string()),
                       json);
  } catch (const std::exception& error) {
    return say_failure(ErrorCode::internal, std::string("a bug, please report it: ") + error.what(), json);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGCHLD, SIG_DFL);  // Some supervisors ignore it, and then no child can be waited for.
  std::signal(SIGXFSZ, SIG_IGN);  // A write over a file-size limit then fails instead of killing the process.
  const int status = guarded_run(argc, argv);
  std::fflush(nullptr);
#if defined(ATTUNE_SANITIZED) || defined(ATTUNE_NORMAL_EXIT)
  return status;
#else
  // Skips the destructors of the solver modules' libraries: OpenBLAS joins threads there that may never end.
  std::_Exit(status);
#endif
}
