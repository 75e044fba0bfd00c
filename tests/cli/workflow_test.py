# SPDX-License-Identifier: MIT
"""The workflows: each step's script as a runner calls it, with a bare repository as the upload's target."""
import contextlib
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import textwrap
import threading
import time
import unittest
import urllib.parse

import story
from ci_run_test import FAKE_ARGUMENTS, LIST, CiRun
from tables_test import TUNED

WORKFLOWS = story.REPOSITORY / ".github" / "workflows"
TABLE = f"configs/{TUNED}"


class PullRequests(http.server.BaseHTTPRequestHandler):
    """As much of GitHub's interface as ci/publish calls. `requests`: all pull requests; `tokens`: what came as such; `meet`: called
    before a list is made."""

    def do_GET(self):
        self.server.meet()
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        with self.server.lock:
            found = [one for _, one in sorted(self.server.requests.items()) if one["state"] == asked["state"] and one["base"] == asked["base"]]
        size = int(asked["per_page"])
        page = int(asked.get("page", 1))
        self.answer([{"number": one["number"], "head": {"ref": one["head"], "repo": one["repo"]}} for one in found[(page - 1) * size:page * size]])

    def do_POST(self):
        with self.server.lock:
            number = max([6, *self.server.requests]) + 1
            self.server.requests[number] = {"number": number, "state": "open", "repo": {"full_name": "Us/attune"}, **self.sent()}
        self.answer({"number": number})

    def do_PATCH(self):
        self.server.requests[int(self.path.rsplit("/", 1)[1])].update(self.sent())
        self.answer({})

    def sent(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, value):
        self.server.tokens.append(self.headers["Authorization"])
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Workflow(CiRun):
    def setUp(self):
        super().setUp()
        self.shapes("256,32,16", "1,40,40")
        self.put(".gitignore", "ci-results*\nout*\n")
        self.git("init", "--quiet", "--bare", "--initial-branch=main", str(self.folder / "remote.git"))
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("remote", "add", "origin", str(self.folder / "remote.git"))
        self.commit("Shapes")
        self.git("push", "--quiet", "origin", "main")

    def git(self, *arguments, folder=None):
        who = {name: "somebody" for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")}
        return subprocess.run(["git", *arguments], cwd=folder or self.work, check=True, capture_output=True, text=True,
                              env={**self.environment(), **who}).stdout

    def commit(self, message):
        self.git("add", ".gitignore", "configs")
        self.git("commit", "--quiet", "-m", message)

    def script(self, name, status=0, folder=None, **variables):
        """Runs a script of ci/ as a step does."""
        result = subprocess.run([str(story.REPOSITORY / "ci" / name)], cwd=folder or self.work, capture_output=True, text=True, timeout=120,
                                env=self.environment(**{"ATTUNE_BIN": str(story.PROGRAM), **variables}))
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def tune(self, **variables):
        return self.script("tune", ATTUNE_CI_ARGUMENTS=FAKE_ARGUMENTS, **variables)

    def publish(self, how, status=0, **variables):
        given = {"ATTUNE_CI_UPLOAD": how, "ATTUNE_CI_BRANCH": "main", "ATTUNE_CI_RUN": "12", **variables}
        return self.script("publish", status, **given)

    def github(self):
        """A server that answers as GitHub does, and the variables with which ci/publish finds it."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), PullRequests)
        server.requests, server.tokens, server.lock, server.meet = {}, [], threading.Lock(), lambda: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server, {"GITHUB_API_URL": f"http://127.0.0.1:{server.server_address[1]}", "GITHUB_REPOSITORY": "us/attune"}

    def other_checkout(self, size="512,32,16"):
        """A copy of the checkout, whose run has a row for another shape."""
        other = self.folder / "other"
        shutil.copytree(self.work, other)
        header, first, *_ = self.read(TABLE).splitlines()
        row = first.replace("256,32,16", size)
        self.assertNotEqual(row, first)
        (other / TABLE).write_text(f"{header}\n{row}\n")
        return other, row

    def hook(self, name, commands, folder=None):
        path = (folder or self.work / ".git") / "hooks" / name
        path.write_text("#!/bin/sh\n" + commands)
        path.chmod(0o755)

    def program(self, commands):
        """A program in the place of attune, which a shell's commands lead to."""
        path = self.folder / "program"
        path.write_text(f'#!/bin/sh\n{commands}\nexec {story.PROGRAM} "$@"\n')
        path.chmod(0o755)
        return str(path)

    def remote(self, branch, path=TABLE):
        return self.git("show", f"{branch}:{path}", folder=self.folder / "remote.git")

    def commits(self, branch):
        return self.git("log", "--format=%s", branch, folder=self.folder / "remote.git").splitlines()


class Uploads(Workflow):
    def test_the_tables_and_nothing_else_are_pushed_once(self):
        summary = self.folder / "summary"
        self.tune(GITHUB_STEP_SUMMARY=str(summary))
        self.assertIn("gemm_a16w16", summary.read_text())
        self.assertTrue(summary.read_text().endswith(self.read("ci-results/diff.md")), "what differs is shown, too")
        self.assertIn("| + | 256×32×16 fp32 |", summary.read_text())
        self.put("configs/notes.txt", "mine")
        (self.work / LIST).write_text(self.read(LIST) + "\n")  # The user's own change stays in the checkout.
        self.assertIn("pushed to main", self.publish("push").stdout)
        self.assertEqual(self.remote("main"), self.read(TABLE))
        self.assertEqual(self.commits("main"), [f"Tune {TUNED}", "Shapes"])
        self.assertEqual(self.git("show", "--name-only", "--format=", "main", folder=self.folder / "remote.git").split(), [TABLE])
        self.assertIn("main has these tables already", self.publish("push").stdout)
        self.assertEqual(self.read("configs/notes.txt"), "mine")
        self.assertEqual(self.git("worktree", "list").count("\n"), 1)

    def test_rows_of_another_run_that_was_faster_stay(self):
        self.tune()
        other = self.folder / "other"
        self.git("clone", "--quiet", str(self.folder / "remote.git"), str(other))
        rows = self.read(TABLE).splitlines()
        foreign = rows[1].replace(",256,", ",512,").replace("256,32,16", "512,32,16")
        self.assertNotEqual(foreign, rows[1])
        (other / TABLE).write_text("\n".join((rows[0], foreign, "")))
        self.git("add", TABLE, folder=other)
        self.git("commit", "--quiet", "-m", "Another run", folder=other)
        self.git("push", "--quiet", "origin", "main", folder=other)
        self.publish("push")
        pushed = self.remote("main")
        self.assertIn(foreign, pushed)
        for row in rows[1:]:
            self.assertIn(row, pushed)
        self.assertEqual(self.commits("main"), [f"Tune {TUNED}", "Another run", "Shapes"])

    def test_a_pull_request_is_opened_and_a_later_run_updates_it(self):
        server, where = self.github()
        self.tune()
        lost = self.publish("pull-request", 3, **where)
        self.assertIn("needs GITHUB_TOKEN", lost.stderr)
        result = self.publish("pull-request", GITHUB_TOKEN="s3cret-token", **where)
        self.assertIn("pull request 7 from attune/tuned-12", result.stdout)
        self.assertNotIn("s3cret", result.stdout + result.stderr)
        self.assertEqual(set(server.tokens), {"Bearer s3cret-token"})
        self.assertEqual(server.requests[7]["base"], "main")
        self.assertIn("gemm_a16w16", server.requests[7]["body"])
        self.assertEqual(server.requests[7]["body"], self.read("ci-results/report.md"))
        self.assertNotIn("labels", server.requests[7])
        self.assertEqual(self.commits("attune/tuned-12"), [f"Tune {TUNED}", "Shapes"], "one commit")
        self.assertEqual(self.remote("attune/tuned-12"), self.read(TABLE))
        self.assertEqual(self.commits("main"), ["Shapes"])
        self.shapes("256,32,16", "1,40,40", "2,24,32")
        self.commit("One more shape")
        self.tune()
        self.publish("pull-request", GITHUB_TOKEN="s3cret-token", ATTUNE_CI_RUN="13", **where)
        self.assertEqual(list(server.requests), [7])
        self.assertEqual(self.remote("attune/tuned-12").count("\n"), 4)

    def test_shapes_of_a_users_own_are_tuned_and_uploaded_on_their_branch(self):
        self.git("checkout", "--quiet", "-b", "mine")
        self.shapes("256,32,16", "1,40,40", "2,24,32")
        self.commit("A shape of mine")
        self.git("push", "--quiet", "origin", "mine")
        self.tune(ATTUNE_CI_SHAPES="")
        self.assertIn("pushed to mine", self.publish("push", ATTUNE_CI_BRANCH="mine").stdout)
        self.assertEqual(self.remote("mine").count("\n"), 4)
        self.assertEqual((self.commits("mine"), self.commits("main")), ([f"Tune {TUNED}", "A shape of mine", "Shapes"], ["Shapes"]))
        server, where = self.github()
        self.shapes("256,32,16", "1,40,40", "2,24,32", "3,24,32")
        self.commit("One more")
        self.tune()
        self.publish("pull-request", ATTUNE_CI_BRANCH="mine", GITHUB_TOKEN="token", **where)
        self.assertEqual(server.requests[7]["base"], "mine")

    def test_the_manuals_commands_run_as_they_stand(self):
        page = (story.REPOSITORY / "docs" / "ci.md").read_text()
        section = page.split("## Without a runner\n")[1].split("\n## ")[0]
        by_hand, by_night = (textwrap.dedent(block).strip() for block in re.findall(r"(?m)(?:^ {4}.*\n)+", section))
        self.assertEqual((by_hand.count("\n"), by_night.count("\n")), (1, 1))
        (self.work / "ci").symlink_to(story.REPOSITORY / "ci")
        for commands, sizes, given in ((by_hand, ("256,32,16", "1,40,40"), {}),
                                       (by_night, ("256,32,16", "1,40,40", "2,24,32"), {"ATTUNE_CI_ARGUMENTS": FAKE_ARGUMENTS})):
            self.shapes(*sizes)
            on_fake = commands.replace('"--budget 10m"', f'"--budget 10m {FAKE_ARGUMENTS}"').replace("~/.attune", str(self.home))
            self.assertNotEqual(on_fake, commands)
            run = subprocess.run(["bash", "-e", "-c", on_fake], cwd=self.work, capture_output=True, text=True, timeout=120,
                                 env=self.environment(ATTUNE_BIN=str(story.PROGRAM), **given))
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertIn("pushed to main", run.stdout)
            self.assertEqual(self.remote("main"), self.read(TABLE))
            self.assertEqual(self.remote("main").count("\n"), 1 + len(sizes))

    def test_what_cannot_be_uploaded_is_kept(self):
        self.tune()
        self.hook("pre-receive", "echo 'protected branch' >&2\nexit 1\n", self.folder / "remote.git")
        table = self.read(TABLE)
        self.assertIn("does not take the commit", self.publish("push", 3).stderr)
        self.assertEqual(self.read(TABLE), table)
        self.assertEqual(self.read(f"ci-results/{TABLE}"), table)
        self.assertIn("nothing is uploaded", self.publish("no").stdout)

    def test_tables_of_another_device_than_the_expected_one_are_kept(self):
        self.tune()
        family, = self.results()["families"]
        own = family["fingerprint"]
        self.assertRegex(own, "^[0-9a-f]{32}$")
        foreign = own[::-1]
        for other in ("x86-64-v4/2", "fake", foreign):
            refused = self.publish("push", 3, ATTUNE_CI_EXPECT_DEVICE=other).stderr
            self.assertIn(f"of fake/4, fingerprint {own}, but {other} is expected", refused)
        # Another machine may have the key, and then the fingerprint alone tells.
        results = self.read("ci-results/results.json")
        self.put("ci-results/results.json", results.replace(own, foreign))
        self.assertIn("is expected", self.publish("push", 3, ATTUNE_CI_EXPECT_DEVICE=own).stderr)
        self.assertEqual(self.commits("main"), ["Shapes"])
        self.put("ci-results/results.json", results)
        self.assertIn("pushed", self.publish("push", ATTUNE_CI_EXPECT_DEVICE=own).stdout)
        self.assertIn("has these tables", self.publish("push", ATTUNE_CI_EXPECT_DEVICE="fake/4").stdout)

    def test_a_request_from_a_fork_is_none_of_ours(self):
        server, where = self.github()
        for number, repository in ((4, None), (5, {"full_name": "evil/attune"})):
            server.requests[number] = {"number": number, "state": "open", "base": "main", "head": "attune/tuned-evil", "repo": repository,
                                       "title": "mine", "body": "mine"}
        self.tune()
        result = self.publish("pull-request", GITHUB_TOKEN="token", **where)
        self.assertIn("pull request 7 from attune/tuned-12", result.stdout)
        self.assertEqual({server.requests[number]["title"] for number in (4, 5)}, {"mine"})
        self.assertEqual(self.git("branch", "--list", "attune/*", folder=self.folder / "remote.git").split(), ["attune/tuned-12"])

    def test_our_request_is_found_behind_a_hundred_others(self):
        server, where = self.github()
        for number in range(1, 102):
            server.requests[number] = {"number": number, "state": "open", "base": "main", "head": f"theirs-{number}",
                                       "repo": {"full_name": "us/attune"}, "title": "", "body": ""}
        server.requests[101]["head"] = "attune/tuned-3"
        self.tune()
        self.assertIn("pull request 101 from attune/tuned-3", self.publish("pull-request", GITHUB_TOKEN="token", **where).stdout)

    def test_two_runs_that_ask_at_once_end_with_one_request_that_has_the_rows_of_both(self):
        server, where = self.github()
        self.tune()
        other, row = self.other_checkout()
        both = threading.Barrier(2)
        asked = iter(range(100))

        def meet():  # Neither sees the request of the other one.
            if next(asked) < 2:
                both.wait(60)

        server.meet = meet
        runs = [threading.Thread(target=self.publish, args=("pull-request",), kwargs={"GITHUB_TOKEN": "token", "ATTUNE_CI_RUN": run,
                                                                                     "folder": folder, **where})
                for run, folder in (("20", self.work), ("21", other))]
        for run in runs:
            run.start()
        for run in runs:
            run.join()
        self.assertEqual({number: one["state"] for number, one in server.requests.items()}, {7: "open", 8: "closed"})
        table = self.remote(server.requests[7]["head"])
        for one in (row, *self.read(TABLE).splitlines()[1:]):
            self.assertIn(one, table)

    def test_a_push_that_loses_is_made_again_upon_what_won(self):
        self.tune()
        other, row = self.other_checkout()
        self.git("add", TABLE, folder=other)
        self.git("commit", "--quiet", "-m", "The winner", folder=other)
        # Before the push has asked where the branch is, and after: git refuses the two in other words.
        for hook in ("post-commit", "pre-push"):
            with self.subTest(hook):
                self.git("update-ref", "refs/heads/main", self.git("rev-parse", "HEAD").strip(), folder=self.folder / "remote.git")
                self.hook(hook, f"cd {other} && unset $(git rev-parse --local-env-vars) && git push --quiet origin HEAD:main && "
                                f"rm {self.work}/.git/hooks/{hook}\n")
                self.assertIn("pushed to main", self.publish("push").stdout)
                self.assertFalse((self.work / ".git" / "hooks" / hook).exists(), "the other push came in between")
                self.assertEqual(self.commits("main"), [f"Tune {TUNED}", "The winner", "Shapes"])
                for one in (row, *self.read(TABLE).splitlines()[1:]):
                    self.assertIn(one, self.remote("main"))

    def test_a_branch_that_never_rests_is_told_as_that(self):
        self.tune()
        other, _ = self.other_checkout()
        self.hook("pre-push", f"cd {other} && unset $(git rev-parse --local-env-vars) && "
                              "git -c user.name=x -c user.email=x commit --quiet --allow-empty -m again && git push --quiet origin HEAD:main\n")
        self.assertIn("main moved on each of 5 times", self.publish("push", 3).stderr)

    def test_git_is_asked_in_english(self):
        self.tune()
        real, folder = shutil.which("git"), self.folder / "bin"
        folder.mkdir()
        (folder / "git").write_text(f'#!/bin/sh\n[ "$LC_ALL" = C ] || exit 9\nexec {real} "$@"\n')
        (folder / "git").chmod(0o755)
        self.publish("push", PATH=f"{folder}:{os.environ['PATH']}", LC_ALL="de_DE.UTF-8")

    def test_tables_of_other_families_stay_in_the_checkout(self):
        other = "configs/a8w8_tuned_gemm.csv"
        self.put(other, "gfx,cu_num,M,N,K,us\n")
        self.commit("Another table")
        self.git("push", "--quiet", "origin", "main")
        self.tune(ATTUNE_CI_SHAPES="gemm_a16w16")
        self.put(other, "gfx,cu_num,M,N,K,us\nfake,4,1,1,1,1\n")
        self.put("configs/finetuned_models.csv", "mine")
        (self.work / "configs" / os.fsdecode(b"bf16_tuned_\xff.csv")).write_text("mine")
        self.publish("push")
        self.assertEqual(self.git("show", "--name-only", "--format=", "main", folder=self.folder / "remote.git").split(), [TABLE])

    def test_line_ends_stay_as_they_are(self):
        self.table(TABLE, self.row("64,32,16", 7))
        (self.work / TABLE).write_bytes((self.work / TABLE).read_bytes().replace(b"\n", b"\r\n"))
        self.commit("A table")
        self.git("push", "--quiet", "origin", "main")
        old = (self.work / TABLE).read_bytes()
        self.tune()
        new = (self.work / TABLE).read_bytes()
        self.assertEqual(new.count(b"\n"), new.count(b"\r\n"))

        def pushed():
            return subprocess.run(["git", "show", f"main:{TABLE}"], cwd=self.folder / "remote.git", check=True, capture_output=True).stdout

        self.publish("push")
        self.assertEqual(pushed(), new)
        # The same where rows are put over those of a branch that has moved on, with either line end.
        for end in (b"\r\n", b"\n"):
            with self.subTest(end):
                other = self.folder / f"other_{len(end)}"
                self.git("clone", "--quiet", str(self.folder / "remote.git"), str(other))
                theirs = old.replace(b"\r\n", end).replace(b"64,32,16", b"65,32,16")
                self.assertNotEqual(theirs, old.replace(b"\r\n", end))
                (other / TABLE).write_bytes(theirs)
                self.git("commit", "--quiet", "-a", "-m", "Another run", folder=other)
                self.git("push", "--quiet", "origin", "main", folder=other)
                self.publish("push")
                merged = pushed()
                self.assertEqual((merged.count(b"\n"), merged.count(end)), (4, 4), merged)
                self.assertEqual(merged.count(b"\r"), 4 * (end == b"\r\n"))
                self.assertIn(b"65,32,16", merged)

    def test_a_program_that_is_not_there_is_told_in_a_sentence(self):
        self.tune()
        for script in ("publish", "device_key"):
            result = self.script(script, 2, ATTUNE_BIN="no/program", ATTUNE_CI_UPLOAD="push", ATTUNE_CI_BRANCH="main", ATTUNE_CI_RUN="1")
            self.assertRegex(result.stderr, f"^ci/{script}: '.*no/program' cannot be run: No such file or directory\n$")

    def test_the_configuration_folder_may_be_a_link_within_the_checkout(self):
        (self.work / "configs").rename(self.work / "lists")
        (self.work / "configs").symlink_to("lists")
        self.git("add", "-A", "configs", "lists")
        self.git("commit", "--quiet", "-m", "A link")
        self.git("push", "--quiet", "origin", "main")
        self.tune()
        self.assertIn("pushed to main", self.publish("push").stdout)
        self.assertEqual(self.remote("main", f"lists/{TUNED}"), self.read(TABLE))
        shutil.move(self.work / "lists", self.folder / "lists")
        (self.work / "configs").unlink()
        (self.work / "configs").symlink_to(self.folder / "lists")
        self.assertIn("lies outside of the checkout", self.publish("push", 2).stderr)

    def test_a_table_may_be_a_link_within_the_checkout(self):
        table = self.work / TABLE
        (self.work / "shared").mkdir()
        table.symlink_to("../shared/table.csv")
        self.table("shared/table.csv", self.row("64,32,16", 7))
        self.git("add", "-A", "configs", "shared")
        self.git("commit", "--quiet", "-m", "A link")
        self.git("push", "--quiet", "origin", "main")
        self.tune()
        self.assertIn("pushed to main", self.publish("push").stdout)
        self.assertEqual(self.remote("main", "shared/table.csv"), table.read_text())
        self.assertEqual(self.remote("main"), "../shared/table.csv", "the link stays")
        shutil.move(self.work / "shared", self.folder / "shared")
        table.unlink()
        table.symlink_to(self.folder / "shared" / "table.csv")
        self.assertIn("outside of the checkout", self.publish("push", 2).stderr)

    def test_a_link_on_the_branch_is_followed_within_the_checkout_alone(self):
        self.tune()
        other, outside = self.folder / "other", self.folder / "outside.csv"
        outside.write_text("theirs")
        self.git("clone", "--quiet", str(self.folder / "remote.git"), str(other))
        (other / TABLE).symlink_to(outside)
        self.git("add", TABLE, folder=other)
        self.git("commit", "--quiet", "-m", "A link", folder=other)
        self.git("push", "--quiet", "origin", "main", folder=other)
        self.assertIn("outside of the checkout", self.publish("push", 2).stderr)
        self.assertEqual(outside.read_text(), "theirs")

    def test_only_a_branch_that_the_remote_has_is_pushed_to(self):
        self.tune()
        self.git("tag", "v1")
        self.git("push", "--quiet", "origin", "v1")
        before = self.git("for-each-ref", folder=self.folder / "remote.git")
        for name in ("v1", "HEAD", "refs/heads/main", "heads/main", "origin/main", "mian", "refs/tags/v1"):
            for how in ("push", "pull-request"):
                refused = self.publish(how, 2, ATTUNE_CI_BRANCH=name, GITHUB_TOKEN="token", GITHUB_REPOSITORY="us/attune").stderr
                self.assertEqual(refused, f"ci/publish: ATTUNE_CI_BRANCH must name a branch that origin has, such as main, got '{name}'\n")
        self.assertEqual(self.git("for-each-ref", folder=self.folder / "remote.git"), before)
        self.git("push", "--quiet", "origin", "main:refs/heads/v1")  # A branch beside a tag of its name.
        self.assertIn("pushed to v1", self.publish("push", ATTUNE_CI_BRANCH="v1").stdout)
        self.assertEqual(self.remote("refs/heads/v1"), self.read(TABLE))

    def test_the_url_of_a_remote_may_be_relative(self):
        self.tune()
        self.git("remote", "set-url", "origin", os.path.relpath(self.folder / "remote.git", self.work))
        self.assertIn("pushed to main", self.publish("push").stdout)
        self.assertEqual(self.remote("main"), self.read(TABLE))
        for name in ("upstream", os.path.relpath(self.folder / "remote.git", self.work)):
            self.assertIn(f"must name a remote of the checkout (git remote), got '{name}'",
                          self.publish("push", 2, ATTUNE_CI_REMOTE=name).stderr)

    def test_wrong_variables_are_refused(self):
        self.tune()
        for name in ("-x", "a b", "a;rm", "$(id)", "../x", "a\nb", "x/"):
            self.assertIn("no name of a branch", self.script("publish", 2, ATTUNE_CI_UPLOAD="push", ATTUNE_CI_BRANCH=name,
                                                            ATTUNE_CI_RUN="1").stderr)
        self.assertIn("must be one of", self.publish("yes", 2).stderr)
        self.assertIn("no results", self.publish("push", 2, ATTUNE_CI_RESULTS="absent").stderr)
        self.assertIn("no configuration folder 'absent'", self.publish("push", 2, ATTUNE_CI_CONFIGS="absent").stderr)

    def test_the_summary_has_this_calls_report_and_stays_below_what_github_takes(self):
        summary, limit = self.folder / "summary", 1 << 20
        self.tune()
        self.script("tune", 2, ATTUNE_CI_ARGUMENTS="--nosuch", GITHUB_STEP_SUMMARY=str(summary))
        self.assertFalse(summary.exists(), "the report is of the call before")
        self.tune(GITHUB_STEP_SUMMARY=str(summary))
        report = self.read("ci-results/report.md")
        self.assertEqual(summary.read_text(), report)
        for filled in (limit - 500, limit):
            with self.subTest(filled):
                summary.write_text("x" * filled)
                self.tune(GITHUB_STEP_SUMMARY=str(summary))
                self.assertGreater(len(self.read("ci-results/report.md").encode()), 500)
                cut, *note = summary.read_text()[filled:].split("\n\nCut; ")
                self.assertLessEqual(summary.stat().st_size, limit)
                self.assertEqual(note, ["the artifact has the whole report.md.\n"] * (filled < limit))
                self.assertTrue(self.read("ci-results/report.md").startswith(cut))
                self.assertEqual(bool(cut), filled < limit)

    def test_a_signal_to_the_script_alone_ends_the_program(self):
        self.home.mkdir(exist_ok=True)
        pid, got = self.folder / "pid", self.folder / "got"
        for script in ("tune", "scheduled_tune"):
            for name, number in (("TERM", 143), ("INT", 130)):
                with self.subTest(script, signal=name):
                    program = self.folder / "waits"
                    program.write_text(f"#!/bin/bash\ntrap 'echo {name} >>{got}; exit {number}' {name}\n"
                                       f"echo $$ >{pid}.new && mv {pid}.new {pid}\nwhile :; do sleep 0.05; done\n")
                    program.chmod(0o755)
                    run = subprocess.Popen([str(story.REPOSITORY / "ci" / script)], cwd=self.work, stdout=subprocess.PIPE,
                                           env=self.environment(ATTUNE_BIN=str(program), ATTUNE_CI_RESULTS="out"))
                    self.addCleanup(run.stdout.close)
                    while run.poll() is None and not pid.exists():
                        time.sleep(0.01)
                    os.kill(run.pid, getattr(signal, f"SIG{name}"))
                    try:
                        self.assertEqual(run.wait(30), number)
                        self.assertEqual(got.read_text(), name + "\n", "once")
                        self.assertRaises(ProcessLookupError, os.kill, int(pid.read_text()), 0)
                    finally:
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(int(pid.read_text()), signal.SIGKILL)
                        run.kill()
                        pid.unlink()
                        got.unlink(missing_ok=True)

    def test_inputs_are_data(self):
        for text in ("; touch hurt", "$(touch hurt)", "`touch hurt`", "x\ntouch hurt", "' touch hurt", "--output=elsewhere"):
            for name in ("ATTUNE_CI_SHAPES", "ATTUNE_CI_ARGUMENTS"):
                self.script("tune", 2, **{name: text})
        self.assertFalse((self.work / "hurt").exists())
        self.assertFalse((self.work / "elsewhere").exists())


def wrong_about_the_cache(text):
    """What is lost of a workflow's journal and kernels when its job fails; empty: nothing."""
    if re.search(r"uses: actions/cache@", text):
        return "actions/cache saves nothing after a failure"
    steps = re.split(r"(?m)^      - ", text)
    restored = [step for step in steps if "uses: actions/cache/restore@" in step]
    saved = [step for step in steps if "uses: actions/cache/save@" in step]
    if len(restored) != 1 or len(saved) != 1:
        return "it is not restored and saved once each"
    if "if: always()" not in saved[0]:
        return "it is saved after a success alone"
    paths, keys = ([re.search(rf"(?m)^ *{name}: (.+)$", step)[1] for step in (*restored, *saved)] for name in ("path", "key"))
    if len(set(paths)) != 1 or len(set(keys)) != 1:
        return "it is saved as another one than is restored"
    if steps.index(saved[0]) < next(i for i, step in enumerate(steps) if re.search(r"run: ci/(scheduled_)?tune$", step, re.M)):
        return "it is saved before anything is tuned"
    return ""


def inputs_of(text):
    """The default of each input of a workflow's form, by name."""
    form = text.split("    inputs:\n")[1].split("\npermissions:")[0]
    found = re.findall(r"(?m)^      (\w+):\n((?:        .*\n?)+)", form)
    return {name: re.search(r'default: "?([^"\n]*)"?', facts)[1] for name, facts in found}


def weekly_of(text):
    """The times of a schedule, and that at which all is tuned."""
    return re.findall(r'cron: "(.+)"', text), re.search(r"ATTUNE_CI_WEEKLY: .*schedule == '(.+?)' && '1'", text)[1]


class Files(unittest.TestCase):
    """What GitHub reads. Without a runner of theirs this is as much as can be shown."""

    TUNING = ("operators-tuning.yaml", "scheduled-tuning.yaml")

    def test_journal_and_kernels_are_kept_whatever_becomes_of_the_job(self):
        for name in self.TUNING:
            text = (WORKFLOWS / name).read_text()
            self.assertEqual(wrong_about_the_cache(text), "", name)
            save = text.index("actions/cache/save@")
            for wrong in (text.replace("actions/cache/restore@", "actions/cache@"), text.replace("actions/cache/save@", "actions/nothing@"),
                          text[:save] + text[save:].replace("path: .attune", "path: .other"),
                          re.sub(r"if: always\(\)([^\n]*\n *uses: actions/cache/save)", r"if: success()\1", text)):
                self.assertNotEqual(wrong, text, name)
                self.assertNotEqual(wrong_about_the_cache(wrong), "", name)

    def test_the_form_has_its_inputs_and_the_schedule_nights_and_a_week(self):
        manual, scheduled = ((WORKFLOWS / name).read_text() for name in self.TUNING)
        inputs = inputs_of(manual)
        self.assertEqual({name: inputs.get(name) for name in ("shapes", "upload", "runner")},
                         {"shapes": "", "upload": "no", "runner": "ubuntu-latest"})
        self.assertLessEqual({"arguments", "device"}, set(inputs))
        for name in inputs:
            self.assertIn("${{ inputs." + name, manual, "an input that nothing reads")
        self.assertRegex(manual, r"(?m)^ +description: .*attune tune \(docs/cli\.md\)")
        self.assertIn('options: ["no", pull-request, push]', manual)
        self.assertNotRegex(manual.split("permissions:")[0], r"branches", "on any branch")
        times, weekly = weekly_of(scheduled)
        self.assertEqual(times.count(weekly), 1)
        self.assertEqual([time.split()[4] for time in times], ["1-6", "0"])
        wrong = scheduled.replace("== '17 1", "== '17 2")
        self.assertNotIn(weekly_of(wrong)[1], times)

    def test_a_job_ends_by_itself_before_github_ends_it(self):
        for name in self.TUNING:
            text = (WORKFLOWS / name).read_text()
            job, step = (int(one) for one in re.findall(r"timeout-minutes: (\d+)", text))
            hours = int(re.search(r"--budget (\d+)h", text)[1])
            steps = 2 if name == "scheduled-tuning.yaml" else 1  # What changed, and what is stale.
            self.assertLess(60 * hours * steps + 60, step, name)
            self.assertLessEqual(step + 15, job, name)
            self.assertLessEqual(job, 360, "GitHub's own limit")

    def test_uploading_workflows_name_the_device_whose_tables_they_are(self):
        for name in self.TUNING:
            self.assertRegex((WORKFLOWS / name).read_text(), r"ATTUNE_CI_EXPECT_DEVICE: \$\{\{ .*vars\.ATTUNE_DEVICE \}\}", name)

    def test_inputs_and_events_never_stand_in_a_script(self):
        files = sorted(WORKFLOWS.glob("*.yaml"))
        self.assertGreaterEqual(len(files), 3)
        for file in files:
            lines = file.read_text().splitlines()
            for at, line in enumerate(lines):
                run = re.match(r"( *)(?:- )?run: *(.*)", line)
                if not run:
                    continue
                script = [run.group(2)]
                for further in lines[at + 1:]:
                    if further.strip() and len(further) - len(further.lstrip()) <= len(run.group(1)) + 1:
                        break
                    script.append(further)
                self.assertNotIn("${{", "\n".join(script), f"{file.name}:{at + 1}")

    def test_every_script_that_a_step_runs_is_there(self):
        for file in WORKFLOWS.glob("*.yaml"):
            for script in re.findall(r"run: ((?:ci|tools)/\w+)", file.read_text()):
                self.assertTrue(os.access(story.REPOSITORY / script, os.X_OK), f"{file.name}: {script}")

    def test_variables_of_the_steps_are_those_of_the_scripts(self):
        known = set(re.findall(r"ATTUNE_CI_\w+", "".join(file.read_text() for file in (story.REPOSITORY / "ci").iterdir())))
        for file in WORKFLOWS.glob("*.yaml"):
            used = set(re.findall(r"ATTUNE_CI_\w+", file.read_text()))
            self.assertLessEqual(used, known, file.name)


if __name__ == "__main__":
    story.main()
