# SPDX-License-Identifier: MIT
"""The workflows: each step's script as a runner calls it, with a bare repository as the upload's target."""
import http.server
import json
import os
import re
import subprocess
import threading
import unittest

import story
from ci_run_test import FAKE_ARGUMENTS, LIST, CiRun
from tables_test import TUNED

WORKFLOWS = story.REPOSITORY / ".github" / "workflows"
TABLE = f"configs/{TUNED}"


class PullRequests(http.server.BaseHTTPRequestHandler):
    """As much of GitHub's interface as ci/publish calls. `opened`: the open pull requests; `tokens`: what came as such."""

    def do_GET(self):
        self.answer([{"number": number, "head": {"ref": one["head"]}} for number, one in self.server.opened.items()])

    def do_POST(self):
        self.server.opened[7] = self.sent()
        self.answer({"number": 7})

    def do_PATCH(self):
        self.server.opened[int(self.path.rsplit("/", 1)[1])].update(self.sent())
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

    def script(self, name, status=0, **variables):
        """Runs a script of ci/ as a step does."""
        result = subprocess.run([str(story.REPOSITORY / "ci" / name)], cwd=self.work, capture_output=True, text=True, timeout=120,
                                env=self.environment(ATTUNE_BIN=str(story.PROGRAM), **variables))
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def tune(self, **variables):
        return self.script("tune", ATTUNE_CI_ARGUMENTS=FAKE_ARGUMENTS, **variables)

    def publish(self, how, status=0, **variables):
        given = {"ATTUNE_CI_UPLOAD": how, "ATTUNE_CI_BRANCH": "main", "ATTUNE_CI_RUN": "12", **variables}
        return self.script("publish", status, **given)

    def remote(self, branch, path=TABLE):
        return self.git("show", f"{branch}:{path}", folder=self.folder / "remote.git")

    def commits(self, branch):
        return self.git("log", "--format=%s", branch, folder=self.folder / "remote.git").splitlines()


class Uploads(Workflow):
    def test_the_tables_and_nothing_else_are_pushed_once(self):
        summary = self.folder / "summary"
        self.tune(GITHUB_STEP_SUMMARY=str(summary))
        self.assertIn("gemm_a16w16", summary.read_text())
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
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), PullRequests)
        server.opened, server.tokens = {}, []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        where = {"GITHUB_API_URL": f"http://127.0.0.1:{server.server_address[1]}", "GITHUB_REPOSITORY": "us/attune"}
        self.tune()
        lost = self.publish("pull-request", 3, **where)
        self.assertIn("needs GITHUB_TOKEN", lost.stderr)
        result = self.publish("pull-request", GITHUB_TOKEN="s3cret-token", **where)
        self.assertIn("pull request 7 from attune/tuned-12", result.stdout)
        self.assertNotIn("s3cret", result.stdout + result.stderr)
        self.assertEqual(set(server.tokens), {"Bearer s3cret-token"})
        self.assertEqual(server.opened[7]["base"], "main")
        self.assertIn("gemm_a16w16", server.opened[7]["body"])
        self.assertEqual(self.remote("attune/tuned-12"), self.read(TABLE))
        self.assertEqual(self.commits("main"), ["Shapes"])
        self.shapes("256,32,16", "1,40,40", "2,24,32")
        self.commit("One more shape")
        self.tune()
        self.publish("pull-request", GITHUB_TOKEN="s3cret-token", ATTUNE_CI_RUN="13", **where)
        self.assertEqual(list(server.opened), [7])
        self.assertEqual(self.remote("attune/tuned-12").count("\n"), 4)

    def test_what_cannot_be_uploaded_is_kept(self):
        self.tune()
        hook = self.folder / "remote.git" / "hooks" / "pre-receive"
        hook.write_text("#!/bin/sh\necho 'protected branch' >&2\nexit 1\n")
        hook.chmod(0o755)
        table = self.read(TABLE)
        self.assertIn("does not take the commit", self.publish("push", 3).stderr)
        self.assertEqual(self.read(TABLE), table)
        self.assertEqual(self.read(f"ci-results/{TABLE}"), table)
        self.assertIn("fake/4, but x86-64-v4/2 is expected", self.publish("push", 3, ATTUNE_CI_EXPECT_DEVICE="x86-64-v4/2").stderr)
        self.assertIn("nothing is uploaded", self.publish("no").stdout)

    def test_wrong_variables_are_refused(self):
        self.tune()
        for name in ("-x", "a b", "a;rm", "$(id)", "../x", "a\nb", "x/"):
            self.assertIn("no name of a branch", self.script("publish", 2, ATTUNE_CI_UPLOAD="push", ATTUNE_CI_BRANCH=name,
                                                            ATTUNE_CI_RUN="1").stderr)
        self.assertIn("must be one of", self.publish("yes", 2).stderr)
        self.assertIn("no results", self.publish("push", 2, ATTUNE_CI_RESULTS="absent").stderr)

    def test_inputs_are_data(self):
        for text in ("; touch hurt", "$(touch hurt)", "`touch hurt`", "x\ntouch hurt", "' touch hurt", "--output=elsewhere"):
            for name in ("ATTUNE_CI_SHAPES", "ATTUNE_CI_ARGUMENTS"):
                self.script("tune", 2, **{name: text})
        self.assertFalse((self.work / "hurt").exists())
        self.assertFalse((self.work / "elsewhere").exists())


class Scheduled(Workflow):
    """The nightly and the weekly workflow, night after night."""

    def night(self, **variables):
        result = self.script("scheduled_tune", ATTUNE_CI_ARGUMENTS=FAKE_ARGUMENTS, **variables)
        self.assertEqual((self.home / "scheduled_commit").read_text(), self.git("rev-parse", "HEAD"))
        return result

    def compared(self, folder="ci-results"):
        return [shape["shape"] for family in self.results(folder)["families"] for shape in family["shapes"]]

    def test_by_night_what_changed_and_what_is_stale_is_tuned_and_weekly_all(self):
        self.night()
        self.assertEqual(len(self.compared()), 2, "without a table, every row is stale")
        self.assertFalse((self.work / "ci-results-changed").exists(), "there was no night before")
        self.publish("push")
        self.git("fetch", "--quiet", "origin", "main")
        self.git("reset", "--quiet", "--hard", "FETCH_HEAD")
        self.night()
        self.assertEqual((self.compared(), self.compared("ci-results-changed")), ([], []))
        self.shapes("256,32,16", "1,40,40", "2,24,32")
        self.commit("One more shape")
        self.night()
        self.assertEqual(self.compared("ci-results-changed"), ["2×24×32 fp32"])
        self.assertEqual(self.compared(), [], "it is tuned already")
        # What is uploaded is the work of both steps, so both must have come to their end.
        done = self.read("ci-results-changed/results.json")
        self.put("ci-results-changed/results.json", done.replace('"ending": "done"', '"ending": "interrupted"'))
        self.assertIn("ci-results-changed is not done", self.publish("push", 3).stderr)
        self.put("ci-results-changed/results.json", done)
        self.publish("push")
        self.night(ATTUNE_CI_WEEKLY="1")
        self.assertEqual(len(self.compared()), 3)
        self.assertFalse((self.work / "ci-results-changed").exists(), "it was of another night")

    def test_a_commit_that_is_gone_is_no_night_before(self):
        self.home.mkdir(exist_ok=True)
        (self.home / "scheduled_commit").write_text("0123456789" * 4)
        self.night()
        self.assertFalse((self.work / "ci-results-changed").exists())

    def test_a_runner_is_known_by_its_device(self):
        output = self.folder / "output"
        keys = {self.script("device_key", GITHUB_OUTPUT=str(output)).stdout for _ in range(2)}
        key, = keys
        self.assertRegex(key, r"^[\w.-]+-\d+-[0-9a-f]{12}\n$", "it is part of a cache's name")
        self.assertEqual(output.read_text(), f"key={key}" * 2)


class Files(unittest.TestCase):
    """What GitHub reads. Without a runner of theirs this is as much as can be shown."""

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
