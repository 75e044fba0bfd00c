# SPDX-License-Identifier: MIT
"""Figures of tests/perf/served: what was served, beside what the tuner stated."""
import dataclasses
import json
import math
import random
import statistics

MAX_OTHERS = 0.05  # Share of the processors; a round in which others used more is dropped.
MIN_ROUNDS = 6  # Undisturbed ones; with fewer the run is noisy.
REPLICATES = 1000
NORMAL_95 = 1.959964
MAX_DIFFERENCE = 0.03  # Of stated and served geometric means.
MAX_SLOWER = 2  # Rows called faster that may be slower when served.


@dataclasses.dataclass(frozen=True)
class Ratio:
    """Speed over the default, with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self):
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclasses.dataclass(frozen=True)
class Stated:
    """What the tuner says of a row."""

    ratio: Ratio
    verdict: str
    winner: str
    default: str


def key_of(problem):
    """What tells rows apart, of a problem's text: M, N, K, type and whether there is a bias."""
    cells = dict(word.split("=") for word in problem.split()[1:])
    return int(cells["m"]), int(cells["n"]), int(cells["k"]), cells["dtype"], cells.get("bias", "0") == "1"


def statements_of(paths):
    """What `attune tune --json` states in these files, by the row's key."""
    stated = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)["results"]
        for decision in (result["decision"] for result in results if result.get("decision")):
            stated[key_of(decision["problem"])] = Stated(Ratio(decision["speedup"], *decision["interval"]), decision["verdict"],
                                                         decision["winner"], decision["default"])
    return stated


@dataclasses.dataclass(frozen=True)
class Served:
    """What a row did when it was served."""

    tuned_us: float
    default_us: float
    ratio: Ratio

    @property
    def is_slower(self):
        return self.ratio.high < 1


def is_clean(one):
    """Whether no other program disturbed a round."""
    return one.others <= MAX_OTHERS


def clean_rounds(openings):
    """Rounds that no other program disturbed, by opening; if they are too few, the less disturbed half of all. Returns
    (openings, noisy)."""
    shares = sorted(one.others for rounds in openings for one in rounds)
    is_noisy = sum(share <= MAX_OTHERS for share in shares) < MIN_ROUNDS
    most = shares[(len(shares) - 1) // 2] if is_noisy else MAX_OTHERS
    kept = [[one for one in rounds if one.others <= most] for rounds in openings]
    return [rounds for rounds in kept if rounds], is_noisy


def log_ratio(rounds, layer):
    """ln of the ratio of the medians, default over tuned."""
    return math.log(statistics.median(one.times["default"][layer] for one in rounds) /
                    statistics.median(one.times["tuned"][layer] for one in rounds))


def interval(values):
    """95 % of the values, between quantiles."""
    ordered = sorted(values)
    last = len(ordered) - 1
    return ordered[math.floor(0.025 * last)], ordered[math.ceil(0.975 * last)]


def draw(openings, source):
    """Rounds drawn with replacement: openings first, as a kernel's time differs from one opening to the next."""
    drawn = []
    for _ in openings:
        rounds = source.choice(openings)
        drawn += source.choices(rounds, k=len(rounds))
    return drawn


class Figures:
    """Ratios of one run, with bootstrap intervals; `seed` fixes the replicates."""

    def __init__(self, openings, layers, seed=1):
        openings, self.is_noisy = clean_rounds(openings)
        self.rounds = [one for rounds in openings for one in rounds]
        source = random.Random(seed)
        samples = [draw(openings, source) for _ in range(REPLICATES)]
        self.replicates = {layer: [log_ratio(sample, layer) for sample in samples] for layer in layers}
        self.logs = {layer: log_ratio(self.rounds, layer) for layer in layers}

    def served(self, layer):
        low, high = interval(self.replicates[layer])
        medians = {side: statistics.median(one.times[side][layer] for one in self.rounds) for side in ("tuned", "default")}
        return Served(medians["tuned"], medians["default"],
                      Ratio(math.exp(self.logs[layer]), math.exp(low), math.exp(high)))

    def mean_replicates(self, layers):
        return [statistics.fmean(of) for of in zip(*(self.replicates[layer] for layer in layers))]

    def geometric_mean(self, layers):
        low, high = interval(self.mean_replicates(layers))
        return Ratio(math.exp(statistics.fmean(self.logs[layer] for layer in layers)), math.exp(low), math.exp(high))

    def served_over_stated(self, layers, stated, seed=1):
        """Ratio of the geometric means; the interval holds the noise of both."""
        mean, error = log_mean(stated)
        source = random.Random(seed)
        low, high = interval([one - mean + source.gauss(0, error) for one in self.mean_replicates(layers)])
        value = statistics.fmean(self.logs[layer] for layer in layers) - mean
        return Ratio(math.exp(value), math.exp(low), math.exp(high))


def log_mean(ratios):
    """Mean of the logarithms and its standard error, from the ratios' own intervals (normal in the logarithms)."""
    errors = [math.log(one.high / one.low) / (2 * NORMAL_95) for one in ratios]
    return statistics.fmean(math.log(one.value) for one in ratios), math.sqrt(sum(e * e for e in errors)) / len(ratios)


def stated_mean(ratios):
    mean, error = log_mean(ratios)
    return Ratio(math.exp(mean), math.exp(mean - NORMAL_95 * error), math.exp(mean + NORMAL_95 * error))


def agrees(ratio):
    """Whether served and stated geometric means differ by at most 3 %."""
    return abs(ratio.value - 1) <= MAX_DIFFERENCE
