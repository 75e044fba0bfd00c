// SPDX-License-Identifier: MIT
#pragma once
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "base/text.h"
#include "compile/compile_messages.h"
#include "compile/compile_worker.h"
#include "compile/compiler.h"
#include "process/channel/channel.h"

namespace attune {

/// Ways in which a helper of FaultyLibrary fails its task and ends, or is ended.
inline constexpr std::string_view kHelperFaults[] = {"kill", "exit", "hang", "wrong", "twice", "garbage", "close"};

/// A compiler that is a library, for tests. The first word of a source is what its helper does with it: one of
/// kHelperFaults, or `pid` (a binary with the number of the helper's process), `refuse` (an error of the source),
/// `throw`, `late` (compiles, and says something unasked 5 ms later), `leak` (compiles, and keeps 64 MiB); anything
/// else compiles to itself.
class FaultyLibrary : public LibraryCompiler {
 public:
  explicit FaultyLibrary(CompilerLimits limits = {.memory_bytes = 0, .deadline = Milliseconds(10'000)})
      : limits_(limits) {}
  std::string_view name() const override { return "library"; }
  std::string toolchain() const override { return "library-1"; }
  bool targets(std::string_view) const override { return true; }
  uint32_t command_version() const override { return 1; }
  CompilerLimits limits() const override { return limits_; }
  std::map<std::string, std::string> report(const CompilerOutput& output) const override {
    return {{"said", std::string(output.log)}};
  }
  std::string flaw_of(std::string_view file) const override { return file.empty() ? "empty" : ""; }

  LibraryOutput compile(const CompileTask& task) const override {
    static uint64_t number = 0;
    ++number;
    const std::string_view word = std::string_view(task.source).substr(0, task.source.find(' '));
    if (word == "refuse") {
      LibraryOutput refused{.is_compiled = false, .binary = {}, .log = "kernel.cu(3): error: a refused source"};
      refused.is_rejected = true;
      return refused;
    }
    if (word == "throw") throw std::runtime_error("error: the library is out of order");
    if (word == "pid") return {.is_compiled = true, .binary = std::to_string(::getpid()), .log = {}};
    const LibraryOutput output{.is_compiled = true, .binary = task.source, .log = "registers 40"};
    fail_as(word, output, number);
    if (word == "late") std::thread([] { say("garbage", Milliseconds(5)); }).detach();
    if (word == "leak") keep(size_t{64} << 20);
    return output;
  }

 private:
  static void say(std::string_view bytes, Milliseconds after = {}) {
    std::this_thread::sleep_for(after);
    if (::write(kHelperChannel, bytes.data(), bytes.size()) < 0) ::_exit(1);
  }
  static bool is_fault(std::string_view word) {
    return std::find(std::begin(kHelperFaults), std::end(kHelperFaults), word) != std::end(kHelperFaults);
  }
  /// `number`: of the task in its helper.
  static void fail_as(std::string_view fault, const LibraryOutput& output, uint64_t number) {
    if (fault == "kill") ::raise(SIGKILL);
    if (fault == "exit") {
      fmt::print(stderr, "the library is lost\n");
      std::exit(0);
    }
    const std::string answer = encode_frame({number, to_payload(output)});
    if (fault == "wrong") say(encode_frame({number + 1, to_payload(output)}));
    if (fault == "twice") say(answer + answer);
    if (fault == "garbage") say("garbage of a library");
    if (fault == "close") ::close(kHelperChannel);
    if (is_fault(fault)) ::pause();
  }
  static void keep(size_t bytes) {
    auto* memory = static_cast<volatile char*>(std::malloc(bytes));
    for (size_t at = 0; memory != nullptr && at < bytes; at += 4096) memory[at] = 1;
  }

  CompilerLimits limits_;
};

}  // namespace attune
