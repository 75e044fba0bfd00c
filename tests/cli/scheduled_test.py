# SPDX-License-Identifier: MIT
"""The nightly and the weekly workflow's script, ci/scheduled_tune, night after night."""
import story
from ci_run_test import FAKE_ARGUMENTS
from workflow_test import TABLE, Workflow


class Scheduled(Workflow):
    """The nightly and the weekly workflow, night after night."""

    def night(self, status=0, **variables):
        """The folders that were written."""
        given = {"ATTUNE_CI_ARGUMENTS": FAKE_ARGUMENTS, **variables}
        return self.script("scheduled_tune", status, **given).stdout.strip().split(":")

    def tuned_up_to(self):
        """The commit up to which every list is tuned."""
        return self.git("log", "-1", "--format=%s", (self.home / "scheduled_commit").read_text().strip()).strip()

    def compared(self, folder="ci-results-stale"):
        return [shape["shape"] for family in self.results(folder)["families"] for shape in family["shapes"]]

    def test_by_night_what_changed_and_what_is_stale_is_tuned_and_weekly_all(self):
        self.assertEqual(self.night(), ["ci-results-stale"], "there was no night before")
        self.assertEqual(len(self.compared()), 2, "without a table, every row is stale")
        self.assertEqual(self.tuned_up_to(), "Shapes")
        self.publish("push", ATTUNE_CI_RESULTS="ci-results-stale")
        self.git("fetch", "--quiet", "origin", "main")
        self.git("reset", "--quiet", "--hard", "FETCH_HEAD")
        self.night()
        self.assertEqual((self.compared(), self.compared("ci-results-changed")), ([], []))
        self.shapes("256,32,16", "1,40,40", "2,24,32")
        self.commit("One more shape")
        output = self.folder / "output"
        written = ":".join(self.night(GITHUB_OUTPUT=str(output)))
        self.assertEqual(written, "ci-results-changed:ci-results-stale")
        self.assertEqual(output.read_text(), f"results={written}\n")
        self.assertEqual(self.compared("ci-results-changed"), ["2×24×32 fp32"])
        self.assertEqual(self.compared(), [], "it is tuned already")
        self.assertEqual(self.tuned_up_to(), "One more shape")
        # What is uploaded is the work of both steps, so both must have come to their end.
        done = self.read("ci-results-changed/results.json")
        self.put("ci-results-changed/results.json", done.replace('"ending": "done"', '"ending": "interrupted"'))
        self.assertIn("ci-results-changed is not done", self.publish("push", 3, ATTUNE_CI_RESULTS=written).stderr)
        self.put("ci-results-changed/results.json", done)
        self.assertIn("pushed", self.publish("push", ATTUNE_CI_RESULTS=written).stdout)
        self.assertEqual(self.night(ATTUNE_CI_WEEKLY="1"), ["ci-results-weekly"])
        self.assertEqual(len(self.compared("ci-results-weekly")), 3)

    def test_a_commit_that_is_gone_is_no_night_before(self):
        self.home.mkdir(exist_ok=True)
        (self.home / "scheduled_commit").write_text("0123456789" * 4)
        self.assertEqual(self.night(), ["ci-results-stale"])
        self.assertEqual(self.tuned_up_to(), "Shapes")

    def test_a_night_that_tuned_nothing_is_no_night_before(self):
        self.night()
        # A row serves the new shape by padding, so that it is not stale: only since the old commit it has changed.
        self.shapes("256,32,16", "1,40,40", "250,32,16")
        self.commit("One more shape")
        for status, what in ((2, {"ATTUNE_CI_ARGUMENTS": "--nosuch"}), (127, {"ATTUNE_BIN": "no/program"}),
                             (126, {"ATTUNE_BIN": str(self.work)})):
            self.assertEqual(self.night(status, **what), [""])
            self.assertEqual(self.tuned_up_to(), "Shapes")
        whole = self.read(TABLE)
        self.put(TABLE, whole + "fake,4,1,40,40,False,torch.float32,torch.fl")
        self.night(1)
        self.assertEqual(self.tuned_up_to(), "Shapes", "the family failed")
        self.put(TABLE, whole)
        self.night()
        self.assertEqual((self.compared("ci-results-changed"), self.tuned_up_to()), (["250×32×16 fp32"], "One more shape"))

    def test_an_interrupt_ends_the_night(self):
        self.night()
        self.commit_shapes("2,24,32")
        for status in (130, 143):
            log = self.folder / "calls"
            log.unlink(missing_ok=True)
            program = self.program(f'echo "$*" >>{log}; exit {status}')
            self.assertEqual(self.night(status, ATTUNE_BIN=program), ["ci-results-changed"])
            self.assertEqual(log.read_text().count("\n"), 1, log.read_text())
            self.assertEqual(self.tuned_up_to(), "Shapes")

    def commit_shapes(self, *sizes):
        self.shapes("256,32,16", "1,40,40", *sizes)
        self.commit(" ".join(sizes))

    # Runs to the end, and leaves what a run leaves that was killed before it wrote its results.
    KILLED = (f'{story.PROGRAM} "$@" || exit\nfor one; do case $one in --output=*) folder=${{one#*=}};; esac; done\n'
              """sed -i 's/"ending": "done"/"ending": "running"/' "$folder/results.json"\nexit 137""")

    def test_an_unfinished_run_is_no_obstacle_for_the_other_kinds(self):
        self.night()
        self.commit_shapes("2,24,32")
        killed = self.program(self.KILLED)
        self.assertEqual(self.night(137, ATTUNE_CI_WEEKLY="1", ATTUNE_BIN=killed), [""])
        self.assertEqual(self.results("ci-results-weekly")["ending"], "running")
        self.night()
        self.assertEqual(self.compared("ci-results-changed"), ["2×24×32 fp32"])
        self.commit_shapes("2,24,32", "3,24,32")
        self.night(137, ATTUNE_BIN=killed)
        self.assertEqual(self.tuned_up_to(), "2,24,32")
        self.night(ATTUNE_CI_WEEKLY="1")
        self.assertEqual(self.results("ci-results-weekly")["ending"], "done")
        self.assertIn("3", {row["M"] for row in self.rows(TABLE)})
        self.commit_shapes("2,24,32", "3,24,32", "4,24,32")
        self.night()
        self.assertEqual(self.compared("ci-results-changed"), ["3×24×32 fp32", "4×24×32 fp32"], "since the weekly run began")

    def test_what_changed_after_an_unfinished_night_began_is_left_to_the_one_after(self):
        self.night()
        self.commit_shapes("250,32,16")
        self.night(137, ATTUNE_BIN=self.program(self.KILLED))
        self.commit_shapes("250,32,16", "251,32,16")
        self.night()
        self.assertEqual((self.compared("ci-results-changed"), self.tuned_up_to()), (["250×32×16 fp32"], "250,32,16"))
        self.night()
        self.assertEqual((self.compared("ci-results-changed"), self.tuned_up_to()), (["251×32×16 fp32"], "250,32,16 251,32,16"))

    def test_a_runner_is_known_by_its_device(self):
        output = self.folder / "output"
        keys = {self.script("device_key", GITHUB_OUTPUT=str(output)).stdout for _ in range(2)}
        key, = keys
        self.assertRegex(key, r"^[\w.-]+-\d+-[0-9a-f]{32}\n$", "it is part of a cache's name")
        device, = [one for one in self.ask("list", "devices", "--json").json if one["fingerprint"] in key]
        self.assertNotEqual(device["kind"], "fake")
        self.assertEqual(output.read_text(), f"key={key}" * 2)


if __name__ == "__main__":
    story.main()
