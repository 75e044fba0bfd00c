// SPDX-License-Identifier: MIT
// Several pools of one process that share compilations, as each device's thread has one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "compile/compile_pool.h"
#include "process/temporary_folder.h"
#include "testing/becomes_true.h"
#include "testing/script_compiler.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class CompilePoolsThatShare : public testing::Test {
 protected:
  /// A pool with a cache object of its own, like a device's.
  struct Own {
    Own(const fs::path& folder, PoolOptions options) : cache({folder}, 1 << 30), pool(cache, std::move(options)) {}
    KernelCache cache;
    CompilePool pool;
  };
  /// A pool that loses its recipes and places only when it is gone or paused.
  std::unique_ptr<Own> own(const std::shared_ptr<SharedCompilations>& shared, const std::string& cache = "cache") {
    return std::make_unique<Own>(folder_.path() / cache, PoolOptions{.compilers = {&compiler_}, .shared = shared});
  }
  static CompileTask script(const std::string& source) { return {"script", source, "fake", {}, {}}; }
  static std::shared_ptr<SharedCompilations> places(uint32_t jobs, Milliseconds patience = 1h) {
    return std::make_shared<SharedCompilations>(jobs, patience);
  }
  std::string marked(const std::string& name) const { return (folder_.path() / name).string(); }
  bool is_marked(const std::string& name) const { return fs::exists(marked(name)); }
  void mark(const std::string& name) const { std::ofstream(marked(name)) << ""; }
  /// A script that notes its name, waits for a mark and then does something.
  CompileTask noted(const std::string& name, const std::string& then = ": >out", const std::string& go = "") const {
    const std::string wait = go.empty() ? "" : "while [ ! -e " + marked(go) + " ]; do sleep 0.001; done; ";
    return script("echo " + name + " >>" + marked("order") + "; : >" + marked(name) + "; " + wait + then);
  }
  std::vector<std::string> order() const {
    std::vector<std::string> names;
    if (!is_marked("order")) return names;
    const std::string text = read_file(marked("order"));
    for (const auto line : split(text, '\n')) {
      if (!line.empty()) names.emplace_back(line);
    }
    return names;
  }
  /// All answers of a pool. Gives up after ten seconds without one.
  static std::vector<CompileResult> answers_of(CompilePool& pool) {
    std::vector<CompileResult> all;
    while (pool.unanswered() > 0) {
      auto some = pool.wait(10s);
      if (some.empty()) break;
      for (CompileResult& one : some) all.push_back(std::move(one));
    }
    return all;
  }
  /// Makes several pools compile the tasks, each in a thread of its own. `submitted` is called once all have submitted
  /// them.
  std::vector<std::vector<CompileResult>> compile_in_threads(
      const std::vector<std::vector<CompileTask>>& tasks, const std::shared_ptr<SharedCompilations>& shared,
      const std::function<void()>& submitted = [] {}) {
    std::vector<std::vector<CompileResult>> results(tasks.size());
    std::atomic<size_t> num_asked = 0;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < tasks.size(); ++i) {
      threads.emplace_back([&, i] {
        const auto one = own(shared);
        for (const CompileTask& task : tasks[i]) one->pool.submit(task);
        ++num_asked;
        results[i] = answers_of(one->pool);
      });
    }
    EXPECT_TRUE(becomes_true([&] { return num_asked == tasks.size(); }));
    submitted();
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  TemporaryFolder folder_{"pool-test"};
  ScriptCompiler compiler_;
};

TEST_F(CompilePoolsThatShare, ARecipeThatThreeAreAskedForIsCompiledOnceAndAllHaveItsBinary) {
  const CompileTask task = noted("x", "sleep 0.02; : >out", "go");
  const auto results = compile_in_threads({{task}, {task}, {task}}, places(8), [&] { mark("go"); });
  for (const auto& answers : results) {
    ASSERT_THAT(answers, SizeIs(1));
    ASSERT_TRUE(answers[0].binary) << answers[0].outcome.detail;
    EXPECT_TRUE(fs::exists(answers[0].binary->file));
    EXPECT_GE(answers[0].seconds, 0.02) << "what it took in the pool that compiled it";
  }
  EXPECT_THAT(order(), ElementsAre("x"));
}

TEST_F(CompilePoolsThatShare, AFailureIsOfAllThatAreAskedForItNowOrLater) {
  const CompileTask task = noted("x", "echo \"error: $$\"; exit 1", "go");
  const auto shared = places(8);
  const auto results = compile_in_threads({{task}, {task}, {task}}, shared, [&] { mark("go"); });
  const auto later = own(shared);
  EXPECT_TRUE(later->pool.known(task));
  const Outcome outcome = later->pool.compile({task})[0].outcome;
  EXPECT_EQ(outcome.status, Status::compile_failed);
  for (const auto& answers : results) {
    ASSERT_THAT(answers, SizeIs(1));
    EXPECT_EQ(answers[0].outcome, outcome);
  }
  EXPECT_THAT(order(), ElementsAre("x"));
}

TEST_F(CompilePoolsThatShare, OneThatIsDestroyedLeavesItsRecipeToAnother) {
  const auto shared = places(8);
  const CompileTask task = noted("x", "mkdir " + marked("first") + " && exec sleep 1000; : >out");
  auto first = own(shared), second = own(shared);
  first->pool.submit(task);
  EXPECT_TRUE(becomes_true([&] { return is_marked("first"); }));
  second->pool.submit(task);
  std::atomic<bool> is_waiting = false;
  std::vector<CompileResult> answers;
  std::thread other([&] {
    is_waiting = true;
    answers = answers_of(second->pool);
  });
  EXPECT_TRUE(becomes_true([&] { return is_waiting.load(); }));
  first.reset();
  other.join();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_TRUE(answers[0].outcome.ok()) << answers[0].outcome.detail;
  EXPECT_THAT(order(), ElementsAre("x", "x"));
}

TEST_F(CompilePoolsThatShare, APausedOneHoldsUpNobody) {
  const auto shared = places(1);
  const CompileTask task = noted("x", ": >out", "go");
  const auto paused = own(shared), other = own(shared);
  paused->pool.submit(task);
  EXPECT_TRUE(becomes_true([&] { return is_marked("x"); }));
  other->pool.submit(noted("y"));
  other->pool.submit(task);
  EXPECT_THAT(other->pool.wait(0ms), IsEmpty());
  paused->pool.pause();
  mark("go");
  EXPECT_THAT(answers_of(other->pool), SizeIs(2));
  pollfd entry{paused->pool.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 0), 0) << "a paused one has nothing to do";
  paused->pool.resume();
  const auto answers = answers_of(paused->pool);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_TRUE(answers[0].from_cache) << "its own compiler is not needed any more";
  EXPECT_THAT(order(), ElementsAre("x", "y", "x"));
}

TEST_F(CompilePoolsThatShare, ACompilerThatWasPausedGoesOnWhenItHasAPlaceAgain) {
  const auto shared = places(1);
  const auto paused = own(shared), other = own(shared);
  paused->pool.submit(noted("x", ": >" + marked("x-went-on") + "; : >out", "go-x"));
  EXPECT_TRUE(becomes_true([&] { return is_marked("x"); }));
  paused->pool.pause();
  other->pool.submit(noted("y", ": >out", "go-y"));
  EXPECT_TRUE(becomes_true([&] { return is_marked("y"); }));
  mark("go-x");
  paused->pool.resume();
  EXPECT_THAT(paused->pool.wait(25ms), IsEmpty());
  EXPECT_FALSE(is_marked("x-went-on")) << "there is one place";
  mark("go-y");
  EXPECT_THAT(answers_of(other->pool), SizeIs(1));
  const auto answers = answers_of(paused->pool);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_FALSE(answers[0].from_cache);
  EXPECT_THAT(order(), ElementsAre("x", "y"));
}

TEST_F(CompilePoolsThatShare, NoMoreThanTheirPlacesRunAtOnce) {
  // Each process leaves a mark while it runs and counts the marks.
  const std::string count = "mkdir " + marked("m") + ".$$; ls -d " + marked("m") + ".* | wc -l >>" + marked("counts") +
                            "; sleep 0.01; rmdir " + marked("m") + ".$$; : >out";
  std::vector<std::vector<CompileTask>> tasks(3);
  for (int i = 0; i < 12; ++i) tasks[i % 3].push_back(script(count + fmt::format(" # {}", i)));
  for (const auto& answers : compile_in_threads(tasks, places(2))) EXPECT_THAT(answers, SizeIs(4));
  const std::string counts = read_file(marked("counts"));
  EXPECT_THAT(counts, testing::HasSubstr("2"));
  EXPECT_EQ(counts.find_first_of("3456789"), std::string::npos) << counts;
}

TEST_F(CompilePoolsThatShare, OneHasAllPlacesWhileTheOthersHaveNothingToDo) {
  const auto shared = places(2);
  const auto idle = own(shared), busy = own(shared);
  const auto results = busy->pool.compile({noted("a", ": >out", "b"), noted("b", ": >out", "a")});
  for (const CompileResult& one : results) EXPECT_TRUE(one.outcome.ok()) << one.outcome.detail;
}

TEST_F(CompilePoolsThatShare, AFreePlaceGoesToOneThatWaitedLongerThanAnotherWithMoreToDo) {
  const auto shared = places(1);
  const auto first = own(shared), second = own(shared);
  for (const char* name : {"a1", "a2", "a3"}) first->pool.submit(noted(name, ": >out", "go"));
  second->pool.submit(noted("b"));
  EXPECT_TRUE(becomes_true([&] { return is_marked("a1"); }));
  mark("go");
  EXPECT_THAT(first->pool.wait(10s), SizeIs(1));
  EXPECT_THAT(answers_of(second->pool), SizeIs(1));
  EXPECT_THAT(answers_of(first->pool), SizeIs(2));
  EXPECT_THAT(order(), ElementsAre("a1", "b", "a2", "a3"));
}

TEST_F(CompilePoolsThatShare, TheDescriptorOfOneThatWaitsTellsTheEndOfAnother) {
  const auto shared = places(8);
  const auto first = own(shared), second = own(shared);
  const CompileTask task = noted("x", ": >out", "go");
  first->pool.submit(task);
  second->pool.prefetch(task);
  pollfd entry{second->pool.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 5), 0) << "the compiler runs";
  second->pool.submit(task);
  EXPECT_EQ(second->pool.unanswered(), 1u);
  mark("go");
  EXPECT_THAT(answers_of(first->pool), SizeIs(1));
  EXPECT_EQ(::poll(&entry, 1, 10'000), 1);
  EXPECT_THAT(second->pool.wait(0ms), SizeIs(1));
  EXPECT_EQ(::poll(&entry, 1, 0), 0) << "the answer was taken";
}

TEST_F(CompilePoolsThatShare, OneThatNobodyCallsHoldsUpNobody) {
  const auto shared = places(1, 20ms);
  const auto gone = own(shared), other = own(shared);
  const CompileTask task = noted("x", "mkdir " + marked("first") + " && exec sleep 1000; : >out");
  gone->pool.submit(task);
  gone->pool.submit(noted("z"));
  EXPECT_TRUE(becomes_true([&] { return is_marked("first"); }));
  other->pool.submit(noted("y"));
  other->pool.submit(task);
  EXPECT_THAT(answers_of(other->pool), SizeIs(2));
  const auto answers = answers_of(gone->pool);
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_TRUE(answers[0].from_cache);
  EXPECT_THAT(order(), ElementsAre("x", "y", "x", "z"));
}

TEST_F(CompilePoolsThatShare, ABinaryThatIsNotInTheCacheIsCompiledAnew) {
  const auto shared = places(8);
  const auto first = own(shared), second = own(shared, "another");
  const CompileTask task = noted("x", ": >out", "go");
  first->pool.submit(task);
  second->pool.submit(task);
  mark("go");
  EXPECT_THAT(answers_of(first->pool), SizeIs(1));
  const auto answers = answers_of(second->pool);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_FALSE(answers[0].from_cache);
  EXPECT_THAT(order(), ElementsAre("x", "x"));
}

}  // namespace
}  // namespace attune
