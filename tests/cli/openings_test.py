# SPDX-License-Identifier: MIT
"""A kernel that is fast in one worker only, by luck, must not be called faster.

The fake solver's candidate with the planted `fast` takes 0.7 of its time in the plan that was prepared first, and its usual
time in all later ones: today's worker is lucky, the next is not."""
import story

SHAPE = "M,N,K\n64,64,4\n"  # here the default config is the best
LUCKY = "split_k=1;tile_m=32;tile_n=64"
GAIN = 1 / 0.7


class Openings(story.Story):
    def tuned(self, when, *flags):
        """The published kernel and the decision."""
        faults = self.put("faults.tsv", f"*\t{LUCKY}\tfast\tprepare\t{when}\n")
        self.put("shapes.csv", SHAPE)
        self.tune("-i", "shapes.csv", "-o", "t.csv", *flags, env={"ATTUNE_FAKE_FAULTS": str(faults)})
        decisions = [payload for kind, payload in self.journal() if kind == "decision"]
        return self.rows("t.csv")[0]["kernelName"], decisions[-1]

    def test_luck_in_one_worker_is_no_gain(self):
        for isolation in ("process", "none"):
            with self.subTest(isolation):
                lucky = self.folder / f"lucky-{isolation}"
                kernel, decision = self.tuned(f"once:{lucky}", "--isolation", isolation, "--all")
                self.assertTrue(lucky.exists(), "the candidate was lucky once")
                self.assertEqual(decision["verdict"], "tie", "it won the finals, and lost the confirm")
                self.assertIn("tile_m=64;tile_n=64", kernel)
                self.assertEqual(decision["num_openings"], 3)

    def test_a_gain_in_every_worker_is_found(self):
        kernel, decision = self.tuned("always")
        self.assertIn(LUCKY, kernel)
        self.assertEqual(decision["verdict"], "faster")
        self.assertAlmostEqual(decision["ratio"], GAIN * 0.9, delta=0.15)
        self.assertEqual(decision["num_openings"], 3)


if __name__ == "__main__":
    story.main()
