// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/descriptor.h"
#include "compile/compiler.h"
#include "compile/triton/triton_package.h"
#include "process/child.h"
#include "process/temporary_folder.h"

namespace attune {

/// A Python process that compiles Triton kernels one after another, with the script compile_kernels.py. It joins this
/// process's group, writes only into a folder of its own, and ends with the calling thread. Belongs to one thread.
class TritonProcess {
 public:
  /// Throws like Child.
  explicit TritonProcess(TritonPackage package);

  const TritonPackage& package() const noexcept { return package_; }
  /// Compiles a kernel; waits for as long as Python takes. Throws CompilerLost when Python ends, or does not answer
  /// this request as agreed; it must not be used again.
  LibraryOutput compile(const CompileTask& task);
  /// False: Python has ended, has sent something since its last answer, or has grown; start another.
  bool is_fit();

 private:
  struct Ends {
    Descriptor ours, theirs;
  };
  static Ends made_pipe(bool we_read);
  TritonProcess(TritonPackage package, Ends requests, Ends answers);
  void send(const std::string& line);
  std::string receive();
  std::string cubin();
  bool has_data(int timeout_ms);
  std::string said(size_t max_bytes) const;
  std::string without_folder(std::string text) const;
  [[noreturn]] void give_up(const std::string& why);

  TritonPackage package_;
  TemporaryFolder folder_{"triton"};
  Descriptor requests_, answers_;
  Child child_;
  uint64_t number_ = 0;
};

}  // namespace attune
