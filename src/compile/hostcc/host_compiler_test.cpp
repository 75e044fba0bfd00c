// SPDX-License-Identifier: MIT
#include "compile/hostcc/host_compiler.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "compile/elf_file.h"
#include "process/run_command.h"
#include "process/temporary_folder.h"
#include "testing/environment.h"

namespace attune {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::MatchesRegex;
using testing::UnorderedElementsAre;

const Compiler& hostcc() { return *find_compiler("hostcc"); }

std::string message_of(const std::function<void()>& call) {
  try {
    call();
    return "nothing was thrown";
  } catch (const Error& error) {
    return std::string(name(error.code())) + ": " + error.what();
  }
}

class HostCompilerTest : public testing::Test {
 protected:
  /// Runs the command of command(); returns the log.
  std::string run(const CompileTask& task, bool good = true) {
    CompileCommand command = hostcc().command(task, folder_.path());
    file_ = folder_.path() / command.output;
    const CommandResult result =
        run_command({.arguments = command.arguments, .environment = command.environment, .folder = folder_.path()},
                    Milliseconds(10'000));
    EXPECT_EQ(result.status.ok(), good) << result.output;
    return result.output;
  }

  TemporaryFolder folder_{"hostcc-test"};
  std::filesystem::path file_;
};

TEST_F(HostCompilerTest, WhatItCompilesCanBeLoadedAndCalled) {
  // memset belongs to libc, the 128-bit division to libgcc.
  run({.compiler = "hostcc",
       .source = "void *memset(void *, int, unsigned long);\n"
                 "static int helper(int x) { return x + 1; }\n"
                 "int entry(int x) { char a[4000]; memset(a, x, sizeof a); return helper(a[x]); }\n"
                 "long quotient(long a, long b) { return (long)((unsigned __int128)a * a / (unsigned long)b); }\n",
       .arch = "x86-64",
       .options = {"-O1"},
       .entries = {}});
  void* library = ::dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  EXPECT_EQ(reinterpret_cast<int (*)(int)>(::dlsym(library, "entry"))(41), 42);
  EXPECT_EQ(reinterpret_cast<long (*)(long, long)>(::dlsym(library, "quotient"))(1L << 40, 1L << 35), 1L << 45);
  EXPECT_EQ(::dlsym(library, "helper"), nullptr);
  EXPECT_THAT(*exported_symbols(read_file(file_)), UnorderedElementsAre("entry", "quotient"));
  ::dlclose(library);
}

TEST_F(HostCompilerTest, ReportsTheSizeOfTheCode) {
  const auto bytes = [&](const std::string& source) {
    run({.compiler = "hostcc", .source = source, .arch = "x86-64", .options = {}, .entries = {}});
    const std::string binary = read_file(file_);
    return std::stoul(hostcc().report({"", binary, folder_.path()}).at("code_bytes"));
  };
  const auto few = bytes("int f(int x) { return x; }");
  EXPECT_GT(few, 0u);
  EXPECT_GT(bytes("int f(int x) { return x; }\nint g(int x) { return x * x % 77 + f(x / 3); }"), few);
}

TEST_F(HostCompilerTest, TheOptionsOfATaskComeAfterItsOwn) {
  run({.compiler = "hostcc",
       .source = "int level(void) {\n#ifdef __OPTIMIZE__\n return 1;\n#else\n return K;\n#endif\n}",
       .arch = "x86-64",
       .options = {"-O0", "-DK=7"},
       .entries = {}});
  void* library = ::dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  EXPECT_EQ(reinterpret_cast<int (*)()>(::dlsym(library, "level"))(), 7);
  ::dlclose(library);
}

TEST_F(HostCompilerTest, ErrorsAreInEnglishAndNameTheLine) {
  const TestEnvironment language("LC_ALL", "de_DE.UTF-8");
  EXPECT_THAT(run({.compiler = "hostcc", .source = "int f(\n", .arch = "x86-64", .options = {}, .entries = {}}, false),
              HasSubstr("kernel.c:1:"));
}

TEST_F(HostCompilerTest, TheProcessSeesThreeVariables) {
  const TestEnvironment secret("ATTUNE_TEST_SECRET", "x");
  const CompileCommand command = hostcc().command({}, folder_.path());
  EXPECT_THAT(command.environment, UnorderedElementsAre(Key("PATH"), Key("LC_ALL"), Key("TMPDIR")));
  EXPECT_EQ(command.environment.at("TMPDIR"), folder_.path().string());
}

TEST_F(HostCompilerTest, TheToolchainHasItsVersion) {
  EXPECT_THAT(hostcc().toolchain(), MatchesRegex("(gcc|clang)-[0-9]+\\.[0-9.]+"));
}

TEST_F(HostCompilerTest, AttuneCcNamesTheCompilerAndIsAskedOnce) {
  const auto program = folder_.path() / "cc";
  std::ofstream(program) << "#!/bin/sh\necho x >>" << (folder_.path() / "asked").string() << "\necho mycc 3.1\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const TestEnvironment variable("ATTUNE_CC", program);
  EXPECT_EQ(hostcc().toolchain(), "cc-3.1");
  EXPECT_EQ(hostcc().toolchain(), "cc-3.1");
  EXPECT_EQ(read_file(folder_.path() / "asked"), "x\n");
  EXPECT_EQ(hostcc().command({}, folder_.path()).arguments.front(), program);
  // A name is searched on PATH.
  const TestEnvironment name("ATTUNE_CC", "cc");
  const TestEnvironment path("PATH", "relative:/no/such/folder:" + folder_.path().string());
  EXPECT_EQ(hostcc().command({}, folder_.path()).arguments.front(), program);
}

TEST_F(HostCompilerTest, WithoutACompilerItSaysWhatToInstall) {
  {
    const TestEnvironment none("ATTUNE_CC", ""), path("PATH", folder_.path());
    EXPECT_EQ(message_of([] { hostcc().toolchain(); }),
              "unavailable: there is no C compiler on PATH, install gcc (apt-get install gcc) or set ATTUNE_CC");
  }
  const TestEnvironment wrong("ATTUNE_CC", "/no/such/cc");
  EXPECT_THAT(message_of([] { hostcc().toolchain(); }), HasSubstr("ATTUNE_CC does not name an executable program"));
}

TEST_F(HostCompilerTest, AProgramWithoutAVersionIsNoCompiler) {
  const TestEnvironment variable("ATTUNE_CC", "/bin/false");
  EXPECT_THAT(message_of([] { hostcc().toolchain(); }),
              HasSubstr("does not report its version (it exited with status 1)"));
}

TEST_F(HostCompilerTest, AProgramThatDidNotSayItsVersionIsNotAskedAgain) {
  const auto program = folder_.path() / "cc";
  std::ofstream(program) << "#!/bin/sh\necho x >>" << (folder_.path() / "asked").string() << "\nexit 1\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const TestEnvironment variable("ATTUNE_CC", program);
  const std::string first = message_of([] { hostcc().toolchain(); });
  EXPECT_THAT(first, HasSubstr("unavailable: the C compiler does not report its version"));
  EXPECT_EQ(message_of([] { hostcc().toolchain(); }), first);
  EXPECT_EQ(read_file(folder_.path() / "asked"), "x\n");
}

TEST_F(HostCompilerTest, TargetsTheArchitecturesOfThisMachinesInstructionSet) {
#if defined(__x86_64__)
  for (const char* arch : {"x86-64", "x86-64-v3", "x86-64-v4+bf16+amx", "x86-64+vnni"})
    EXPECT_TRUE(hostcc().targets(arch)) << arch;
  for (const char* arch : {"sm_90", "gfx942", "aarch64", "x86", "x86-640", ""})
    EXPECT_FALSE(hostcc().targets(arch)) << arch;
#else
  EXPECT_FALSE(hostcc().targets("x86-64-v3"));
#endif
}

}  // namespace
}  // namespace attune
