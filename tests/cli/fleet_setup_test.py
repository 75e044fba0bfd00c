# SPDX-License-Identifier: MIT
"""Tuning sessions up to the point where an agent can begin: configurations, solvers, session, applicability, jobs."""
import os
import sqlite3
import stat
import unittest

import story

LINES = """./bin/MIOpenDriver conv -n 2 -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1 -t 1
miopenConvolutionBackwardData: MIOpenDriver conv -n 2 -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1

MIOpenDriver bnorm -n 4
MIOpenDriver conv -Q 4
"""
REAL = story.REPOSITORY.parent / "shared" / "data" / "mituna_configs"


class FleetStory(story.Story):
    def fleet(self, *arguments, **how):
        return self.attune(*arguments, **how)

    def query(self, sql):
        connection = sqlite3.connect(self.home / "fleet.db")
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def set_up_session(self):
        self.put("lines.txt", LINES)
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt")
        self.attune("solvers", "update", "--devices", "cpu:0")
        self.attune("session", "init", "-l", "why", "--devices", "cpu:0")


class Sequence(FleetStory):
    def test_each_step_can_be_repeated_and_names_the_step_before_it(self):
        self.refused("configs", "list", says="attune configs import -t TAG -f FILE")
        self.put("lines.txt", LINES)
        said = self.attune("configs", "import", "-t", "t", "-f", "lines.txt", "--source", "issue#7")
        self.assertIn("2 configurations, 2 new, 2 tagged t", said.stdout)
        self.assertIn("lines.txt:4: 1 line of bnorm skipped", said.stderr)
        self.assertEqual(stat.S_IMODE(os.stat(self.home / "fleet.db").st_mode), 0o600)
        self.assertIn("0 new, 0 tagged t", self.attune("configs", "import", "-t", "t", "-f", "lines.txt").stdout)

        self.refused("session", "init", "-l", "why", says="attune solvers update")
        self.refused("solvers", "list", says="attune solvers update")
        self.attune("solvers", "update", "--devices", "cpu:0")
        self.assertIn(", 0 new", self.attune("solvers", "update", "--devices", "cpu:0").stdout)
        solvers = self.attune("solvers", "list", "--json").json
        self.assertIn(("onednn.conv", "conv"), [(one["id"], one["op"]) for one in solvers])

        self.refused("session", "init", "-l", "why", "--devices", "fake:0",
                     says="run `attune solvers update --devices fake:0` first, the store")
        self.refused("applicability", "update", "--session", "1", says="attune session init -l REASON")
        for _ in range(2):
            self.assertEqual(self.attune("session", "init", "-l", "why", "--devices", "cpu:0").stdout, "session 1\n")
        load = ("jobs", "load", "--session", "1", "-t", "t", "-l", "why")
        self.refused(*load, "--steps", "perf_compile,perf_eval", "-o",
                     says="attune applicability update --session 1")
        counts = [self.attune("applicability", "update", "--session", "1", "--json").json for _ in range(2)]
        self.assertEqual(counts[0], counts[1])
        self.assertGreater(counts[0]["applicable"], 0)

        self.refused(*load, "--steps", "perf_eval", says="--steps perf_compile,perf_eval -l why")
        new = [self.attune(*load, "--steps", "perf_compile,perf_eval", "-o", "--json").json["new"] for _ in range(2)]
        self.assertEqual(new, [2 * counts[0]["applicable"] + 2, 0])  # A contest for each configuration.
        jobs = self.attune("jobs", "list", "--session", "1", "--json").json
        self.assertEqual(len(jobs), new[0])
        self.assertEqual({one["reason"] for one in jobs}, {"why"})
        self.assertEqual(sum(one["step"] == "perf_contest" for one in jobs), 2)
        status = self.attune("status", "--session", "1", "--json").json
        self.assertEqual(status["steps"]["perf_compile"]["queued"], counts[0]["applicable"])
        self.assertEqual(status["left"], new[0])
        self.assertIn("attune fleet run --session 1 --steps perf_compile", status["waits"][0])
        self.assertIn("none of your runs is active", self.attune("status").stdout)

    def test_without_o_every_solver_of_the_op_gets_a_job(self):
        self.set_up_session()
        solvers = [one for one in self.attune("session", "show", "1", "--json").json["solvers"] if one["op"] == "conv"]
        new = self.attune("jobs", "load", "--session", "1", "--all-configs", "--steps",
                          "miopen_find_compile,miopen_find_eval", "-l", "x", "--json").json["new"]
        self.assertEqual(new, 4)
        new = self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", "perf_compile", "-l", "x",
                          "--json").json["new"]
        self.assertEqual(new, 2 * len(solvers))
        new = self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", "perf_eval", "--solvers",
                          solvers[0]["id"], "-l", "x", "--json").json["new"]
        self.assertEqual(new, 2 + 2)

    def test_a_session_pins_the_libraries_of_all_its_solvers(self):
        self.set_up_session()
        session = self.attune("session", "show", "1", "--json").json
        ops = {one["op"] for one in session["solvers"]}
        self.assertIn("gemm_a16w16", ops)
        for one in session["solvers"]:
            if one["id"] in session["versions"]:
                self.assertEqual(session["versions"][one["id"]], one["version"])
        for one in ("openblas.gemm", "onednn.conv"):
            if one in {each["id"] for each in session["solvers"]}:
                self.assertIn(one, session["versions"])

    def test_agents_measure_as_the_session_says(self):
        self.put("lines.txt", LINES)
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt")
        self.attune("solvers", "update", "--devices", "fake:0")
        session = self.attune("session", "init", "-l", "cold", "--inputs", "cold", "--devices", "fake:0", "--json").json
        self.assertRegex(session["versions"]["protocol"], r"^race/\d+ cold ")
        self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", "find_compile,find_eval", "-l", "x")
        self.attune("fleet", "run", "--session", "1", "--devices", "fake:0", "--quiet-wait", "0")
        again = self.attune("session", "init", "-l", "again", "--inputs", "cold", "--retune-stale", "--devices", "fake:0",
                            "--json").json
        self.assertEqual(again["retune"]["configurations"], [], "nothing is stale")

    def test_a_session_keeps_its_ticket_and_its_container_image(self):
        self.put("lines.txt", LINES)
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt")
        self.attune("solvers", "update", "--devices", "fake:0")
        init, image = ("session", "init", "-l", "why", "--devices", "fake:0"), {"ATTUNE_IMAGE_DIGEST": "sha256:1f0c"}
        session = self.attune(*init, "--ticket", "T-7", "--json", env=image).json
        self.assertEqual((session["ticket"], session["image"]), ("T-7", "sha256:1f0c"))
        self.assertRegex(session["versions"]["protocol"], r"^race/\d+ ")
        self.assertIn("  ticket T-7\n  container image sha256:1f0c\n", self.attune("session", "show", "1").stdout)
        self.refused(*init, "--ticket", "T-8", says="session 1 has this reason and the ticket 'T-7'")
        self.refused(*init, env={"ATTUNE_IMAGE_DIGEST": "two words"}, says="ATTUNE_IMAGE_DIGEST expects a digest")
        self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", "find_compile", "-l", "x")
        run = ("fleet", "run", "--session", "1", "--devices", "fake:0", "--quiet-wait", "0")
        other = self.attune(*run, env={"ATTUNE_IMAGE_DIGEST": "sha256:77"}).stderr
        self.assertIn("note: session 1 was begun in the container image sha256:1f0c, and this is sha256:77\n", other)
        self.assertNotIn("container image", self.attune(*run, env=image).stderr)

    def test_steps_are_words_of_a_list(self):
        self.set_up_session()
        load = ("jobs", "load", "--session", "1", "-t", "t", "-l", "x", "--steps")
        for steps in (",", "perf_compile,", "nonsense"):
            self.refused(*load, steps, says="--steps expects some of perf_compile")
            self.refused("fleet", "run", "--session", "1", "--steps", steps, says="--steps expects some of perf_compile")
        self.refused("fleet", "run", "--session", "1", says="attune jobs load --session 1 -t TAG --steps")
        self.attune(*load, "find_compile")

    def test_sessions_end(self):
        self.set_up_session()
        self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", "find_compile,find_eval", "-l", "x")
        self.assertIn("session 1 is aborted", self.attune("session", "abort", "1").stdout)
        self.assertEqual([one["state"] for one in self.attune("session", "list", "--json").json], ["aborted"])
        self.refused("jobs", "load", "--session", "1", "-t", "t", "--steps", "find_compile", "-l", "x", says="aborted")
        self.refused("session", "init", "-l", "why", "--devices", "cpu:0", says="give another with -l")
        self.refused("jobs", "reset", "--session", "1", "--class", "cancelled", says="session 1 is aborted")


class Configurations(FleetStory):
    def test_they_are_listed_shown_exported_and_tagged(self):
        self.put("lines.txt", LINES)
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt", "--source", "customer", "--recurrent")
        self.attune("configs", "import", "-t", "u", "-f", "lines.txt", "--source", "benchmark")
        one, two = self.attune("configs", "list", "--json").json
        self.assertEqual((one["source"], one["tags"], one["recurrent"]), ("customer", ["t", "u"], True))
        self.assertIn("MIOpenDriver conv", one["line"])
        self.assertIn("customer", self.attune("configs", "show", one["id"][:8]).stdout)
        self.assertIn(two["id"], self.attune("configs", "show", two["problem"]).stdout)
        self.attune("configs", "export", "-t", "t", "-o", "again.txt")
        self.assertIn("0 new", self.attune("configs", "import", "-t", "t", "-f", "again.txt").stdout)
        self.attune("configs", "export", "-t", "t", "-o", "conv_untuned.csv")
        self.assertIn("0 new", self.attune("configs", "import", "-t", "t", "-f", "conv_untuned.csv").stdout)
        self.attune("configs", "tag", "-t", "v", two["id"])
        self.assertEqual(len(self.attune("configs", "list", "-t", "v", "--json").json), 1)
        self.attune("configs", "untag", "-t", "u")
        self.refused("configs", "list", "-t", "u", says="attune configs import -t u -f FILE")
        self.refused("configs", "show", "zz", says="attune configs list")

    def test_an_issue_is_read(self):
        self.put("issue.md", f"Please tune these.\n```\n{LINES}```\n")
        said = self.attune("configs", "import", "-t", "t", "--from-issue", "issue.md", "--source", "issue#7").stdout
        self.assertIn("issue.md: 5 lines, 2 configurations, 2 new, 2 tagged t", said)
        self.assertEqual({one["source"] for one in self.attune("configs", "list", "--json").json}, {"issue#7"})
        self.put("issue.md", f"Please tune these.\n{LINES}")
        self.refused("configs", "import", "-t", "u", "--from-issue", "issue.md",
                     says="issue.md: no configuration stands in a fenced block, ask the issue's author")
        self.refused("configs", "import", "-t", "u", "--from-issue", "none.md", says="none.md")

    def test_foreign_results_are_shown_and_used_for_nothing(self):
        self.put("a.fdb.txt", "8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F=Slow:2.50,0,A;Fast:0.5000,72,A\n")
        self.put("a.db.txt", "2x8x9x8x1x3x3x1x8x2x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=Fast:1,16\n")
        said = self.attune("configs", "import", "-t", "t", "-f", "a.fdb.txt", "--results").stdout
        self.assertIn("2 results of a.fdb.txt kept as foreign", said)
        self.attune("configs", "import", "-t", "t", "-f", "a.db.txt", "--results")
        one, = self.attune("configs", "list", "--json").json
        shown, = self.attune("configs", "show", one["id"], "--json").json
        self.assertEqual([(each["source"], each["solver"], each["ms"], each["params"]) for each in shown["foreign"]],
                         [("a.db.txt", "Fast", "", "1,16"), ("a.fdb.txt", "Fast", "0.5000", ""), ("a.fdb.txt", "Slow", "2.50", "")])
        self.assertIn("foreign    a.fdb.txt Fast 0.5000 ms", self.attune("configs", "show", one["id"]).stdout)
        self.assertEqual(self.query("SELECT count(*) FROM decision"), [(0,)])
        self.put("lines.txt", LINES)
        self.refused("configs", "import", "-t", "t", "-f", "lines.txt", "--results", says="--results")

    def test_a_file_of_results_is_a_closed_session(self):
        key = "8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F"
        self.put("gfx90878.HIP.fdb.txt", f"{key}=ConvA:0.5,0,miopenConvolutionFwdAlgoDirect\n")
        importing = ("session", "import", "-l", "why", "-t", "t")
        done = self.attune(*importing, "-f", "gfx90878.HIP.fdb.txt", "--ticket", "T-7")
        self.assertEqual(done.stdout, "session 1 of gfx908/120: 1 configuration, 1 new, 1 result kept as foreign\n")
        session = self.attune("session", "show", "1", "--json").json
        self.assertEqual((session["state"], session["imported_from"], session["ticket"]), ("closed", "gfx90878.HIP.fdb.txt", "T-7"))
        self.assertIn("imported from gfx90878.HIP.fdb.txt", self.attune("status", "--session", "1").stdout)
        self.refused("jobs", "load", "--session", "1", "-t", "t", "--steps", "find_compile", "-l", "x", says="session 1 is closed")
        self.put("mine.fdb.txt", self.read("gfx90878.HIP.fdb.txt"))
        self.refused(*importing, "-f", "mine.fdb.txt", "-a", "gfx908", "-n", "120",
                     says="session 1 has this reason and is imported from gfx90878.HIP.fdb.txt")
        self.refused(*importing, "-f", "mine.fdb.txt", says="name it with --arch and --num_cu")
        self.refused(*importing, "-f", "mine.fdb.txt", "-a", "gfx908", says="--arch and --num_cu name a device together")
        self.refused(*importing, "-f", "gfx90878.HIP.fdb.txt", "--ticket", "T-8",
                     says="session 1 has this reason and the ticket 'T-7', give another with -l")
        held = "session 1 has the results of this source, which "
        self.refused(*importing, "-f", "mine.fdb.txt", "-a", "gfx90a", "-n", "104", "--source", "gfx90878.HIP.fdb.txt",
                     says=held + "this would replace; name another with --source")
        self.refused("configs", "import", "-t", "t", "-f", "gfx90878.HIP.fdb.txt", "--results",
                     says=held + "--results would replace; name another with --source")
        self.assertEqual(self.query("SELECT count(*) FROM foreign_result"), [(1,)])
        self.put("lines.txt", LINES)
        self.refused(*importing, "-f", "lines.txt", "-a", "gfx908", "-n", "120", says="--results keeps what a find-db")

    def test_what_was_imported_for_a_device_is_stale_there(self):
        self.put("lines.txt", LINES)
        self.attune("configs", "import", "-t", "u", "-f", "lines.txt")
        self.attune("solvers", "update", "--devices", "fake:0")
        device = self.attune("session", "init", "-l", "first", "--devices", "fake:0", "--json").json["device"]
        self.put("mine.fdb.txt", "8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F=ConvA:0.5,0,miopenConvolutionFwdAlgoDirect\n")
        self.attune("session", "import", "-l", "why", "-t", "t", "-f", "mine.fdb.txt", "-a", device["gfx"], "-n", str(device["cu_num"]))
        said = self.attune("session", "init", "-l", "again", "--retune-stale", "--devices", "fake:0").stdout
        self.assertIn("its results are imported from mine.fdb.txt\n", said)
        self.assertIn("1 configuration tagged retune-3", said)

    def test_an_unknown_tag_is_not_taken_away(self):
        self.put("lines.txt", LINES)
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt")
        self.refused("configs", "untag", "-t", "u", says="no configuration has the tag 'u'")

    def test_bad_input_is_one_sentence_and_nothing_is_stored(self):
        self.put("lines.txt", LINES)
        self.refused("configs", "import", "-t", "t", "-f", "lines.txt", "--strict", says="lines.txt:4: ")
        self.refused("configs", "import", "-t", "t", "-f", "none.txt", says="none.txt")
        self.refused("configs", "import", "-t", "t", says="-f")
        self.refused("configs", "import", "-t", "t", "-f", "lines.txt", "-c", "pool", says="pool")
        self.refused("configs", "import", "-t", "t", "-f", "lines.txt", "-b", "0", says="0")
        self.refused("configs", "import", "-t", "t", "-f", "lines.txt", "--op", "gemm_a8w8", says="CSV list")
        for label in ("two\nlines", "\x1b[31m", " ", "x" * 256, b"\xff".decode("utf-8", "surrogateescape")):
            for flags in (("-t", label), ("-t", "t", "--source", label)):
                self.refused("configs", "import", *flags, "-f", "lines.txt", says="expected")
            self.refused("session", "init", "-l", label, says="--label: expected")
            self.refused("jobs", "load", "--session", "1", "-t", "t", "--steps", "find_compile", "-l", label,
                         says="--label: expected")
        self.assertFalse((self.home / "fleet.db").exists())

    def test_a_list_of_shapes_without_a_family_takes_it_from_op(self):
        self.put("shapes.csv", "M,N,K\n1,8,16\n")
        self.attune("configs", "import", "-t", "t", "-f", "shapes.csv", "--op", "gemm_a8w8")
        self.assertEqual([one["op"] for one in self.attune("configs", "list", "--json").json], ["gemm_a8w8"])

    def test_labels_with_quotes_and_sql_are_data(self):
        label = "x'); DROP TABLE job; --\""
        self.put("lines.txt", LINES)
        self.attune("configs", "import", "-t", label, "-f", "lines.txt")
        self.attune("solvers", "update", "--devices", "cpu:0")
        self.attune("session", "init", "-l", label, "--devices", "cpu:0")
        self.attune("jobs", "load", "--session", "1", "-t", label, "--steps", "find_compile", "-l", label)
        self.assertEqual(self.query("SELECT DISTINCT reason FROM job"), [(label,)])
        self.assertEqual(self.query("SELECT DISTINCT name FROM tag"), [(label,)])

    def test_other_stores_are_refused(self):
        self.put("lines.txt", LINES)
        other = self.folder / "other.db"
        connection = sqlite3.connect(other)
        connection.execute("CREATE TABLE mine (a)")
        connection.commit()
        connection.close()
        refused = ("configs", "import", "-t", "t", "-f", "lines.txt")
        self.refused(*refused, env={"ATTUNE_STORE": f"sqlite:{other}"}, says="another program's")
        self.refused(*refused, env={"ATTUNE_STORE": "mysql://head/fleet"}, says="names no user")
        said = self.attune(*refused, status=2, env={"ATTUNE_STORE": "mariadb://user:secret@head/fleet"})
        self.assertNotIn("secret", said.stderr)
        quoted = self.folder / 'a"b.db'
        self.refused(*refused, env={"ATTUNE_STORE": f"sqlite:{quoted}"}, says="quotation mark")
        self.assertFalse(quoted.exists())
        self.attune(*refused)
        connection = sqlite3.connect(self.home / "fleet.db")
        connection.execute("INSERT INTO schema_version VALUES (99, 0, 'attune 99')")
        connection.commit()
        connection.close()
        self.refused(*refused, says="schema 99")

    @unittest.skipUnless(REAL.exists(), f"the files are not here: {REAL}")
    def test_no_convolution_of_real_lists_is_lost(self):
        for name, flags, lines, configurations in (("resnet50.txt", ("-b", "4"), 59, 59),
                                                   ("mituna_tests_all.txt", (), 569, 979),
                                                   ("all.txt", (), 1237, 961)):
            counts = self.attune("configs", "import", "-t", name, "-f", REAL / name, *flags, "--json").json
            self.assertEqual((counts["convolutions"], counts["configurations"]), (lines, configurations), name)
            self.assertEqual(counts["tagged"], configurations)
            self.assertEqual(counts["lines"], counts["blank"] + counts["convolutions"] +
                             sum(len(one["lines"]) for one in counts["skipped"]))
            self.assertEqual(len(self.attune("configs", "list", "-t", name, "--json").json), configurations)


class OlderSpelling(FleetStory):
    def test_the_manual_is_read_word_for_word(self):
        self.put("resnet50.txt", LINES)
        tuna = lambda *arguments: self.attune("tuna", *arguments)
        self.assertIn("2 new", tuna("import_configs", "-t", "resnet50", "-f", "resnet50.txt").stdout)
        tuna("go_fish", "--local_machine", "--update_solvers")
        self.assertIn("onednn.conv", tuna("go_fish", "--list_solvers").stdout)
        self.assertEqual(tuna("go_fish", "--local_machine", "--init_session", "-l", "reason", "--ticket", "T-7").stdout,
                         "session 1\n")
        self.assertEqual(self.attune("session", "show", "1", "--json").json["ticket"], "T-7")
        tuna("go_fish", "--local_machine", "--update_applicability", "--session_id", "1")
        said = tuna("load_job", "--session_id", "1", "-t", "resnet50", "--fin_steps",
                    "miopen_perf_compile,miopen_perf_eval", "-o", "-l", "reason").stdout
        self.assertIn("jobs loaded", said)
        self.assertIn("perf_compile", tuna("go_fish", "--status", "--session_id", "1").stdout)

    def test_the_later_form_is_read_too(self):
        self.put("resnet50.txt", LINES)
        self.attune("tuna", "go_fish.py", "miopen", "import_configs", "-t", "resnet50", "--file_name", "resnet50.txt",
                    "--mark_recurrent")
        self.assertEqual(self.query("SELECT name, recurrent FROM tag"), [("resnet50", 1)] * 2)
        self.attune("tuna", "go_fish", "miopen", "--update_solvers")
        for arguments in (("--help",), ("go_fish", "--help"), ("go_fish", "miopen", "import_configs", "-h")):
            self.assertIn("import_configs -t TAG", self.attune("tuna", *arguments).stdout)

    def test_a_command_with_another_form_is_named(self):
        self.refused("tuna", "import_db", "-t", "a.fdb.txt", says="attune session import -l REASON -t TAG -f FILE")

    def test_a_flag_without_a_meaning_is_refused_with_a_sentence(self):
        for arguments, says in ((("import_configs", "-m", "Resnet50"), "frameworks and models are not kept"),
                                (("go_fish", "--enqueue_only"), "no queue is filled ahead"),
                                (("go_fish", "--remote_machine"), "where it is started"),
                                (("go_fish",), "one thing at a time"),
                                (("go_fish", "--update_solvers", "--status"), "only one of"),
                                (("go_fish", "rocmlir"), "only miopen"),
                                (("import_configs", "--mark_recurrent=no"), "takes no value"),
                                (("go_fish", "--bogus"), "has no flag '--bogus'"),
                                (("load_job", "--algo", "x"), "name them with -s"),
                                (("load_job", "--session_id"), "needs a value"),
                                (("export_db", "--golden_v", "1", "-k"), "no fleet's store yet"),
                                (("update_golden", "--create_perf_table"), "attune golden diff"),
                                (("bogus",), "it has import_configs"),
                                ((), "name a command of tuna")):
            self.refused("tuna", *arguments, says=says)


if __name__ == "__main__":
    story.main()
