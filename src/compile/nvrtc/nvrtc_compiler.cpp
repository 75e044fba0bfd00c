// SPDX-License-Identifier: MIT
#include "compile/nvrtc/nvrtc_compiler.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "compile/elf_file.h"
#include "compile/nvrtc/nvrtc_functions.h"

namespace attune {
namespace {

constexpr uint64_t kMemoryBytes = uint64_t{8} << 30;  // Address space; the helper maps 0.3 GB of libraries.
constexpr Milliseconds kDeadline{60'000};

constexpr std::string_view kMinimal = "--minimal";
constexpr NvrtcVersion kLeastForMinimal = {12, 4};

/// A program of NVRTC that ends with its owner.
class Program {
 public:
  Program(const NvrtcLibrary& library, const std::string& source) : library_(library) {
    check(library.nvrtcCreateProgram(&program_, source.c_str(), "kernel.cu", 0, nullptr, nullptr));
  }
  ~Program() { library_.nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  bool compile(const std::vector<const char*>& options) {
    const nvrtcResult result = library_.nvrtcCompileProgram(program_, static_cast<int>(options.size()), options.data());
    if (result != NVRTC_SUCCESS) error_ = library_.nvrtcGetErrorString(result);
    is_rejected_ = result == NVRTC_ERROR_COMPILATION;
    return result == NVRTC_SUCCESS;
  }
  const std::string& error() const noexcept { return error_; }
  bool is_rejected() const noexcept { return is_rejected_; }
  std::string log() const { return text(library_.nvrtcGetProgramLogSize, library_.nvrtcGetProgramLog); }
  std::string cubin() const { return text(library_.nvrtcGetCUBINSize, library_.nvrtcGetCUBIN); }

 private:
  template <typename Size, typename Get>
  std::string text(Size size, Get get) const {
    size_t bytes = 0;
    check(size(program_, &bytes));
    std::string content(bytes, '\0');
    check(get(program_, content.data()));
    return content;
  }
  void check(nvrtcResult result) const {
    if (result != NVRTC_SUCCESS)
      fail(ErrorCode::unavailable, "NVRTC cannot compile, check its installation: {}",
           library_.nvrtcGetErrorString(result));
  }

  const NvrtcLibrary& library_;
  nvrtcProgram program_ = nullptr;
  std::string error_;
  bool is_rejected_ = false;
};

/// NVRTC takes zero-terminated texts, and would ignore everything after a zero.
void refuse_zeros(const CompileTask& task) {
  const auto has_zero = [](const std::string& text) { return text.find('\0') != text.npos; };
  if (has_zero(task.source) || std::any_of(task.options.begin(), task.options.end(), has_zero))
    fail(ErrorCode::invalid_input, "the source text or an option has a zero byte, and NVRTC would read no further");
}

}  // namespace

bool nvrtc_takes(std::string_view option, NvrtcVersion version) {
  return option != kMinimal || version >= kLeastForMinimal;
}

std::string NvrtcCompiler::toolchain() const { return "nvrtc-" + NvrtcLibrary::get().version(); }

bool NvrtcCompiler::targets(std::string_view arch) const {
  if (!arch.starts_with("sm_")) return false;
  arch.remove_prefix(3);
  const size_t digits = std::min(arch.find_first_not_of("0123456789"), arch.size());
  const std::string_view rest = arch.substr(digits);
  return digits >= 2 && (rest.empty() || rest == "a" || rest == "f");
}

CompilerLimits NvrtcCompiler::limits() const { return {.memory_bytes = kMemoryBytes, .deadline = kDeadline}; }

std::map<std::string, std::string> NvrtcCompiler::report(const CompilerOutput& output) const {
  auto found = ptxas_report(output.log);
  if (const auto bytes = code_bytes(output.binary)) found.emplace("code_bytes", std::to_string(*bytes));
  return found;
}

std::string NvrtcCompiler::flaw_of(std::string_view file) const {
  return cubin_architecture(file) ? "" : "not a cubin";
}

/// A change of the options below must raise command_version().
LibraryOutput NvrtcCompiler::compile(const CompileTask& task) const {
  refuse_zeros(task);
  const NvrtcLibrary& library = NvrtcLibrary::get();
  std::vector<std::string> options = {"--gpu-architecture=" + task.arch, "--std=c++17",
                                      "--device-as-default-execution-space", "--ptxas-options=-v"};
  if (!library.include_folder().empty()) options.push_back("--include-path=" + library.include_folder());
  for (const std::string& option : task.options) {
    if (nvrtc_takes(option, library.version_number())) options.push_back(option);
  }
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  Program program(library, task.source);
  LibraryOutput output;
  output.is_compiled = program.compile(pointers);
  output.is_rejected = program.is_rejected();
  output.log = program.log();
  output.log.resize(std::strlen(output.log.c_str()));  // It ends with a zero.
  if (output.is_compiled)
    output.binary = program.cubin();
  else
    output.log += "\n" + program.error();
  return output;
}

void register_nvrtc_compilers(std::vector<const Compiler*>& compilers);
void register_nvrtc_compilers(std::vector<const Compiler*>& compilers) {
  static const NvrtcCompiler nvrtc;
  compilers.push_back(&nvrtc);
}

}  // namespace attune
