# SPDX-License-Identifier: MIT
"""What locks guard is annotated: one access without the lock, planted into a copy of a source, is an error of clang's
-Wthread-safety, which tools/test --all makes one."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Source, a line of it after which the access is planted, the access, and what clang must name.
PLANTED = [
    ("dispatch/plan_service.cpp", "const Plan& PlanService::require(const Problem& problem, const Candidate& candidate) {",
     "wanted_.clear();", "wanted_"),
    ("dispatch/plan_service.cpp", "bool PlanService::reload(bool reads_environment) {", "store_.read_environment();", "store_"),
    ("dispatch/plan_service.cpp", "bool PlanService::reload(bool reads_environment) {", "make_room();", "make_room"),
    ("dispatch/plans/answer_cache.cpp", "size_t AnswerCache::size() const {", "if (num_put_ > 0) return 0;", "num_put_"),
    ("dispatch/threads/dispatch_log.cpp", "void DispatchLog::say(const std::string& sentence) {", "++num_lines_;", "num_lines_"),
    ("dispatch/plans/graph_holds.cpp", "void GraphHolds::free_ended() {", "holds_.clear();", "holds_"),
    ("dispatch/plans/stream_plan.cpp", "bool has_workspace() const noexcept { return has_workspace_; }",
     "void forget() { by_capture_.clear(); }", "by_capture_"),
    ("tuner/work_list.cpp", "WorkSource::Remaining WorkList::remaining() {", "given_up_.clear();", "given_up_"),
    ("tuner/tuner.cpp", "explicit SharedObserver(TuneObserver& inner) : inner_(inner) {}",
     "void tick_unguarded() { inner_.tick(); }", "inner_"),
]


class ThreadSafety(unittest.TestCase):
    def setUp(self):
        self.clang = shutil.which("clang++")
        if self.clang is None:
            self.skipTest("clang++ is not installed, tools/setup check installs it")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def complaints(self, source, text):
        """What the analysis says of a text in place of a source."""
        file = self.folder / pathlib.Path(source).name
        file.write_text(text)
        answer = subprocess.run([self.clang, "-std=c++20", "-fsyntax-only", "-Wthread-safety", "-Werror=thread-safety",
                                 f"-I{ROOT}/src", f"-I{ROOT}/include", str(file)], capture_output=True, text=True)
        errors = re.findall(r"error: (.*)", answer.stderr)
        self.assertEqual(answer.returncode != 0, bool(errors), answer.stderr)
        return errors

    def test_sources_pass_as_they_are(self):
        for source in sorted({source for source, *_ in PLANTED}):
            with self.subTest(source):
                self.assertEqual(self.complaints(source, (ROOT / "src" / source).read_text()), [])

    def test_an_access_without_the_lock_is_an_error(self):
        for source, place, access, name in PLANTED:
            with self.subTest(source, access=access):
                text = (ROOT / "src" / source).read_text()
                self.assertEqual(text.count(place), 1, f"{place}: change the test with the source")
                errors = self.complaints(source, text.replace(place, f"{place}\n{access}"))
                self.assertTrue(errors)
                for error in errors:
                    self.assertIn(f"'{name}'", error)
                    self.assertRegex(error, "requires holding mutex")

    def test_no_mutex_is_outside_the_analysis(self):
        """Others stand where the analysis cannot follow: held across a fork(), or shared by those who make children."""
        found = sorted(str(file.relative_to(ROOT / "src")) for file in (ROOT / "src").rglob("*")
                       if file.suffix in (".h", ".cpp") and "_test" not in file.name
                       and re.search(r"std::(recursive_|shared_|timed_)?mutex\b", file.read_text()))
        self.assertEqual(found, ["base/mutex.h", "dispatch/threads/fork_guard.cpp", "dispatch/threads/fork_guard.h", "process/children.h"])


if __name__ == "__main__":
    unittest.main()
