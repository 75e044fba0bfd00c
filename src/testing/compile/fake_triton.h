// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "process/run_command.h"
#include "process/temporary_folder.h"

namespace attune {

/// A Python environment with a package `triton` that compiles any function to an empty cubin with its name. A kernel's
/// text runs when it is imported, so it can do what a faulty package does. Needs python3 on PATH.
class FakeTriton {
 public:
  explicit FakeTriton(std::string_view version = "3.9.0") : FakeTriton(version, base_python()) {}

  /// For ATTUNE_PYTHON; empty: there is no python3 here.
  std::string python() const { return python_.empty() ? "" : (folder_.path() / "bin/python3").string(); }
  std::filesystem::path packages() const { return packages_; }
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  struct BasePython {
    std::string program, version;  ///< Version `3.11`.
  };

  static BasePython base_python() {
    const auto program = find_on_path("python3");
    if (program.empty()) return {};
    const ChildCommand command{
        .arguments = {program.string(), "-I", "-c",
                      "import sys; print(sys._base_executable, '%d.%d' % sys.version_info[:2], end='')"},
        .environment = {{"PATH", program_search_path()}, {"HOME", "/nonexistent"}}};
    const std::string output = run_command(command, Milliseconds(10'000)).output;
    const size_t blank = output.rfind(' ');
    return blank == output.npos ? BasePython{} : BasePython{output.substr(0, blank), output.substr(blank + 1)};
  }

  FakeTriton(std::string_view version, const BasePython& base) : python_(base.program) {
    if (python_.empty()) return;
    namespace fs = std::filesystem;
    packages_ = folder_.path() / "lib" / ("python" + base.version) / "site-packages";
    fs::create_directories(folder_.path() / "bin");
    fs::create_symlink(python_, folder_.path() / "bin/python3");
    put(folder_.path() / "pyvenv.cfg", "home = " + fs::path(python_).parent_path().string() + "\n");
    std::string record;
    const auto put_module = [&](const std::string& name, std::string_view text) {
      put(packages_ / "triton" / name, text);
      record += "triton/" + name + ",sha256=0," + std::to_string(text.size()) + "\n";
    };
    put_module("__init__.py", kPackage);
    put_module("compiler.py", kCompiler);
    put_module("backends/compiler.py",
               "import collections\nGPUTarget = collections.namedtuple('GPUTarget', 'backend arch warp_size')\n");
    const fs::path facts = packages_ / ("triton-" + std::string(version) + ".dist-info");
    put(facts / "METADATA", "Metadata-Version: 2.1\nName: triton\nVersion: " + std::string(version) + "\n");
    put(facts / "RECORD", record);
  }

  static void put(const std::filesystem::path& file, std::string_view text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  static constexpr std::string_view kPackage = R"(
import inspect, struct, types

class JITFunction:
    def __init__(self, function):
        self.fn, self.__name__ = function, function.__name__
        self.arg_names = list(inspect.signature(function).parameters)
        self.params = [types.SimpleNamespace(name=one.name, is_constexpr="constexpr" in str(one.annotation),
                                             has_default=one.default is not one.empty, default=one.default)
                       for one in inspect.signature(function).parameters.values()]

class Autotuner:
    def __init__(self, fn, configs, reset_to_zero, restore_value, pre_hook):
        self.fn, self.configs, self.user_defined_pre_hook = fn, configs, pre_hook is not None
        self.reset_to_zero, self.restore_value = list(reset_to_zero or []), list(restore_value or [])

class Heuristics:
    def __init__(self, fn):
        self.fn = fn

class Config:
    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None):
        self.__dict__.update(kwargs=kwargs, num_warps=num_warps, num_stages=num_stages, num_ctas=num_ctas, maxnreg=maxnreg, pre_hook=pre_hook)

def autotune(configs, key, reset_to_zero=None, restore_value=None, pre_hook=None):
    return lambda fn: Autotuner(fn, configs, reset_to_zero, restore_value, pre_hook)

def heuristics(values):
    return Heuristics

runtime = types.SimpleNamespace(JITFunction=JITFunction)
jit = JITFunction

def cubin(name, arch):
    texts = b"\0" + name.encode() + b"\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0, 0)
    header = b"\x7fELF\2\1\1\x33\7" + bytes(7) + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64, arch, 64, 0, 0, 64, 3, 0)
    section = lambda kind, offset, size, link: struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, offset, size, link, 0, 1, 24)
    at = 64 + 3 * 64
    return header + section(0, 0, 0, 0) + section(3, at, len(texts), 0) + section(2, at + len(texts), len(symbols), 1) + texts + symbols

def compile(source, target, options):
    print("ptxas info    : Used 40 registers, 0 bytes spill stores, 0 bytes spill loads")
    facts = types.SimpleNamespace(shared=1024, num_warps=options["num_warps"], global_scratch_size=0)
    made = getattr(source.fn, "made", None) or cubin(source.fn.__name__, target.arch)
    return types.SimpleNamespace(asm={"cubin": made}, metadata=facts)
)";
  static constexpr std::string_view kCompiler = R"(
class ASTSource:
    def __init__(self, fn, signature, constexprs, attrs):
        self.fn = fn
)";

  std::string python_;
  TemporaryFolder folder_{"fake-triton"};
  std::filesystem::path packages_;
};

}  // namespace attune
