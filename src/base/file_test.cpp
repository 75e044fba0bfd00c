// SPDX-License-Identifier: MIT
#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/error.h"

namespace {

/// The system calls of write_file_atomically(), in order: this program's own fsync and rename intercept them.
struct SystemCall {
  std::string name, path;
};
std::vector<SystemCall>* recorded = nullptr;

std::string path_of(int descriptor) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), ignored).string();
}

}  // namespace

extern "C" int fsync(int descriptor) {
  if (recorded != nullptr) recorded->push_back({"fsync", path_of(descriptor)});
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}
extern "C" int rename(const char* from, const char* to) noexcept {
  if (recorded != nullptr) recorded->push_back({"rename", to});
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace attune {
namespace {

namespace fs = std::filesystem;
using Use = FileLock::Use;
using testing::HasSubstr;

class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "attune_file_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  void put(const std::string& name, std::string_view content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  size_t num_files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static unsigned mode_of(const fs::path& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }
  template <typename Call>
  static Error error_of(Call call) {
    try {
      call();
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorCode::internal, "nothing was thrown");
  }

  fs::path folder_;
};

/// Takes root's right to ignore modes away while it lives; other users have none.
class WithoutRights {
 public:
  WithoutRights() {
    constexpr uid_t kNobody = 65534;
    EXPECT_EQ(was_root_ ? ::seteuid(kNobody) : 0, 0);
  }
  ~WithoutRights() { EXPECT_EQ(was_root_ ? ::seteuid(0) : 0, 0); }
  WithoutRights(const WithoutRights&) = delete;
  WithoutRights& operator=(const WithoutRights&) = delete;

 private:
  const bool was_root_ = ::geteuid() == 0;
};

TEST_F(File, WhatIsWrittenIsRead) {
  const std::string content("a\0b\r\n\xff", 6);
  write_file_atomically(folder_ / "x", content);
  EXPECT_EQ(read_file(folder_ / "x"), content);
  EXPECT_EQ(num_files(), 1u);
}

TEST_F(File, ContentIsOnTheDiskBeforeItHasTheNameAndTheNameBeforeTheCallReturns) {
  std::vector<SystemCall> calls;
  recorded = &calls;
  write_file_atomically(folder_ / "t.csv", "content");
  recorded = nullptr;
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].name, "fsync");
  EXPECT_THAT(calls[0].path, testing::StartsWith((folder_ / ".t.csv.").string()));
  EXPECT_EQ(calls[1].name, "rename");
  EXPECT_EQ(calls[1].path, folder_ / "t.csv");
  EXPECT_EQ(calls[2].name, "fsync");
  EXPECT_EQ(calls[2].path, folder_);
}

TEST_F(File, ALockFileGrantsNoMoreThanItsFile) {
  const mode_t old = ::umask(022);
  put("private.csv", "x");
  put("shared.csv", "x");
  ::chmod((folder_ / "private.csv").c_str(), 0600);
  ::chmod((folder_ / "shared.csv").c_str(), 0664);
  for (const char* name : {"private.csv", "shared.csv", "new.csv"}) FileLock(folder_ / name, Use::shared);
  ::umask(old);
  const auto mode_of = [&](const char* name) {
    struct stat status {};
    EXPECT_EQ(::stat((folder_ / name).c_str(), &status), 0);
    return status.st_mode & 0777;
  };
  EXPECT_EQ(mode_of("private.csv.lock"), 0600u);
  EXPECT_EQ(mode_of("shared.csv.lock"), 0644u);
  EXPECT_EQ(mode_of("new.csv.lock"), 0644u);
}

TEST_F(File, AMissingFileAFolderAndADanglingLinkAreInvalidInputNamingThePath) {
  fs::create_symlink("nowhere", folder_ / "link");
  for (const auto& path : {folder_ / "missing", folder_, folder_ / "link", folder_ / "missing" / "below"}) {
    const Error error = error_of([&] { read_file(path); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_input) << path;
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
  }
}

TEST_F(File, AFileThatThisUserMayNotReadIsInvalidInputThatSaysWhatToDo) {
  put("x", "12345");
  ::chmod((folder_ / "x").c_str(), 0);
  ::chmod(folder_.c_str(), 0755);
  const Error error = error_of([&] {
    const WithoutRights rights;
    read_file(folder_ / "x");
  });
  EXPECT_EQ(error.code(), ErrorCode::invalid_input);
  EXPECT_THAT(error.what(), HasSubstr("change its mode or owner"));
  EXPECT_THAT(error.what(), HasSubstr((folder_ / "x").string()));
}

TEST_F(File, AFolderInPlaceOfAFileSaysWhatToDo) {
  EXPECT_EQ(error_of([&] { read_file(folder_); }).what(),
            "expected a file, got a folder, name a file: '" + folder_.string() + "'");
}

TEST_F(File, MoreThanTheLimitIsRejected) {
  put("x", "12345");
  EXPECT_EQ(read_file(folder_ / "x", 5), "12345");
  EXPECT_EQ(error_of([&] { read_file(folder_ / "x", 4); }).code(), ErrorCode::invalid_input);
  EXPECT_EQ(error_of([&] { read_file("/dev/zero", 1 << 20); }).code(), ErrorCode::invalid_input);
}

TEST_F(File, ItsEndIsReadAloneAndIsEmptyIfItCannotBeRead) {
  put("x", "12345");
  EXPECT_EQ(read_file_end(folder_ / "x", 2), "45");
  EXPECT_EQ(read_file_end(folder_ / "x", 5), "12345");
  EXPECT_EQ(read_file_end(folder_ / "x", 99), "12345");
  EXPECT_EQ(read_file_end(folder_ / "missing", 9), "");
  EXPECT_EQ(read_file_end(folder_, 9), "");
}

TEST_F(File, WritingKeepsTheModeOfAnExistingFile) {
  put("x", "old");
  ASSERT_EQ(::chmod((folder_ / "x").c_str(), 0640), 0);
  write_file_atomically(folder_ / "x", "new", 0600);
  EXPECT_EQ(mode_of(folder_ / "x"), 0640u);
  EXPECT_EQ(read_file(folder_ / "x"), "new");
}

TEST_F(File, ANewFileGetsTheModeAskedForLessTheUmask) {
  const mode_t old = ::umask(027);
  write_file_atomically(folder_ / "x", "", 0666);
  ::umask(old);
  EXPECT_EQ(mode_of(folder_ / "x"), 0640u);
}

TEST_F(File, WritingThroughALinkKeepsTheLink) {
  fs::create_directory(folder_ / "real");
  put("real/x", "old");
  fs::create_symlink("real/x", folder_ / "link");
  write_file_atomically(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_file(folder_ / "real" / "x"), "new");
}

TEST_F(File, ALinkThatAnotherUserPlantedIsNotWrittenThrough) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
  constexpr uid_t kOther = 65534;
  put("precious", "old");
  const fs::path shared = folder_ / "shared";
  fs::create_directory(shared);
  ASSERT_EQ(::chmod(shared.c_str(), 0777), 0);
  fs::create_symlink(folder_ / "precious", shared / "link");
  fs::create_symlink(folder_, shared / "folder");
  for (const char* name : {"link", "folder"}) ASSERT_EQ(::lchown((shared / name).c_str(), kOther, kOther), 0);
  for (const fs::path& path : {shared / "link", shared / "folder" / "precious", shared / "folder" / "new"}) {
    const Error error = error_of([&] { write_file_atomically(path, "content"); });
    EXPECT_THAT(error.what(), HasSubstr("another user made this link")) << path;
    EXPECT_EQ(error_of([&] { check_output(path); }).code(), ErrorCode::invalid_input) << path;
    EXPECT_THAT(error_of([&] { FileLock lock(path); }).what(), HasSubstr("another user made this link")) << path;
  }
  EXPECT_THAT(error_of([&] { make_private_folder(shared / "folder" / "captures"); }).what(),
              HasSubstr("made this link"));
  EXPECT_EQ(error_of([&] { check_output_folder(shared / "folder" / "run"); }).code(), ErrorCode::invalid_input);
  EXPECT_EQ(read_file(folder_ / "precious"), "old");
  EXPECT_FALSE(fs::exists(folder_ / "new") || fs::exists(folder_ / "captures"));
}

TEST_F(File, WhatCannotBeWrittenIsAnIoErrorAndChangesNothing) {
  fs::create_symlink("nowhere", folder_ / "link");
  fs::create_directory(folder_ / "folder");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  put("plain", "");
  const size_t before = num_files();
  for (const auto& path :
       {folder_ / "link", folder_ / "folder", folder_ / "pipe", folder_ / "missing" / "x", folder_ / "plain" / "x"}) {
    const Error error = error_of([&] { write_file_atomically(path, "content"); });
    EXPECT_EQ(error.code(), ErrorCode::io) << path;
    EXPECT_EQ(error_of([&] { check_writable(path); }).code(), ErrorCode::io) << path;
  }
  EXPECT_EQ(num_files(), before);
  EXPECT_FALSE(fs::exists(folder_ / "nowhere"));
}

TEST_F(File, ALinkToAPipeIsNoRegularFile) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  fs::create_symlink("/proc/self/fd/" + std::to_string(pipe[1]), folder_ / "stdout");
  const Error error = error_of([&] { check_output(folder_ / "stdout"); });
  EXPECT_THAT(error.what(), HasSubstr("not a regular file"));
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_F(File, AMountWithoutExecutionIsKnown) {
  EXPECT_FALSE(is_mounted_noexec("/usr/bin/a/folder/to/come"));
  std::ifstream mounts("/proc/mounts");
  std::string device, point, type, options, rest;
  while (mounts >> device >> point >> type >> options && std::getline(mounts, rest)) {
    if (options.find("noexec") == std::string::npos || ::access(point.c_str(), X_OK) != 0) continue;
    EXPECT_TRUE(is_mounted_noexec(fs::path(point) / "a/folder/to/come")) << point;
    return;
  }
  GTEST_SKIP() << "no mount of this machine has noexec";
}

TEST_F(File, AReasonIsTheSystemsOwn) {
  const Error error = error_of([] { check_output("/proc/self/attune_test"); });
  EXPECT_THAT(error.what(), testing::Not(HasSubstr("no permission"))) << "root or not, /proc has no such files";
}

TEST_F(File, AReadOnlyFileIsNotReplaced) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  put("x", "old");
  ASSERT_EQ(::chmod((folder_ / "x").c_str(), 0444), 0);
  EXPECT_EQ(error_of([&] { write_file_atomically(folder_ / "x", "new"); }).code(), ErrorCode::io);
  EXPECT_EQ(read_file(folder_ / "x"), "old");
}

TEST_F(File, AWriteThatFailsHalfwayLeavesTheOldFileAndNoTemporaryOne) {
  put("x", "old");
  const auto write_under_a_limit = [&] {
    // A file size limit simulates a full disk: write() writes a part, then fails.
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    limit.rlim_cur = limit.rlim_max = 4096;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Error error = error_of([&] { write_file_atomically(folder_ / "x", std::string(100'000, 'n')); });
    ::_exit(error.code() == ErrorCode::io && std::string_view(error.what()).find("/x'") != std::string_view::npos ? 7
                                                                                                                  : 8);
  };
  EXPECT_EXIT(write_under_a_limit(), testing::ExitedWithCode(7), "");
  EXPECT_EQ(read_file(folder_ / "x"), "old");
  EXPECT_EQ(num_files(), 1u);
}

TEST_F(File, CheckWritableCreatesNothing) {
  check_writable(folder_ / "new");
  EXPECT_EQ(num_files(), 0u);
}

TEST_F(File, AHeldLockTimesOutNamingTheFileAndIsFreeAfterwards) {
  {
    const FileLock held(folder_ / "t.csv");
    const Error error = error_of([&] { FileLock second(folder_ / "t.csv", Use::alone, 0); });
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_THAT(error.what(), HasSubstr("t.csv.lock"));
  }
  EXPECT_NO_THROW(FileLock(folder_ / "t.csv", Use::alone, 0));
}

TEST_F(File, ALockThatCannotBeMadeSaysTheFirstCause) {
  ::chmod(folder_.c_str(), 0555);
  const Error error = error_of([&] {
    const WithoutRights rights;
    FileLock(folder_ / "t.csv");
  });
  ::chmod(folder_.c_str(), 0700);
  EXPECT_EQ(error.code(), ErrorCode::io);
  EXPECT_THAT(error.what(), HasSubstr("(Permission denied)"));
}

TEST_F(File, ALockFileIsPrivateUnlessOthersPublishThere) {
  const mode_t before = ::umask(022);
  const FileLock alone(folder_ / "mine"), shared(folder_ / "ours", Use::shared);
  ::umask(before);
  EXPECT_EQ(mode_of(folder_ / "mine.lock"), 0600u);
  EXPECT_EQ(mode_of(folder_ / "ours.lock"), 0644u);
}

TEST_F(File, TwoNamesOfOneFileShareALock) {
  put("x", "");
  fs::create_symlink("x", folder_ / "link");
  const FileLock held(folder_ / "link");
  EXPECT_EQ(error_of([&] { FileLock second(folder_ / "x", Use::alone, 0); }).code(), ErrorCode::timeout);
}

TEST_F(File, ALockAdmitsOneThreadAtATime) {
  std::atomic<int> inside{0}, max_inside{0};
  const auto enter = [&] {
    for (int i = 0; i < 3; ++i) {
      const FileLock lock(folder_ / "x");
      max_inside = std::max(max_inside.load(), ++inside);
      std::this_thread::yield();
      --inside;
    }
  };
  std::thread first(enter), second(enter);
  first.join();
  second.join();
  EXPECT_EQ(max_inside, 1);
}

TEST_F(File, APrivateFolderIsMadeWithItsParents) {
  make_private_folder(folder_ / "a" / "b" / "");
  EXPECT_EQ(mode_of(folder_ / "a" / "b"), 0700u);
  EXPECT_EQ(mode_of(folder_ / "a"), 0700u);
  put("plain", "");
  EXPECT_EQ(error_of([&] { make_private_folder(folder_ / "plain"); }).code(), ErrorCode::io);
  EXPECT_EQ(error_of([&] { make_private_folder(folder_ / "plain" / "c"); }).code(), ErrorCode::io);
}

TEST_F(File, WhatIsNoFileIsRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (folder_ / "socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const char* name : {"pipe", "socket"}) {
    const Error error = error_of([&] { read_file(folder_ / name); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_THAT(error.what(), HasSubstr(name));
  }
  ::close(socket);
}

TEST_F(File, APipeThatIsOpenIsReadToItsEnd) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::thread writer([&] {
    std::this_thread::yield();  // The reader waits for data still to come.
    EXPECT_EQ(::write(ends[1], "ab", 2), 2);
    ::close(ends[1]);
  });
  EXPECT_EQ(read_file("/dev/fd/" + std::to_string(ends[0])), "ab");
  writer.join();
  ::close(ends[0]);
}

TEST_F(File, LeftOversOfDeadProcessesAreRemoved) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  const std::string dead = std::to_string(child), living = std::to_string(::getpid());
  const std::vector<std::string> kept = {".t.csv." + living + ".0.tmp", ".u.csv." + dead + ".0.tmp", ".t.csv.tmp",
                                         ".t.csv.x.0.tmp", "t.csv"};
  put(".t.csv." + dead + ".0.tmp", "torn");
  for (const auto& name : kept) put(name, "kept");
  remove_stale_temporaries(folder_ / "t.csv");
  EXPECT_EQ(num_files(), kept.size());
  for (const auto& name : kept) EXPECT_TRUE(fs::exists(folder_ / name)) << name;
}

}  // namespace
}  // namespace attune
