# SPDX-License-Identifier: MIT
"""Rounds of two builds in random order, and what their ratios say."""
import math
import random
import statistics
import sys

from served_statistics import Ratio


def run_rounds(builds, questions, rounds, seed):
    """Pairs of times (before, after) by question. `questions`: (name, ask), where ask(build) returns times by question."""
    order, pairs = random.Random(seed), {}
    for number in range(rounds):
        for _, ask in questions:
            times = {}
            for side in order.sample((0, 1), 2):
                times[side] = ask(builds[side])
            for question, time in times[0].items():
                pairs.setdefault(question, []).append((time, times[1][question]))
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return pairs


def ratio_of(pairs):
    """Median of after / before, with the interval by order statistics; the range if there are too few for it."""
    ratios = sorted(after / before for before, after in pairs)
    count = len(ratios)
    below = 0  # How many ratios may be cut off at each end: P(Binomial(count, 1/2) < below) ≤ 2.5 %.
    while sum(math.comb(count, i) for i in range(below + 1)) <= 0.025 * 2**count:
        below += 1
    cut = max(below - 1, 0)
    return Ratio(statistics.median(ratios), ratios[cut], ratios[count - 1 - cut])


def verdict(ratio, most):
    return "met" if ratio.high <= most else "worse" if ratio.low > most else "open"
