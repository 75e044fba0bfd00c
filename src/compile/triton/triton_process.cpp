// SPDX-License-Identifier: MIT
#include "compile/triton/triton_process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/blocked_write_signals.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "compile/compilation.h"
#include "compile/elf_file.h"
#include "process/process_stat.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kScriptName = "compile_kernels.py";
constexpr const char* kPrinted = "printed";
constexpr const char* kCubin = "cubin";
constexpr size_t kMaxAnswerBytes = 256 << 10;
constexpr size_t kMaxSaidBytes = 4096;
constexpr uint64_t kMaxResidentBytes = uint64_t{1} << 30;  // Usually 0.2 GB.

/// Settings of Triton that a user's variables must not change.
std::map<std::string, std::string> triton_environment(const TritonPackage& package, const fs::path& folder) {
  auto environment = separate_python_environment(folder.string());
  const std::string tools = package.folder + "/backends/nvidia/bin/";
  environment["TRITON_CACHE_DIR"] = (folder / "cache" / "triton").string();
  environment["TRITON_PTXAS_PATH"] = tools + "ptxas";
  environment["TRITON_PTXAS_BLACKWELL_PATH"] = tools + "ptxas-blackwell";
  environment["TRITON_DEFAULT_FP_FUSION"] = "1";
  environment["TRITON_DUMP_PTXAS_LOG"] = "1";  // Read by ptxas_report().
  environment["TRITON_STORE_BINARY_ONLY"] = "1";
  environment["TRITON_DISABLE_LINE_INFO"] = "1";  // A cubin must not depend on the place of its source.
  return environment;
}

ChildCommand python_command(const TritonPackage& package, const fs::path& folder, int requests, int answers) {
  const fs::path script = folder / kScriptName;
  write_task_file(script, triton_script(kScriptName));
  return {.arguments = {package.python, "-I", "-B", script.string(), package.packages},
          .environment = triton_environment(package, folder),
          .folder = folder,
          .output = folder / kPrinted,
          .inherited = {requests, answers},
          .limits = {},
          .joins_group = true};
}

std::string request_line(uint64_t number, const CompileTask& task) {
  try {
    return json{{"number", number},        {"source", task.source},
                {"arch", task.arch},       {"entry", task.entries.front()},
                {"options", task.options}, {"output", kCubin}}
               .dump() +
           '\n';
  } catch (const json::exception&) {
    fail(ErrorCode::invalid_input, "error: the source text or an option is not UTF-8, which Python needs");
  }
}

/// Text of the log that TritonCompiler::report() reads: a line for each fact.
std::string fact_lines(const json& facts) {
  std::string lines;
  for (const char* name : {"shared_bytes", "num_warps", "scratch_bytes"})
    lines += fmt::format("{} {}\n", name, facts.at(name).get<uint64_t>());
  return lines;
}

}  // namespace

TritonProcess::Ends TritonProcess::made_pipe(bool we_read) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    fail(ErrorCode::device, "too many files are open to start Python ({})", std::strerror(errno));
  Descriptor reader(ends[0]), writer(ends[1]);
  if (we_read) return {std::move(reader), std::move(writer)};
  return {std::move(writer), std::move(reader)};
}

TritonProcess::TritonProcess(TritonPackage package)
    : TritonProcess(std::move(package), made_pipe(false), made_pipe(true)) {}

TritonProcess::TritonProcess(TritonPackage package, Ends requests, Ends answers)
    : package_(std::move(package)),
      requests_(std::move(requests.ours)),
      answers_(std::move(answers.ours)),
      child_(python_command(package_, folder_.path(), requests.theirs.number(), answers.theirs.number())) {}

bool TritonProcess::is_fit() {
  if (child_.poll() || has_data(0)) return false;
  const auto fields = process_stat(child_.pid());
  return !fields.empty() && static_cast<uint64_t>(fields[kResidentPages] * ::sysconf(_SC_PAGESIZE)) < kMaxResidentBytes;
}

LibraryOutput TritonProcess::compile(const CompileTask& task) {
  std::error_code ignored;
  fs::remove(folder_.path() / kCubin, ignored);
  send(request_line(++number_, task));
  const json answer = json::parse(receive(), nullptr, false);
  LibraryOutput output;
  try {
    if (answer.at("number").get<uint64_t>() != number_) give_up("answered another request");
    output.is_compiled = answer.at("ok");
    output.log = without_folder(answer.at("log"));
    output.is_rejected = !output.is_compiled && answer.at("rejected").get<bool>();
    if (!output.is_compiled) {
      output.log += "\n" + said(kMaxSaidBytes);
      return output;
    }
    output.log = fact_lines(answer.at("facts")) + output.log;
  } catch (const json::exception&) {
    give_up("sent an invalid answer");
  }
  output.binary = cubin();
  return output;
}

std::string TritonProcess::cubin() {
  const fs::path file = folder_.path() / kCubin;
  std::error_code ignored;
  if (!fs::is_regular_file(fs::symlink_status(file, ignored))) give_up("left no cubin");
  std::string why;
  try {
    return read_file(file, kMaxBinaryBytes);
  } catch (const Error& error) {
    why = error.what();
  }
  give_up("left no readable cubin (" + why + ")");
}

void TritonProcess::send(const std::string& line) {
  const BlockedWriteSignals blocked;
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t count = ::write(requests_.number(), line.data() + sent, line.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) give_up("takes no request");
    sent += static_cast<size_t>(count);
  }
}

/// Waits for Python's answer or its end, whichever comes first: processes that it forked may keep the pipe open.
bool TritonProcess::has_data(int timeout_ms) {
  pollfd entries[] = {{answers_.number(), POLLIN, 0}, {child_.descriptor(), POLLIN, 0}};
  while (::poll(entries, std::size(entries), timeout_ms) < 0) {
    if (errno != EINTR) return false;
  }
  return (entries[0].revents & POLLIN) != 0;
}

std::string TritonProcess::receive() {
  std::string text;
  while (text.find('\n') == text.npos) {
    char buffer[4096];
    const ssize_t count = has_data(-1) ? ::read(answers_.number(), buffer, sizeof(buffer)) : 0;
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) give_up("ended or closed its channel");
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > kMaxAnswerBytes) give_up("sent too long an answer");
  }
  if (text.find('\n') + 1 != text.size()) give_up("answered twice");
  return text;
}

/// The end of what Python and its packages printed during this task.
std::string TritonProcess::said(size_t max_bytes) const {
  return without_folder(std::string(trim(read_file_end(folder_.path() / kPrinted, max_bytes))));
}

std::string TritonProcess::without_folder(std::string text) const {
  const std::string folder = folder_.path().string() + '/';
  for (size_t at = text.find(folder); at != text.npos; at = text.find(folder, at)) text.erase(at, folder.size());
  return text;
}

void TritonProcess::give_up(const std::string& why) {
  constexpr Milliseconds kGrace{20};
  constexpr size_t kShownBytes = 100;
  const WaitStatus status = child_.wait(kGrace);
  const std::string last = said(kShownBytes);
  throw CompilerLost(fmt::format("Python {}{}{}", why,
                                 status.end == WaitStatus::End::deadline ? "" : ", it " + status.describe(),
                                 last.empty() ? "" : "; it printed: " + shown(last, kShownBytes)));
}

}  // namespace attune
