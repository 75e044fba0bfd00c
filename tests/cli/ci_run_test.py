# SPDX-License-Identifier: MIT
"""`attune ci run`: families tuned, published and compared with what they were; interrupted, and gone on with."""
import json
import os
import re
import shutil
import subprocess
import textwrap
import unittest

import story
from tables_test import KERNEL, REST, TUNED, Tables

KEY = "M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle"
LIST = "configs/bf16_untuned_gemm.csv"
SLOW = "fake.gemm@1:split_k=1;tile_m=16;tile_n=16"
FAKE_ARGUMENTS = "--devices fake:0 --quiet-wait 0"
FILES = {"results.json", "report.md", "report.html", "junit.xml", "before.json", "after.json", "log.txt", "began.json", "before", "diff.md", "journal.jsonl", "configs", "run.lock"}


class CiRun(Tables):
    def shapes(self, *sizes):
        self.put(LIST, "\n".join((KEY, *(size + REST for size in sizes), "")))

    def ci(self, *arguments, given=FAKE_ARGUMENTS, status=0, **how):
        return self.attune("ci", "run", "--config-dir", "configs", "--arguments", given, *arguments, status=status, **how)

    def refuses(self, *arguments, says):
        return self.refused("ci", "run", *arguments, says=says, env=self.where)

    def results(self, folder="ci-results"):
        return json.loads(self.read(f"{folder}/results.json"))

    def verdicts(self, folder="ci-results"):
        return [(one["problem"], one["verdict"], one.get("speedup"), one["after"]["candidate"])
                for family in self.results(folder)["families"] for one in family["shapes"]]

    def decided(self):
        """The problems of the journal's decisions, each as often as it was decided."""
        return sorted(entry["problem"] for kind, entry in self.journal() if kind == "decision")


class Artefacts(CiRun):
    def test_the_tables_are_tuned_published_and_compared_with_what_they_were(self):
        self.shapes("256,32,16", "1,40,40")
        self.table("configs/" + TUNED, self.row("256,32,16", 5, kernel=SLOW), self.row("64,32,16", 7))
        old = self.read("configs/" + TUNED)
        result = self.ci("--shapes", " ck_gemm_a16w16 , ", "-o", "out", given=FAKE_ARGUMENTS + " --all")
        self.assertEqual(set(os.listdir(self.work / "out")), FILES)
        answer = self.results("out")
        self.assertEqual((answer["version"], answer["ending"], answer["status"]), (1, "done", 0))
        self.assertEqual(answer["inputs"]["arguments"], [*FAKE_ARGUMENTS.split(), "--all"])
        family, = answer["families"]
        self.assertEqual((family["family"], family["device"], family["done"], family["failure"]),
                         ("gemm_a16w16", "fake/4", True, ""))
        self.assertRegex(family["fingerprint"], "^[0-9a-f]{32}$")
        self.assertEqual({one["fingerprint"] for one in answer["devices"]}, {family["fingerprint"]})
        self.assertEqual(family["rows"], {"added": 1, "changed": 1, "removed": 0, "same": 1})
        self.assertGreater(family["num_findings"], 0)
        slow, new = family["shapes"]
        self.assertEqual((slow["verdict"], slow["before"]["candidate"]), ("faster", SLOW))
        self.assertGreater(slow["interval"][0], 1.02)
        self.assertEqual((new["before"]["row"], new["after"]["row"]), ("", f"configs/{TUNED}:4"))
        self.assertEqual(sum(answer["counts"].values()), 2)
        # The artefact is laid out as the configuration folder is, and holds the tables before and after.
        for name in (TUNED, "bf16_untuned_gemm.csv"):
            self.assertEqual(self.read("out/configs/" + name), self.read("configs/" + name))
        self.assertEqual(self.read("out/before/" + TUNED), old)
        before, = json.loads(self.read("out/before.json"))["families"].values()
        self.assertEqual([one["match"] for one in before["shapes"]], ["exact", "fallback"])
        kinds = [json.loads(line)["type"] for line in self.read("out/journal.jsonl").splitlines()]
        self.assertEqual((kinds.count("decision"), kinds[0], kinds[-1]), (2, "run_begin", "run_end"))
        after, = json.loads(self.read("out/after.json"))["families"].values()
        self.assertEqual([len(attempt) for attempt in after[0]["log_ratios"]], [8, 32])
        self.assertIn("gemm_a16w16: after: 2 shapes compared\n", result.stderr)
        # The difference of the tables is that of `attune diff --markdown`.
        difference = self.attune("diff", "out/before/" + TUNED, "configs/" + TUNED, "--markdown").stdout
        self.assertEqual(self.read("out/diff.md"), f"# Tables\n\n## gemm_a16w16: {TUNED}\n\n{difference}")
        self.assertIn("| ~ | 256×32×16 fp32 | fake/4 | 5.0000 | ", difference)
        self.refused("diff", "out/before/" + TUNED, "configs/" + TUNED, "--markdown", "--json", says="--json")
        for _ in range(2):  # The second time over the first.
            told = self.attune("diff", "out/before/" + TUNED, "configs/" + TUNED, "--html", "diff.html").stdout
            self.assertEqual(told, "diff.html: " + difference.splitlines()[0].rstrip(".") + "\n")
        self.assertIn("<del>", self.read("diff.html"))
        self.refused("diff", "out/before/" + TUNED, "configs/" + TUNED, "--html", "configs/" + TUNED, says="--html")
        self.refused("diff", "out/before/" + TUNED, "configs/" + TUNED, "--html", "x.html", "--json", says="--json")
        self.assertIn("2 shapes decided", self.read("out/log.txt"))
        self.assertEqual(result.stdout, self.read("out/report.md"))
        self.assertRegex(result.stdout, r"(?m)^\| 256×32×16 fp32 \| faster \| ")

    def test_its_tables_unpacked_over_a_checkout_are_the_upload_by_hand(self):
        self.shapes("256,32,16")
        model = "model_configs/llama_" + TUNED
        self.table("configs/" + model, self.row("64,32,16", 7))
        shutil.copytree(self.work / "configs", self.work / "checkout/configs")
        self.ci("-o", "out")
        shutil.copytree(self.work / "out/configs", self.work / "checkout/configs", dirs_exist_ok=True)
        names = [TUNED, "bf16_untuned_gemm.csv", model]
        unpacked = [path for path in (self.work / "out/configs").rglob("*") if path.is_file()]
        self.assertEqual(sorted(str(path.relative_to(self.work / "out/configs")) for path in unpacked), sorted(names))
        for name in names:
            self.assertEqual(self.read("checkout/configs/" + name), self.read("configs/" + name), name)
        self.assertEqual(len(self.rows("checkout/configs/" + TUNED)), 1)

    def test_without_names_are_all_families_with_a_list_and_the_folder_is_the_configuration_folder(self):
        self.shapes("1,40,40")
        self.put("configs/a8w8_blockscale_untuned_gemm.csv", "M,N,K\n1,2,3\n")
        self.put("configs/a8w8_bpreshuffle_untuned_gemm.csv", "M,N,K,q_dtype_w\n1,2,3,int8\n")
        result = self.attune("ci", "run", "--shapes", "", "--arguments", "--devices fake:0 --quiet-wait 0 --cache 'my kernels'",
                             "--json", env=self.where)
        self.assertEqual(result.json["inputs"]["shapes"], ["gemm_a16w16", "gemm_a8w8_blockscale"])
        self.assertIn("left out, this build cannot tune gemm_a8w8_bpreshuffle", result.stderr)
        # A finished run is begun anew in the same folder, with other inputs, too; what the journal holds stands.
        decided = self.decided()
        self.ci("--max-regression", "3")
        self.assertEqual(self.decided(), decided)
        self.assertEqual(self.results()["inputs"]["max_regression_pct"], 3)
        self.assertEqual(self.verdicts()[0][1], "same")  # The tables of the first run are those before this one.

    def test_on_a_real_device(self):
        self.shapes("4,16,16")
        self.ci(given="--devices cpu:0 --threads 1 --quiet-wait 0 --libtype portable --max-trials 2", status=None)
        answer = self.results()
        self.assertEqual((answer["ending"], sum(answer["counts"].values())), ("done", 1))
        self.assertIn(answer["status"], (0, 1))  # Another program may slow one of two equal kernels.
        self.assertEqual(len(self.rows("configs/" + TUNED)), 1)


class FirstRun(CiRun):
    """The section of docs/ci.md with which a user begins."""

    def setUp(self):
        super().setUp()
        page = (story.REPOSITORY / "docs" / "ci.md").read_text()
        self.section = page.split("## A first run\n")[1].split("\n## ")[0]
        blocks = re.split(r"(?m)^(?! {4}|$).*\n", self.section)  # What is indented, and empty lines.
        self.commands, self.printed = (textwrap.dedent(block).strip() for block in [one for one in blocks if one.strip()][:2])

    def test_its_commands_run_as_they_stand_and_print_what_it_says(self):
        self.assertIn('"--budget 1m"', self.commands)
        on_fake = self.commands.replace('"--budget 1m"', f'"--budget 1m {FAKE_ARGUMENTS}"') + " --devices fake:0"
        for own, small in (("1,256,7168", "1,32,48"), ("n=256 k=7168", "n=32 k=48"), ("1,896,4864", "1,40,40")):
            self.assertIn(own, on_fake)
            on_fake = on_fake.replace(own, small)
        path = f"{story.PROGRAM.parent}:{os.environ['PATH']}"
        (self.work / "new").mkdir()
        run = subprocess.run(["bash", "-e", "-c", on_fake], cwd=self.work / "new", env={**self.environment(), "PATH": path},
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        told = [line for line in (run.stderr + run.stdout).splitlines() if line]
        for line in filter(None, self.printed.splitlines()):
            begin = line.removesuffix("…")
            self.assertTrue(any(one == line or (begin != line and one.startswith(begin)) for one in told), f"{line}\n{told}")
        self.assertIn("lookup in configs/bf16_tuned_gemm.csv: exact", run.stdout)
        for named in re.findall(r"`((?:configs|results)/[^`]+)`", self.section):
            self.assertTrue((self.work / "new" / named).is_file(), named)
        self.assertEqual(len(self.rows("new/configs/" + TUNED)), 2)

    def test_its_table_has_the_list_of_each_family(self):
        known = dict(line.split()[:2] for line in self.attune("list", "ops").stdout.splitlines() if ".csv" in line)
        stated = re.findall(r"(?m)^\| `(\w+)` \| `(\S+)` \|$", self.section)
        self.assertEqual({op: shapes.replace("untuned", "tuned") for op, shapes in stated}, known)


class Changes(CiRun):
    def test_a_shape_that_becomes_slower_shows_in_the_exit_status_and_one_that_becomes_faster_does_not(self):
        """With one trial the first shape gets a row of its own, the default, where a good row had served it by padding."""
        good = SLOW.replace("tile_m=16;tile_n=16", "tile_m=128;tile_n=32")
        self.shapes("250,32,16", "240,32,16")
        self.table("configs/" + TUNED, self.row("256,32,16", 5, kernel=good), self.row("240,32,16", 5, kernel=SLOW))
        given = FAKE_ARGUMENTS + " --all --max-trials 1 --search random"
        result = self.ci(given=given, status=1)
        slower, faster = self.results()["families"][0]["shapes"]
        self.assertEqual((slower["verdict"], faster["verdict"], self.results()["status"]), ("slower", "faster", 1), str(result))
        self.assertEqual((slower["before"]["candidate"], slower["before"]["row"]), (good, f"ci-results/before/{TUNED}:2"))
        self.assertLess(slower["interval"][1], 1 / 1.02)
        self.assertEqual(len(self.rows("configs/" + TUNED)), 3)  # A slower shape is published and said, not withheld.
        self.shapes("240,32,16")
        self.table("configs/" + TUNED, self.row("240,32,16", 5, kernel=SLOW))
        self.ci("-o", "faster", given=given)
        self.assertEqual(self.results("faster")["counts"]["faster"], 1)

    def test_a_kernel_that_was_banned_since_does_not_stand_for_its_row(self):
        self.shapes("256,32,16")
        self.table("configs/" + TUNED, self.row("256,32,16", 5, kernel=SLOW))
        self.attune("quarantine", "add", SLOW, "--reason", "It is wrong.")
        self.ci("--only", "stale", "-o", "out")
        shape, = self.results("out")["families"][0]["shapes"]
        self.assertNotEqual(shape["before"]["candidate"], SLOW)
        self.assertNotIn(SLOW, self.read("configs/" + TUNED))


class Progress(CiRun):
    def test_lines_of_progress_reach_standard_error_while_it_tunes(self):
        """A candidate that hangs keeps tuning long enough for a line, of which there is one in nine seconds."""
        self.shapes("1,32,48")
        config = "split_k=1;tile_m=16;tile_n=16"
        faults = self.put("faults.tsv", f"*\t{config}\tsleep\tprepare\talways\n")
        result = self.ci(given=FAKE_ARGUMENTS + " --search exhaustive --candidate-timeout 9.5", timeout=60, status=None,
                         env={**self.where, "ATTUNE_FAKE_FAULTS": str(faults)})
        lines = result.stderr.splitlines()
        begin, end = lines.index("gemm_a16w16: tune: begins"), lines.index("gemm_a16w16: tune: done")
        told = lines[begin + 1:end]
        self.assertTrue(told, str(result))
        for line in told:
            self.assertRegex(line, r"^gemm_a16w16: tune: 0 of 1 shape decided, \d+\.\d s: ")
            self.assertEqual(self.read("ci-results/log.txt").count(line.removeprefix("gemm_a16w16: tune: ")), 1)


class TornRows(CiRun):
    def test_a_row_whose_writing_broke_off_is_its_familys_failure_and_nothing_is_tuned(self):
        self.shapes("256,32,16")
        self.table("configs/" + TUNED, self.row("256,32,16", 5))
        torn = "fake,4,1,40,40,False,torch.float32,torch.fl"
        whole = self.read("configs/" + TUNED)
        self.put("configs/" + TUNED, whole + torn)
        result = self.ci(status=1)
        failure = self.results()["families"][0]["failure"]
        self.assertIn(f"configs/{TUNED}:3: the row has neither a time nor a kernel, it has 8 of 18 cells", failure, str(result))
        self.assertEqual(self.read("configs/" + TUNED), whole + torn)
        self.put("configs/" + TUNED, whole)
        self.ci("-o", "mended")


class Only(CiRun):
    OLD, NEW = "1,40,40", "2,24,32"

    def git(self, *arguments):
        identity = ("-c", "user.name=x", "-c", "user.email=x", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *identity, *arguments], cwd=self.work, check=True, capture_output=True, env=self.environment())

    def commit(self, name):
        self.git("add", "-A", "configs")
        self.git("commit", "-q", "--allow-empty", "-m", name)

    def tuned(self, folder="ci-results"):
        """The shapes that a run was about, as M,N,K."""
        return [one["problem"].split(" dtype")[0].replace("gemm_a16w16 m=", "").replace(" n=", ",").replace(" k=", ",")
                for family in self.results(folder)["families"] for one in family["shapes"]]

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_a_tag_with_the_name_of_the_main_branch_is_none(self):
        self.shapes(self.OLD)
        self.git("init", "-q")
        self.commit("main")
        self.git("checkout", "-q", "-b", "branch")
        self.shapes(self.OLD, self.NEW)
        self.commit("a shape")
        self.git("tag", "main")
        self.ci("--only", "changed")
        self.assertEqual(self.tuned(), [self.NEW])
        self.ci("--only", "changed", "--since", "main", "-o", "none")  # As git reads it: the tag.
        self.assertEqual(self.tuned("none"), [])

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_a_branch_that_is_pushed_has_changed_since_it_left_the_main_branch(self):
        self.shapes(self.OLD)
        self.git("init", "-q", "-b", "main")
        self.git("init", "-q", "--bare", "-b", "trunk", str(self.folder / "remote.git"))
        self.git("remote", "add", "origin", str(self.folder / "remote.git"))
        self.commit("main")
        self.git("push", "-q", "-u", "origin", "main")
        self.git("checkout", "-q", "-b", "branch")
        self.shapes(self.OLD, self.NEW)
        self.commit("a shape")
        self.git("push", "-q", "-u", "origin", "branch")
        self.ci("--only", "changed")
        self.assertEqual(self.tuned(), [self.NEW])
        # A remote's default branch of another name is known where the repository was cloned.
        self.git("push", "-q", "origin", "main:trunk", ":main")
        self.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
        self.git("branch", "-m", "main", "elsewhere")
        self.ci("--only", "changed", "-o", "trunk")
        self.assertEqual(self.tuned("trunk"), [self.NEW])
        # Where the remote has none that is known, an upstream of another name is where the branch comes from.
        self.git("symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
        self.git("branch", "-q", "--set-upstream-to=origin/trunk")
        self.ci("--only", "changed", "-o", "upstream")
        self.assertEqual(self.tuned("upstream"), [self.NEW])
        self.git("branch", "-q", "--set-upstream-to=origin/branch")
        self.refuses("--config-dir", "configs", "--only", "changed", says="no main branch and no other upstream")

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_changed_shapes_are_those_that_the_list_did_not_have_at_the_merge_base_or_a_commit(self):
        self.shapes(self.OLD)
        self.git("init", "-q")
        self.commit("main")
        self.git("checkout", "-q", "-b", "branch")
        self.shapes(self.NEW, self.OLD)  # The order is no change.
        self.commit("a shape")
        self.ci("--only", "changed")
        self.assertEqual(self.tuned(), [self.NEW])
        self.assertEqual([row["M"] for row in self.rows("configs/" + TUNED)], ["2"])
        self.assertEqual(self.rows("ci-results/chosen/bf16_untuned_gemm.csv")[0]["M"], "2")
        # Since the last commit there is none: nothing is tuned, and that is no failure.
        self.ci("--only", "changed", "--since", "HEAD", "-o", "none")
        self.assertEqual((self.tuned("none"), self.results("none")["status"]), ([], 0))
        self.assertIn("gemm_a16w16: no shape of its list is what --only asks for", self.read("none/log.txt"))
        self.ci("--only", "changed,stale", "--since", "HEAD", "-o", "both")  # Of OLD there is no row.
        self.assertEqual(self.tuned("both"), [self.OLD])
        for since, says in (("--upload-pack=x", "neither begin"), ("-n", "neither begin"), ("HEAD x", "nor hold blanks"),
                            ("HEAD\n", "nor hold blanks"), ("no-such-branch", "no commit"), ("$(touch", "no commit")):
            self.refuses("--only", "changed", f"--since={since}", "--config-dir", "configs", says=says)

    def test_stale_shapes_are_those_without_a_row_and_those_whose_row_is_void(self):
        sizes = ("256,32,16", "250,32,16", "251,32,16", "2,24,32")
        self.shapes(*sizes)
        void = SLOW.replace("@1", "@0")
        self.table("configs/" + TUNED, self.row(sizes[0], 5, kernel=SLOW), self.row(sizes[2], 5, kernel=void))
        self.ci("--only", "stale")
        # 250 is served by the row of 256, which stands in for 251, too.
        self.assertEqual(self.tuned(), [sizes[2], sizes[3]])
        self.assertEqual(sorted(row["M"] for row in self.rows("configs/" + TUNED)), ["2", "251", "256"])
        self.ci("--only", "stale")
        self.assertEqual((self.tuned(), self.results()["inputs"]["only"]), ([], "stale"))

    def test_a_shape_whose_own_row_is_banned_is_stale_though_another_row_stands_in(self):
        sizes = ("256,32,16", "250,32,16", "251,32,16")
        self.shapes(*sizes)
        self.table("configs/" + TUNED, *(self.row(size, 5, kernel=SLOW if size == sizes[1] else KERNEL) for size in sizes))
        self.attune("quarantine", "add", SLOW, "--reason", "wrong in our model")
        self.assertNotIn(": none", self.ask("explain", "gemm_a16w16 m=250 n=32 k=16 dtype=fp32").stdout.splitlines()[0])
        self.ci("--only", "stale")
        self.assertEqual(self.tuned(), [sizes[1]])

    def test_bad_input(self):
        self.shapes(self.OLD)
        where = ("--config-dir", "configs")
        self.refuses(*where, "--only", "new", says="changed, stale or both")
        self.refuses(*where, "--only", "stale", "--since", "HEAD", says="--since needs --only changed")
        self.refuses(*where, "--since", "HEAD", says="--since needs --only changed")
        if shutil.which("git"):
            self.refuses(*where, "--only", "changed", says="in no git repository")
        self.where["PATH"] = str(self.work)
        self.refuses(*where, "--only", "changed", says="no git on PATH")


class Devices(CiRun):
    def test_several_equal_devices_tune_and_the_first_one_compares(self):
        self.shapes("256,32,16", "1,40,40")
        self.table("configs/" + TUNED, self.row("256,32,16", 5, kernel=SLOW))
        self.ci(given="--devices fake:0,fake:1 --quiet-wait 0 --all")
        family, = self.results()["families"]
        self.assertEqual((family["device"], family["done"]), ("fake/4", True))
        self.assertEqual([one["verdict"] for one in family["shapes"]][0], "faster")


class Names(CiRun):
    def test_the_name_of_a_folder_need_not_be_utf_8(self):
        self.shapes("1,40,40")
        name = os.fsdecode(b"c\xff")
        os.rename(self.work / "configs", self.work / name)
        for _ in range(2):
            self.attune("ci", "run", "--config-dir", name, "--arguments", FAKE_ARGUMENTS + " --cache " + os.fsdecode(b"k\xff"))
        inputs = self.results()["inputs"]
        self.assertTrue(inputs["config_dir"].endswith("c\ufffd"), inputs)
        self.assertEqual(inputs["arguments"][-1], "k\ufffd")
        self.assertTrue((self.work / name / TUNED).exists())


class BadInput(CiRun):
    def test_names_are_refused_with_the_list_before_anything_runs(self):
        self.shapes("1,40,40")
        for name in ("gemm_x", "gemm_a16w16; rm -rf /", "$(touch x)", "'gemm_a16w16'", "gemm_a16w16,gemm_y"):
            self.refuses("--shapes", name, says=("unknown name in --shapes, this build tunes", "gemm_a16w16"))
        self.refuses("--shapes", "gemm_a16w16\n", says="control character")

    def test_a_named_family_that_cannot_be_tuned_is_skipped_and_the_exit_status_shows_it(self):
        self.shapes("1,40,40")
        result = self.ci("--shapes", "ck_gemm_a8w8_bpreshuffle, gemm_a16w16, batched_gemm_bf16", status=1)
        for family in ("gemm_a8w8_bpreshuffle", "batched_gemm_bf16"):
            self.assertIn(f"{family}: skipped: this build reads the tables of {family} but cannot tune them", result.stderr)
            self.assertIn(f"this build reads the tables of {family}", self.read("ci-results/report.md"))
        answer = self.results()
        self.assertEqual([(one["family"], one["done"]) for one in answer["families"]],
                         [("gemm_a16w16", True), ("gemm_a8w8_bpreshuffle", False), ("batched_gemm_bf16", False)])
        self.assertEqual((answer["ending"], len(self.rows("configs/" + TUNED))), ("done", 1))

    def test_a_list_of_such_families_alone_has_a_report_with_a_line_for_each(self):
        self.shapes("1,40,40")
        names = ("ck_batched_gemm_bf16", "ck_batched_gemm_a8w8", "ck_gemm_a8w8_blockscale_bpreshuffle", "ck_gemm_a8w8_bpreshuffle")
        result = self.ci("--shapes", ", ".join(names), status=1)
        for family in (name.removeprefix("ck_") for name in names):
            self.assertIn(f"{family}: skipped: this build reads the tables of {family} but cannot tune them", result.stderr)
            self.assertIn(f"this build reads the tables of {family} ", self.read("ci-results/report.md"))
        answer = self.results()
        self.assertEqual(([one["done"] for one in answer["families"]], answer["ending"]), ([False] * 4, "done"))
        self.assertFalse((self.work / "configs" / TUNED).exists())

    def test_arguments_are_refused_before_anything_runs(self):
        self.shapes("1,40,40")
        for given, says in (("; rm -rf x", "no shell reads them"), ("$(touch x)", "no shell"), ("`x`", "no shell"),
                            ("--all\n--sort", "control character"), ("--cache 'x", "not closed"),
                            ("'; rm'", "takes no argument"), ("--bugdet 3", "the nearest is --budget"),
                            ("--budget soon", "soon"), ("--help", "ask for help"), ("-i x.csv", "--untune_file"),
                            ("-o x.csv", "--tune_file"), ("--json", "--json"), ("-m 3", "cannot have -m"),
                            ("--threads 1,2", "one number"), ("--tp 8", "--model_dir"), ("--devices fake:9", "fake:9"),
                            ("--devices cpu:0,cpu:1", "one device"), ("--act nothing", "cannot have --act"),
                            ("--bias 1", "cannot have --bias, which would replace a column of the lists of shapes: write the value into"), ("--scale_ab 1", "cannot have --scale_ab"),
                            ("--dtype_b fp32", "cannot have --dtype"), ("--col_b", "cannot have --col_b")):
            with self.subTest(given):
                self.refuses("--arguments", given, says=says)

    def test_folders_are_refused_before_anything_runs(self):
        self.refuses("--config-dir", "none", says="no configuration folder")
        self.refuses("--config-dir", "configs", says="nothing to tune")
        self.refuses("--shapes", "gemm_a16w16", says="no list of shapes of gemm_a16w16")
        self.shapes("1,40,40")
        for folder in (".", "configs", "configs/", "configs/model_configs", "configs/results", "out/../configs"):
            with self.subTest(folder):
                self.refuses("-o", folder, says="lie in each other, name another with -o")
        self.put("old/before/deep/bf16_untuned_gemm.csv", self.read(LIST))
        self.refuses("--config-dir", "old/before/deep", "-o", "old", says="lie in each other")
        self.put("mine/letter.txt", "x")
        self.refuses("-o", "mine", says="holds other files")
        self.put("mine/results.json", "x")
        self.refuses("-o", "mine", says="no JSON object")

    def test_what_stands_in_the_place_of_an_artefact_is_found_before_anything_runs(self):
        self.shapes("1,40,40")
        self.ci("-o", "out")
        whole = self.work / "out"
        for name in ("log.txt", "began.json", "results.json", "run.lock", "diff.md", "report.md", f"configs/{TUNED}"):
            place = self.work / name.replace("/", "_") / "out"
            for kind, make in (("folder", os.mkdir), ("FIFO", os.mkfifo)):
                with self.subTest(name, kind=kind):
                    shutil.copytree(whole, place)
                    (place / name).unlink()
                    make(place / name)
                    self.refuses("-o", str(place.relative_to(self.work)), says=("not a regular file", name))
                    shutil.rmtree(place)
        for name in ("configs", "before", "chosen"):
            shutil.rmtree(whole / name, ignore_errors=True)
            self.put(f"out/{name}", "x")
            self.refuses("-o", "out", says=("expected a folder of a run", name))
            (whole / name).unlink()


if __name__ == "__main__":
    story.main()
