// SPDX-License-Identifier: MIT
#include "solver/modules/module_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "attune/error.h"
#include "base/machine.h"
#include "testing/environment.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ModuleLoader : public testing::Test {
 protected:
  ModuleLoader() {
    std::string name = (fs::temp_directory_path() / "attune_modules_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ModuleLoader() override { fs::remove_all(folder_); }

  void name_folder(const fs::path& folder) { ::setenv("ATTUNE_MODULES", folder.c_str(), 1); }
  /// A file with the module's name that is not a module.
  fs::path put_module() {
    fs::path file = folder_ / "attune_solver_odd.so";
    std::ofstream(file) << "no module";
    ::chmod(file.c_str(), 0644);
    return file;
  }
  void load(HostProcess host) { load_modules(specs_, host, registry_); }
  const SolverEntry& entry() { return registry_.entries().front(); }

  static constexpr const char* kVariables[] = {"ATTUNE_MODULES"};
  TestEnvironment environment_{kVariables};
  fs::path folder_;
  const std::vector<ModuleSpec> specs_ = {{"odd", {"odd.gemm", "odd.gemm_a8w8"}, "an odd one", {}}};
  Registry registry_;
};

TEST_F(ModuleLoader, an_application_opens_a_module_when_its_solver_is_asked_for) {
  put_module();
  name_folder(folder_);
  load(HostProcess::application);
  EXPECT_EQ(entry().unavailable, "");
  EXPECT_EQ(registry_.find("other.gemm"), nullptr);
  EXPECT_EQ(entry().unavailable, "");
  EXPECT_EQ(registry_.find("odd.gemm"), nullptr);
  for (const SolverEntry& one : registry_.entries()) EXPECT_THAT(one.unavailable, HasSubstr("attune_solver_odd.so"));
  EXPECT_THAT(registry_.notices(), IsEmpty());
}

TEST_F(ModuleLoader, the_program_opens_them_at_once) {
  put_module();
  name_folder(folder_);
  load(HostProcess::program);
  EXPECT_THAT(entry().unavailable, HasSubstr("attune_solver_odd.so"));
  EXPECT_THAT(entry().unavailable, HasSubstr("install the library that it names or the module again"));
}

TEST_F(ModuleLoader, a_worker_opens_a_module_when_its_solver_is_asked_for_and_keeps_settings_from_it) {
  const TestEnvironment dynamic("OMP_DYNAMIC", "true");
  put_module();
  name_folder(folder_);
  load(HostProcess::worker);
  EXPECT_EQ(entry().unavailable, "");
  EXPECT_EQ(registry_.find("odd.gemm"), nullptr);
  EXPECT_THAT(entry().unavailable, HasSubstr("attune_solver_odd.so"));
  EXPECT_EQ(std::getenv("OMP_DYNAMIC"), nullptr);
}

TEST_F(ModuleLoader, a_folder_that_loops_is_refused_by_the_program_and_said_to_an_application) {
  fs::create_symlink(folder_ / "loop", folder_ / "loop");
  name_folder(folder_ / "loop");
  try {
    load(HostProcess::program);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("ATTUNE_MODULES"), HasSubstr("symbolic links"), HasSubstr("loop'")));
  }
  load(HostProcess::application);
  EXPECT_THAT(registry_.notices().front(), HasSubstr("ATTUNE_MODULES does not name a readable folder"));
}

TEST_F(ModuleLoader, a_file_is_no_folder) {
  name_folder(put_module());
  EXPECT_THROW(load(HostProcess::program), Error);
}

TEST_F(ModuleLoader, a_folder_without_modules_is_said_once) {
  name_folder(folder_);
  load(HostProcess::program);
  EXPECT_THAT(registry_.notices(),
              ElementsAre(AllOf(HasSubstr("no solver modules found in"), HasSubstr(folder_.string()))));
  EXPECT_THAT(entry().unavailable, HasSubstr("not installed"));
}

TEST_F(ModuleLoader, an_empty_variable_is_none) {
  name_folder("");
  load(HostProcess::program);
  EXPECT_THAT(registry_.notices(), Each(Not(HasSubstr("does not name a readable folder"))));
}

TEST_F(ModuleLoader, a_module_that_others_could_have_written_is_skipped_and_reported) {
  const fs::path file = put_module();
  ::chmod(file.c_str(), 0666);
  name_folder(folder_);
  load(HostProcess::application);
  EXPECT_EQ(registry_.find("odd.gemm"), nullptr);
  EXPECT_THAT(entry().unavailable, AllOf(HasSubstr("chmod go-w"), HasSubstr(file.string())));
  EXPECT_THAT(registry_.notices(), ElementsAre(HasSubstr("the solver odd.gemm, odd.gemm_a8w8 is excluded")));
}

/// Leaves this process without room for another thread's stack, also one that the C library has kept.
void refuse_threads() {
  const rlimit none{1 << 20, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &none);
  const auto sleep = [](void*) -> void* {
    while (true) ::pause();
  };
  pthread_t one{};
  while (pthread_create(&one, nullptr, sleep, nullptr) == 0) continue;
}

TEST_F(ModuleLoader, a_library_that_starts_threads_is_not_opened_where_the_system_refuses_them) {
#ifdef ATTUNE_SANITIZED
  GTEST_SKIP() << "a sanitized program needs more memory than the limit";
#endif
  if (allowed_cores().size() < 2) GTEST_SKIP() << "one core: no thread is started";
  put_module();
  name_folder(folder_);
  const std::vector<ModuleSpec> starter = {{"odd", {"odd.gemm"}, "an odd one", {}, true}};
  load_modules(starter, HostProcess::application, registry_);
  const auto ask = [&] {
    refuse_threads();
    registry_.find("odd.gemm");
    std::_Exit(entry().unavailable.find("which the system refuses") != std::string::npos ? 0 : 1);
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(registry_.find("odd.gemm"), nullptr);
  EXPECT_THAT(entry().unavailable, HasSubstr("install the library that it names")) << "threads can be started here";
}

TEST_F(ModuleLoader, a_library_that_waits_without_end_for_memory_is_not_opened_without) {
#ifdef ATTUNE_SANITIZED
  GTEST_SKIP() << "a sanitized program needs more memory than the limit";
#endif
  put_module();
  name_folder(folder_);
  const std::vector<ModuleSpec> starter = {{"odd", {"odd.gemm"}, "an odd one", {}, true}};
  load_modules(starter, HostProcess::application, registry_);
  const auto ask = [&] {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit tight{pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + (size_t{128} << 20), RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &tight);
    registry_.find("odd.gemm");
    std::_Exit(entry().unavailable.find("ulimit -v") != std::string::npos ? 0 : 1);
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "");
}

TEST_F(ModuleLoader, the_program_has_its_environment_again_after_its_libraries_have_been_loaded_without_settings) {
  const TestEnvironment dynamic("OMP_DYNAMIC", "true"), core("OPENBLAS_CORETYPE", "Haswell");
  put_module();
  name_folder(folder_);
  load(HostProcess::program);
  EXPECT_STREQ(std::getenv("OMP_DYNAMIC"), "true");
  EXPECT_STREQ(std::getenv("OPENBLAS_CORETYPE"), "Haswell");
}

}  // namespace
}  // namespace attune
