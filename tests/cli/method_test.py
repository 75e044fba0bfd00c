# SPDX-License-Identifier: MIT
"""Flags that say how candidates are sought and judged."""
import re

import story
from story import SHAPES

SIZE = ("-m", "1", "-n", "32", "-k", "48", "--dtype", "fp32")
SPLIT_SIZE = ("-m", "1", "-n", "8", "-k", "512", "--dtype", "fp32")  # K is long: split-K wins on the fake device


class Search(story.Story):
    def measured(self):
        return {e["candidate"]["config"] for kind, e in self.journal() if kind == "record"}

    def test_every_strategy_finds_the_same_winner_on_a_small_space(self):
        winners = {}
        for search in ("race", "exhaustive", "random", "local", "model"):
            answer = self.tune(*SIZE, "--search", search, "--iters", "9", "--json", "--journal", search + ".db").json
            winners[search] = answer["results"][0]["decision"]["winner"]
        self.assertEqual(len(set(winners.values())), 1, winners)

    def test_exhaustive_times_each_candidate_exactly_as_often_as_said(self):
        self.tune(*SIZE, "--search", "exhaustive", "--iters", "7", "--warmup", "2")
        finals = [e for kind, e in self.journal() if kind == "record" and "measurement" in e["outcome"]]
        counts = {len(e["outcome"]["measurement"]["samples"]) for e in finals}
        self.assertEqual(counts, {7})

    def test_max_trials_bounds_what_is_asked(self):
        self.tune(*SIZE, "--max-trials", "6", "--search", "random")
        self.assertLessEqual(len(self.measured()), 7)  # and the default
        self.assertGreaterEqual(len(self.measured()), 6)

    def test_the_seed_decides_which_candidates_random_asks(self):
        asked = {}
        for run, seed in (("a", "1"), ("b", "1"), ("c", "2")):
            self.tune(*SIZE, "--max-trials", "6", "--search", "random", "--seed", seed, "--journal", run + ".db")
            asked[run] = [e["candidate"]["config"] for kind, e in self.journal(self.work / (run + ".db")) if kind == "started"]
        self.assertEqual(asked["a"], asked["b"])
        self.assertNotEqual(asked["a"], asked["c"])

    def test_without_split_k_no_candidate_splits(self):
        with_split = self.tune(*SPLIT_SIZE, "--json").json["results"][0]["decision"]["winner"]
        self.assertRegex(with_split, "split_k=[24]")
        self.tune(*SPLIT_SIZE, "--no-splitK", "--journal", "no.db")
        configs = [e["candidate"]["config"] for kind, e in self.journal(self.work / "no.db") if kind != "decision"]
        self.assertTrue(configs)
        self.assertEqual({re.search(r"split_k=(\d)", c)[1] for c in configs}, {"1"})

    def test_the_old_split_k_switch_is_accepted(self):
        self.tune(*SIZE, "--splitK")

    def test_a_library_is_chosen_by_the_first_part_of_its_name(self):
        answer = self.tune(*SIZE, "--libtype", "fake", "--json").json
        self.assertTrue(answer["results"][0]["decision"]["winner"].startswith("fake."))
        result = self.tune(*SIZE, "--libtype", "portable", status=1)
        self.assertIn("no solver supports it", result.stderr)

    def test_an_unknown_library_is_refused_with_the_list(self):
        self.refused("tune", *SIZE, "--libtype", "cktile", *story.FAKE, says=("fake", "portable", "'cktile'"))


class Classic(story.Story):
    """`--search classic`: as AMD's Triton script measured, to compare with it."""

    WRONG = "*\tsplit_k=1;tile_m=128;tile_n=16\twrong_result\trun\talways\n"
    LUCKY = "*\tsplit_k=1;tile_m=128;tile_n=16\tfast\tprepare\talways\n"

    def classic(self, *flags, **how):
        return self.tune(*SIZE, "--search", "classic", "--json", *flags, **how).json["results"][0]

    def test_both_versions_find_the_fastest_candidate_of_the_space(self):
        winner = self.tune(*SIZE, "--search", "exhaustive", "--json").json["results"][0]["decision"]["winner"]
        for flags in ((), ("--classic", "v2"), ("--classic", "v3.4")):
            found = self.classic(*flags)
            self.assertEqual((found["winner"], found["status"]), (winner, "ok"), flags)
            self.assertEqual((found["num_candidates"], found["num_failed"]), (45, 0))

    def test_the_older_name_of_the_method_is_the_same(self):
        answer = self.tune(*SIZE, "--method", "tune_gemm", "--json").json
        self.assertEqual(answer["method"], "classic v3.4")

    def test_a_fast_and_wrong_kernel_wins_and_one_line_says_that_it_is_wrong(self):
        faults = {"ATTUNE_FAKE_FAULTS": str(self.put("faults.tsv", self.LUCKY + self.WRONG))}
        found = self.classic(status=1, env=faults)
        self.assertIn("split_k=1;tile_m=128;tile_n=16", found["winner"])
        self.assertEqual(found["status"], "wrong_result")
        result = self.tune(*SIZE, "--search", "classic", "--tuning_results_file", "r.yaml", status=1, env=faults)
        self.assertEqual(len([line for line in result.stderr.splitlines() if "the winner is wrong" in line]), 1, result)
        self.assertFalse((self.work / "r.yaml").exists(), "a wrong winner is not written")
        race = self.tune(*SIZE, "--json", env=faults).json["results"][0]["decision"]["winner"]
        self.assertNotEqual(race, found["winner"])

    def test_a_candidate_that_crashes_costs_that_candidate_alone(self):
        crash = self.put("faults.tsv", "*\tsplit_k=1;tile_m=16;tile_n=32\tsegfault\trun\tfrom:20\n")
        found = self.classic(env={"ATTUNE_FAKE_FAULTS": str(crash)})
        self.assertEqual((found["num_failed"], found["status"]), (1, "ok"))

    def test_no_table_and_no_journal_know_of_it(self):
        self.put("untuned.csv", SHAPES)
        self.tune("-i", "untuned.csv", "--search", "classic", "--classic", "v2")
        self.assertEqual([path.name for path in self.work.iterdir()], ["untuned.csv"])
        self.assertEqual(self.journal(runs=True), [])

    def test_the_yaml_file_says_how_its_winners_were_found(self):
        self.tune(*SIZE, "--search", "classic", "--tuning_results_file", "r.yaml")
        self.assertIn("'method': 'classic v3.4'", self.read("r.yaml"))
        self.attune("tune", "--gemm_size_file", "r.yaml", "--compare_wo_tuning", *story.FAKE)

    def test_several_devices_share_the_candidates(self):
        one = self.classic("--classic", "v2")["winner"]
        result = self.attune("tune", *SIZE, "--search", "classic", "--classic", "v2", "--json", "--devices", "fake:0,fake:1")
        self.assertEqual(result.json["results"][0]["winner"], one)

    def test_flags_that_do_not_fit_are_refused(self):
        for flags, says in ((("--classic", "v2"), "--classic has no effect"),
                            (("--search", "classic", "--classic", "v3"), "--classic"),
                            (("--method", "aiter"), "--method"),
                            (("--method", "tune_gemm", "--search", "race"), "--method cannot be combined with --search"),
                            (("--search", "classic", "-o", "t.csv"), "writes no table"),
                            (("--search", "classic", "--budget", "1h"), "--budget cannot be combined with --search classic"),
                            (("--search", "classic", "--force"), "never written"),
                            (("--force",), "never written")):
            with self.subTest(flags):
                self.refused("tune", *SIZE, *flags, *story.FAKE, says=says)


class Judgement(story.Story):
    def test_a_winner_must_beat_the_default_by_the_least_gain(self):
        verdict = lambda *flags: self.tune(*SIZE, *flags, "--json").json["results"][0]["decision"]["verdict"]
        self.assertEqual(verdict(), "faster")
        self.assertEqual(verdict("--min-gain", "50"), "tie")
        self.assertEqual(verdict("--min-gain", "0.1"), "faster")

    def test_a_tie_publishes_the_default(self):
        self.tune(*SIZE, "--min-gain", "50", "-o", "t.csv")
        self.assertIn("split_k=1;tile_m=64;tile_n=64", self.rows("t.csv")[0]["kernelName"])

    def test_other_ways_of_judging_do_not_share_results(self):
        self.tune(*SIZE)
        for flags in (("--min-gain", "1"), ("--inputs", "warm"), ("--seed", "5"), ("--errRatio", "0.01")):
            answer = self.tune(*SIZE, *flags, "--json").json
            self.assertEqual(answer["results"][0]["ending"], "decided", flags)

    def test_iters_caps_the_pairs_of_a_finalist(self):
        # A gain that nobody has is looked for in three openings, of as many pairs as --iters allows.
        def pairs(*flags):
            decision = self.tune(*SIZE, "--min-gain", "100", "--json", "--all", *flags).json["results"][0]["decision"]
            return max(finalist["clean_pairs"] for finalist in decision["finalists"])

        self.assertGreaterEqual(pairs(), 72)
        self.assertLessEqual(pairs("--iters", "16"), 16)


class Time(story.Story):
    def test_a_budget_that_is_spent_leaves_shapes_reported_and_untouched(self):
        shapes = "M,N,K,dtype\n" + "".join(f"{m},32,64,fp32\n" for m in range(1, 5))
        self.put("shapes.csv", shapes)
        # Every launch of the default takes a second, whatever the machine: the budget is spent before one is decided.
        slow = self.put("faults.tsv", "*\tsplit_k=1;tile_m=64;tile_n=64\tslow\trun\talways\n")
        answer = self.tune("-i", "shapes.csv", "-o", "t.csv", "--budget", "0.3s", "--json", status=None,
                           env={"ATTUNE_FAKE_FAULTS": str(slow)}).json
        endings = [r["ending"] for r in answer["results"]]
        self.assertIn("cut", endings)
        for result in answer["results"]:
            self.assertEqual("reason" in result, result["ending"] == "cut")
        table = self.work / "t.csv"
        self.assertEqual(len(self.rows("t.csv")) if table.exists() else 0, endings.count("decided"))

    def test_after_a_budget_the_rest_is_tuned_by_the_next_run(self):
        shapes = "M,N,K,dtype\n" + "".join(f"{m},32,48,fp32\n" for m in range(1, 7))
        self.put("shapes.csv", shapes)
        self.tune("-i", "shapes.csv", "-o", "t.csv", "--budget", "0.3s", status=None)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.assertEqual(len(self.rows("t.csv")), 6)

    def test_a_shape_that_takes_longer_than_its_timeout_has_no_row(self):
        result = self.tune(*SIZE, "-o", "t.csv", "--timeout", "0.001s", status=1)
        self.assertRegex(result.stderr, "--timeout (passed|leaves too little time)")
        self.assertFalse((self.work / "t.csv").exists())


class ShapesThatCannotRun(story.Story):
    def test_one_of_ten_terabytes_is_reported_and_the_others_are_tuned(self):
        self.put("shapes.csv", "M,N,K,dtype\n2000000,1000000,64,fp32\n1,32,48,fp32\n1,40,40,fp32\n")
        result = self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.assertIn("does not fit in memory", result.stderr)
        self.assertEqual(len(self.rows("t.csv")), 2)
        self.assertLess(result.max_rss_kib, 2 << 20)

    def test_it_does_not_hide_the_rows_that_are_there(self):
        self.put("shapes.csv", "M,N,K,dtype\n2000000,1000000,64,fp32\n1,32,48,fp32\n")
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        result = self.tune("-i", "shapes.csv", "-o", "t.csv", "--journal", "new.db")
        self.assertIn("1 shape with a row already", result.stdout)

    def test_alone_it_ends_in_failure(self):
        self.tune("-m", "2000000", "-n", "1000000", "-k", "64", status=1)


if __name__ == "__main__":
    story.main()
