// SPDX-License-Identifier: MIT
// Helpers that compile are killed, hang, and answer wrongly, $ATTUNE_HELPER_FAULTS times (1,000) among as many tasks of
// other candidates: each fault costs its task and nothing else. `attune_helper_faults helper NAME` is a helper.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "compile/compile_pool.h"
#include "process/temporary_folder.h"
#include "testing/faulty_library.h"

namespace {

using namespace attune;

CompileTask task_of(const std::string& source) {
  return {.compiler = "library", .source = source, .arch = "fake", .options = {}, .entries = {}};
}

/// The source of a good task or of a fault, each one different.
std::string source_of(uint64_t number, bool is_fault, Random& random) {
  const std::string_view fault = kHelperFaults[random.next() % std::size(kHelperFaults)];
  return fmt::format("{} {}", is_fault ? fault : "good", number);
}

int run(uint64_t num_faults) {
  const TemporaryFolder folder("helper-faults");
  KernelCache cache({folder.path() / "cache"}, uint64_t{1} << 30);
  const FaultyLibrary library({.memory_bytes = 0, .deadline = Milliseconds(500)});
  CompilePool pool(
      cache,
      {.jobs = 8, .compilers = {&library}, .helper = {.arguments = {"/proc/self/exe", "helper"}, .environment = {}}});
  Random random(1);
  std::map<std::string, std::string> sources;  // By recipe.
  for (uint64_t faults = 0, good = 0; faults < num_faults || good < num_faults;) {
    const bool is_fault = good == num_faults || (faults < num_faults && random.next() % 2 == 0);
    const std::string source = source_of(faults + good, is_fault, random);
    ++(is_fault ? faults : good);
    sources[task_of(source).recipe()] = source;
    pool.submit(task_of(source));
  }
  const auto began = std::chrono::steady_clock::now();
  uint64_t num_failed = 0, num_compiled = 0, num_wrong = 0;
  while (pool.unanswered() > 0) {
    for (const CompileResult& one : pool.wait(Milliseconds(1000))) {
      const std::string& source = sources.at(one.recipe);
      const bool is_good = source.starts_with("good");
      const bool is_right =
          is_good ? one.binary && read_file(one.binary->file) == source : one.outcome.status == Status::compile_failed;
      ++(is_good ? num_compiled : num_failed);
      if (!is_right) fmt::print("{}: {} {}\n", source, name(one.outcome.status), one.outcome.detail);
      num_wrong += !is_right;
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  fmt::print("{} faults of helpers cost {} tasks, {} others were compiled, {} were wrong, in {:.1f} s\n", num_faults,
             num_failed, num_compiled, num_wrong, seconds.count());
  return num_failed == num_faults && num_compiled == num_faults && num_wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "helper") return run_compile_worker(FaultyLibrary());
  const char* wanted = std::getenv("ATTUNE_HELPER_FAULTS");
  return run(wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 1000);
}
