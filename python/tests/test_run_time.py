# SPDX-License-Identifier: MIT
"""Errors, capture, tables and tuning: from a call that no row serves to one that a row serves."""

import csv
import gc
import json
import os
import re
import signal
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import attune
from attune import _tune, errors
from scripts import run_script

SHAPE = "gemm_a16w16 m=12 n=32 k=64 dtype=fp32"
FAKE = {"devices": "fake:0", "quiet_wait": 0}


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="attune_python_")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        home = mock.patch.dict(os.environ, ATTUNE_HOME=str(self.folder / "home"))  # A journal of its own.
        home.start()
        self.addCleanup(home.stop)

    def shapes(self, *sizes):
        file = self.folder / "untuned.csv"
        file.write_text("M,N,K,dtype\n" + "".join(f"{m},{n},{k},fp32\n" for m, n, k in sizes))
        return file

    def use_table(self, file):
        tables = mock.patch.dict(os.environ, ATTUNE_CONFIG_GEMM_BF16=str(file))
        tables.start()
        self.addCleanup(attune.reload)
        self.addCleanup(tables.stop)


class Required(unittest.TestCase):
    """ATTUNE_REQUIRE, which the process's own dispatcher reads when it is made."""

    START = "import attune, numpy as np\n"

    def run_with(self, required, text):
        environment = {**os.environ, "ATTUNE_REQUIRE": required}
        return run_script(self, self.START, text, environment)

    def test_it_is_told_and_products_are_computed(self):
        self.run_with(
            "deterministic",
            """
            assert attune.requirement() == "deterministic"
            x, w = np.ones((4, 64), np.float32), np.ones((32, 64), np.float32)
            assert (attune.gemm_a16w16(x, w) == 64).all()
            """,
        )
        self.assertEqual(attune.requirement(), "")

    def test_a_wrong_word_is_refused_and_not_ignored(self):
        self.run_with(
            "determinstic",
            """
            x, w = np.ones((4, 64), np.float32), np.ones((32, 64), np.float32)
            for _ in range(2):
                try:
                    attune.gemm_a16w16(x, w)
                    raise SystemExit("it was computed")
                except attune.errors.InvalidInputError as error:
                    assert "ATTUNE_REQUIRE" in str(error) and "determinstic" in str(error), error
            """,
        )


class Errors(unittest.TestCase):
    def test_each_code_has_a_class(self):
        codes = ("invalid_input", "not_found", "unavailable", "io", "database", "device", "timeout", "internal")
        self.assertEqual(tuple(errors.CLASSES), codes)
        for code, kind in errors.CLASSES.items():
            self.assertTrue(issubclass(kind, attune.Error))
            self.assertEqual(kind("why").code, code)
            self.assertEqual(str(kind("why")), "why")

    def test_python_s_own_classes_catch_them_too(self):
        for kind, own in (
            (errors.InvalidInputError, ValueError),
            (errors.IoError, OSError),
            (errors.TimedOutError, TimeoutError),
        ):
            self.assertTrue(issubclass(kind, own))

    def test_the_library_s_errors_come_as_their_class(self):
        for problem, says in (
            ("", ""),
            ("gemm_x m=1", "gemm_x"),
            ("gemm_a16w16 m=1 n=2", "'k'"),
            ("gemm_a16w16 m=1 n=2 k=no", "no"),
        ):
            with self.subTest(problem), self.assertRaisesRegex(errors.InvalidInputError, re.escape(says)):
                attune.explain(problem)

    def test_arguments_of_another_type(self):
        for call in (
            lambda: attune.explain(3),
            lambda: attune.explain(None),
            lambda: attune.capture(3),
            lambda: attune.tune(3, "t.csv"),
        ):
            with self.assertRaises(TypeError):
                call()


class Captures(InAFolder):
    def call(self, m=3, n=8, k=16, dtype=np.float32):
        attune.gemm_a16w16(np.ones((m, k), dtype), np.ones((n, k), dtype))

    def rows(self, folder):
        with open(folder / "bf16_untuned_gemm.csv", newline="") as file:
            return sorted((row["M"], row["N"], row["K"], row["bias"], row["dtype"]) for row in csv.DictReader(file))

    def test_shapes_that_are_called_inside_are_written_once(self):
        self.call(m=1)
        with attune.capture(self.folder / "new" / "folder") as shapes:
            for _ in range(3):
                self.call(m=2)
            self.call(m=4, dtype=np.float16)
            self.assertEqual((shapes.num_shapes, shapes.num_dropped), (2, 0))
        self.call(m=5)
        self.assertEqual(
            self.rows(self.folder / "new" / "folder"),
            [("2", "8", "16", "False", "torch.float32"), ("4", "8", "16", "False", "torch.float16")],
        )
        (counts,) = (self.folder / "new" / "folder" / "counts").iterdir()
        self.assertEqual(sorted(row["calls"] for row in csv.DictReader(counts.read_text().splitlines())), ["1", "3"])

    def test_other_threads_are_captured(self):
        with attune.capture(self.folder) as shapes:
            thread = threading.Thread(target=self.call)
            thread.start()
            thread.join()
        self.assertEqual(shapes.num_shapes, 1)

    def test_one_inside_the_other(self):
        with attune.capture(self.folder / "outer"):
            self.call(m=1)
            with attune.capture(str(self.folder / "inner")):
                self.call(m=2)
        self.assertEqual([row[0] for row in self.rows(self.folder / "outer")], ["1", "2"])
        self.assertEqual([row[0] for row in self.rows(self.folder / "inner")], ["2"])

    def test_an_exception_inside_keeps_what_came_before(self):
        with self.assertRaises(ZeroDivisionError), attune.capture(self.folder):
            self.call(m=6)
            1 / 0
        self.assertEqual([row[0] for row in self.rows(self.folder)], ["6"])

    def test_calls_that_were_refused_are_no_shapes(self):
        with attune.capture(self.folder) as shapes, self.assertRaises(ValueError):
            attune.gemm_a16w16(np.ones((2, 3), np.float32), np.ones((2, 4), np.float32))
        self.assertEqual(shapes.num_shapes, 0)

    def test_folders_that_can_be_none(self):
        with self.assertRaises(errors.InvalidInputError):
            attune.capture("")
        (self.folder / "file").write_text("")
        with self.assertRaises(errors.IoError), attune.capture(self.folder / "file"):
            self.call()

    def test_one_that_is_dropped_while_it_is_entered_is_no_danger(self):
        attune.capture(self.folder).__enter__()
        self.call()


class Tunes(InAFolder):
    def test_a_result_for_each_shape_and_a_table(self):
        seen = []
        results = attune.tune(
            self.shapes((1, 32, 48), (2, 24, 32)), self.folder / "t.csv", progress=seen.append, **FAKE
        )
        self.assertEqual([result["ending"] for result in results], ["decided", "decided"])
        self.assertIn("m=1 n=32 k=48", results[0]["problem"])
        self.assertGreater(results[0]["decision"]["speedup"], 0)
        with open(self.folder / "t.csv", newline="") as file:
            self.assertEqual([row["M"] for row in csv.DictReader(file)], ["1", "2"])
        self.assertEqual((seen[-1].decided, seen[-1].given_up, seen[-1].left, seen[-1].shapes), (2, 0, 0, 2))

    def test_progress_is_told_while_it_goes_on(self):
        seen = []
        sizes = [(m, 512, 512) for m in range(1, 9)]
        attune.tune(self.shapes(*sizes), self.folder / "t.csv", progress=seen.append, **FAKE)
        self.assertGreater(len(seen), 1)
        self.assertEqual({one.shapes for one in seen}, {8})
        self.assertEqual([one.decided for one in seen], sorted(one.decided for one in seen))
        self.assertNotEqual(seen[0].doing, "done")

    def test_what_the_callback_raises_stops_the_run(self):
        class Enough(Exception):
            pass

        def stop(progress):
            raise Enough

        sizes = [(m, 512, 512) for m in range(1, 200)]
        with self.assertRaises(Enough):
            attune.tune(self.shapes(*sizes), self.folder / "t.csv", progress=stop, **FAKE)
        if (self.folder / "t.csv").exists():
            self.assertLess(len((self.folder / "t.csv").read_text().splitlines()), 150)

    def test_flags_are_those_of_the_program(self):
        (result,) = attune.tune(
            None,
            self.folder / "t.csv",
            m=1,
            n=32,
            k=48,
            dtype="fp32",
            max_trials=3,
            bias=True,
            verbose=False,
            profile_file=None,
            **FAKE,
        )
        self.assertIn("bias=1", result["problem"])
        self.assertLessEqual(result["candidates"], 4)
        with self.assertRaisesRegex(TypeError, "'colour'"):
            attune.tune(None, self.folder / "t.csv", colour="red")
        for other in ("help", "help_all", "list_flags", "icache_flush"):
            with self.assertRaisesRegex(TypeError, f"'{other}'"):
                attune.tune(None, self.folder / "t.csv", **{other: True})

    def test_the_program_s_refusals_are_exceptions(self):
        with self.assertRaisesRegex(errors.InvalidInputError, "none.csv"):
            attune.tune(self.folder / "none.csv", self.folder / "t.csv")
        with self.assertRaises(errors.InvalidInputError):
            attune.tune(self.shapes((1, 8, 8)), self.folder / "t.csv", max_trials=0)
        before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Hides the exit status.
        self.addCleanup(signal.signal, signal.SIGCHLD, before)
        with self.assertRaisesRegex(errors.InvalidInputError, "none.csv"):
            attune.tune(self.folder / "none.csv", self.folder / "t.csv")
        signal.signal(signal.SIGCHLD, before)
        self.assertFalse((self.folder / "t.csv").exists())
        with self.assertRaisesRegex(errors.IoError, "/proc/none"):
            attune.tune(self.shapes((1, 8, 8)), self.folder / "t.csv", journal="/proc/none/j.db", **FAKE)

    def test_a_callers_own_error_is_none_of_the_program_s(self):
        class Own(errors.Error):
            code = "unavailable"

        answer = json.dumps({"error": {"code": "unavailable", "message": "why"}})
        self.assertIs(type(_tune._failure(1, answer, "")), errors.UnavailableError)
        del Own
        gc.collect()

    def test_a_program_that_is_not_there(self):
        os.environ["ATTUNE_PROGRAM"] = str(self.folder / "none")
        self.addCleanup(os.environ.pop, "ATTUNE_PROGRAM")
        with self.assertRaisesRegex(errors.NotFoundError, "ATTUNE_PROGRAM"):
            attune.tune(None, "t.csv")


class FromACallToItsRow(InAFolder):
    def test_captured_tuned_and_served(self):
        x, w = np.ones((3, 4, 64), np.float32), np.ones((32, 64), np.float32)
        with attune.capture(self.folder / "captures"):
            attune.gemm_a16w16(x, w)
        self.assertIn("no row", attune.explain(SHAPE))
        before = attune.counts()
        results = attune.tune(
            self.folder / "captures" / "bf16_untuned_gemm.csv",
            self.folder / "t.csv",
            max_trials=2,
            libtype=["portable"],
            quiet_wait=0,
            budget="20s",
        )
        self.assertEqual([result["ending"] for result in results], ["decided"])
        self.use_table(self.folder / "t.csv")
        self.assertTrue(attune.reload())
        self.assertFalse(attune.reload())
        np.testing.assert_array_equal(attune.gemm_a16w16(x, w), np.full((3, 4, 32), 64, np.float32))
        self.assertRegex(attune.explain(SHAPE), r"exact +m=12: .*t\.csv:2 portable\.gemm@")
        after = attune.counts()
        self.assertEqual(set(after), {"calls", "misses", "shapes", "missed_shapes", "plans", "reloads", "plan_bytes",
                                      "evicted_plans", "plan_limit_reached",
                                      "captured_plans", "captured_stand_ins"})
        self.assertGreater(after["plan_bytes"], 0)
        self.assertGreaterEqual(attune.release_memory(), after["plan_bytes"])
        self.assertEqual(attune.counts()["plan_bytes"], 0)
        np.testing.assert_array_equal(attune.gemm_a16w16(x, w), np.full((3, 4, 32), 64, np.float32))
        self.assertEqual((after["calls"] - before["calls"], after["misses"] - before["misses"]), (1, 0))

    def test_tables_come_in_the_order_of_precedence(self):
        table = self.folder / "home" / "overlay" / "bf16_tuned_gemm.csv"
        table.parent.mkdir(parents=True)
        table.write_text(
            "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,"
            "libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw\n"
        )
        self.use_table(self.folder / "none.csv")
        attune.reload()
        tables = [one for one in attune.tables() if one["op"] == "gemm_a16w16"]
        self.assertEqual(
            tables[:2],
            [
                {"op": "gemm_a16w16", "file": self.folder / "none.csv", "origin": "variable", "is_there": False},
                {"op": "gemm_a16w16", "file": table, "origin": "overlay", "is_there": True},
            ],
        )

    def test_a_wrong_table_is_a_notice(self):
        self.use_table(self.folder / "none.csv")
        attune.reload()
        self.assertTrue(any("none.csv" in notice for notice in attune.notices()))


if __name__ == "__main__":
    unittest.main()
