# SPDX-License-Identifier: MIT
"""Markdown, JSON and the summary of tests/perf/served."""
import dataclasses

import served_statistics
from served_statistics import MAX_DIFFERENCE, MAX_SLOWER


@dataclasses.dataclass(frozen=True)
class Row:
    """One problem of the table."""

    m: int
    n: int
    k: int
    dtype: str
    bias: bool
    origin: str  # `shipped`, `other`, or the name of the shapes' file.

    @property
    def key(self):
        return self.m, self.n, self.k, self.dtype, self.bias

    @property
    def work(self):
        """Multiplications."""
        return self.m * self.n * self.k

    @property
    def problem(self):
        return f"gemm_a16w16 m={self.m} n={self.n} k={self.k} dtype={self.dtype} bias={int(self.bias)}"

    def __str__(self):
        return f"{self.m}×{self.n}×{self.k} {self.dtype}{' +bias' if self.bias else ''}"


@dataclasses.dataclass
class Run:
    """A run under one condition: the figures, and what each row did (None: not served by its row)."""

    condition: str
    figures: served_statistics.Figures
    served: list
    num_rounds: int
    passes: int


def met(holds, is_noisy):
    """A noisy run shows neither: its intervals are too wide for a slower row, its means are wrong by more than the bar."""
    return "noisy, not judged" if is_noisy else "met" if holds else "**missed**"


def groups_of(rows, indexes):
    """(name, indexes) of what a geometric mean is taken of: each type over all shapes, then each type of each list."""
    origins = list(dict.fromkeys(rows[i].origin for i in indexes))
    groups = {}
    for dtype in dict.fromkeys(rows[i].dtype for i in indexes):
        of_type = [i for i in indexes if rows[i].dtype == dtype]
        groups[dtype] = of_type
        if len(origins) > 1:
            for origin in origins:
                if some := [i for i in of_type if rows[i].origin == origin]:
                    groups[f"{dtype}, {origin}"] = some
    return groups.items()


class Report:
    """`runs`: those that the bars are about; `others`: one under each further condition."""

    def __init__(self, rows, stated, runs, others, unserved):
        self.rows, self.stated, self.runs, self.others, self.unserved = rows, stated, runs, others, unserved
        self.compared = [i for i in range(len(rows)) if i not in unserved]
        self.with_statement = [i for i in self.compared if stated[i]]
        # Without any statement of the tuner each row is taken at its word.
        self.claimed = [i for i in self.with_statement if stated[i].verdict == "faster"] if any(stated) else self.compared
        self.slower = [[i for i in self.claimed if run.served[i].is_slower] for run in runs]

    def means(self):
        """Stated and served geometric means of every group and run."""
        for name, indexes in groups_of(self.rows, self.with_statement):
            ratios = [self.stated[i].ratio for i in indexes]
            for number, run in enumerate(self.runs, 1):
                yield {"group": name, "run": number, "noisy": run.figures.is_noisy, "rows": len(indexes),
                       "stated": served_statistics.stated_mean(ratios), "served": run.figures.geometric_mean(indexes),
                       "served_over_stated": run.figures.served_over_stated(indexes, ratios)}

    def worst(self):
        """(row, run) of the lowest ratio when served among rows called faster."""
        return min(((i, run) for run in self.runs for i in self.claimed), key=lambda at: at[1].served[at[0]].ratio.value,
                   default=None)

    def summary(self):
        parts = [f"{one['group']}, run {one['run']}: stated {one['stated'].value:.3f}, served {one['served'].value:.3f}, served over "
                 f"stated {one['served_over_stated']}" for one in self.means() if "," not in one["group"]]
        called = "called faster" if self.with_statement else "of the table"
        parts.append(f"{len(self.claimed)} rows {called}, slower when served beyond their interval: "
                     f"{', '.join(f'{len(of)} in run {number}' for number, of in enumerate(self.slower, 1))}")
        if worst := self.worst():
            stated = self.stated[worst[0]]
            parts.append(f"worst row {self.rows[worst[0]]}: stated {stated.ratio if stated else 'nothing'}, served "
                         f"{worst[1].served[worst[0]].ratio}")
        return "; ".join(parts)

    def markdown(self):
        return "\n".join([*self.bars(), *self.conditions(), *self.notes(), *self.row_table()])

    def bars(self):
        lines = ["| rows | run | number | stated | served | served over stated | "
                 f"bar: within {MAX_DIFFERENCE:.0%} |".replace("%", " %"), "|---|---|---|---|---|---|---|"]
        lines += [f"| {one['group']} | {one['run']} | {one['rows']} | {one['stated']} | {one['served']} | {one['served_over_stated']} | "
                  f"{met(served_statistics.agrees(one['served_over_stated']), one['noisy'])} |" for one in self.means()]
        if not self.with_statement:
            lines = ["The tuner's statement is not known, so only rows are judged."]
        lines += ["", f"| rows called `faster` | run | slower when served, beyond their interval | bar: at most {MAX_SLOWER} |",
                  "|---|---|---|---|"]
        lines += [f"| {len(self.claimed)} | {number} | {len(of)} | {met(len(of) <= MAX_SLOWER, run.figures.is_noisy)} |"
                  for number, (run, of) in enumerate(zip(self.runs, self.slower), 1)]
        both = set(self.slower[0]).intersection(*self.slower) if self.slower else set()
        if len(self.slower) > 1:
            lines += [f"| {len(self.claimed)} | each | {len(both)} | |"]
        return [*lines, "", self.summary() + ".", ""]

    def conditions(self):
        if not self.others:
            return []
        runs = [self.runs[0], *self.others]
        types = [(name, of) for name, of in groups_of(self.rows, self.compared) if "," not in name]
        lines = [f"| condition | {' | '.join(f'{name}, served' for name, _ in types)} | slower |", f"|---|{'---|' * len(types)}---|"]
        for run in runs:
            means = " | ".join(str(run.figures.geometric_mean(of)) for _, of in types)
            lines.append(f"| {run.condition} | {means} | {sum(run.served[i].is_slower for i in self.claimed)} |")
        return [*lines, ""]

    def notes(self):
        lines = []
        for run in [*self.runs, *self.others]:
            used = len(run.figures.rounds)
            noisy = "; too few undisturbed ones, so these are the less disturbed half: **noisy**" if run.figures.is_noisy else ""
            lines.append(f"- {run.condition}: {used} of {run.num_rounds} rounds used, {run.passes} timed calls of a row in a turn{noisy}.")
        lines += [f"- {self.rows[i]}: not compared, {why}." for i, why in self.unserved.items()]
        return [*lines, ""]

    def row_table(self):
        heads = "".join(f" served, run {number} | default µs | tuned µs |" for number in range(1, len(self.runs) + 1))
        lines = [f"| shape | stated | verdict |{heads}", "|---|---|---|" + "---|" * 3 * len(self.runs)]
        for i in self.compared:
            stated = self.stated[i]
            cells = "".join(f" {run.served[i].ratio}{' **slower**' if run.served[i].is_slower else ''} | {run.served[i].default_us:.1f} | "
                            f"{run.served[i].tuned_us:.1f} |" for run in self.runs)
            lines.append(f"| {self.rows[i]} | {stated.ratio if stated else '–'} | {stated.verdict if stated else '–'} |{cells}")
        return lines

    def json(self):
        def run_json(run):
            return {"condition": run.condition, "rounds": run.num_rounds, "rounds_used": len(run.figures.rounds),
                    "noisy": run.figures.is_noisy, "passes": run.passes,
                    "rows": [{"problem": self.rows[i].problem, **dataclasses.asdict(run.served[i]), "slower": run.served[i].is_slower}
                             for i in self.compared]}
        return {"summary": self.summary(), "noisy": any(run.figures.is_noisy for run in self.runs),
                "means": [{name: dataclasses.asdict(value) if dataclasses.is_dataclass(value) else value for name, value in one.items()}
                          for one in self.means()],
                "bars": {"means": all(served_statistics.agrees(one["served_over_stated"]) for one in self.means()),
                         "slower": all(len(of) <= MAX_SLOWER for of in self.slower)},
                "claimed": len(self.claimed), "slower": [[str(self.rows[i]) for i in of] for of in self.slower],
                "stated": [{"problem": self.rows[i].problem, "origin": self.rows[i].origin, **dataclasses.asdict(self.stated[i])}
                           for i in self.with_statement],
                "runs": [run_json(run) for run in self.runs], "other_conditions": [run_json(run) for run in self.others],
                "not_compared": {str(self.rows[i]): why for i, why in self.unserved.items()}}
