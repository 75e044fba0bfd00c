# SPDX-License-Identifier: MIT
"""Figures, Markdown and JSON of tests/perf/one_thread."""
ROWS = (1, 4, 16, 64)  # M of the products.
TYPES = {"fp32": "torch.float32", "bf16": "torch.bfloat16"}


def with_threads(candidate, threads):
    """The candidate with this number of threads."""
    solver, _, config = candidate.partition(":")
    return solver + ":" + ";".join(f"threads={threads}" if one.startswith("threads=") else one for one in config.split(";"))


def is_slower(ratio):
    """Whether one thread is."""
    return ratio.high < 1 or ratio.value < 0.9


def break_even(ratios):
    """The largest work up to which one thread is never slower (0: none), and the next one (None: it never is); `ratios`: (work, Ratio)."""
    least = min((work for work, ratio in ratios if is_slower(ratio)), default=None)
    return max((work for work, _ in ratios if least is None or work < least), default=0), least


def cell(ratios):
    below, above = break_even(ratios)
    return f"{below:,} … {above:,}" if above else f"{below:,} …" if ratios else ""


def markdown(results, device, gap_ms):
    pause = f"{gap_ms:g} ms apart" if gap_ms else "back to back"
    lines = [f"{device}, calls {pause}.", "", "| solver | type | " + " | ".join(f"M = {m}" for m in ROWS) + " | of all | noisy |",
             "|---|---" + "|---" * (len(ROWS) + 2) + "|"]
    for solver, (served, is_noisy) in results.items():
        for dtype in TYPES:
            of_type = [(row, ratio) for row, _, _, ratio in served if row.dtype == dtype]
            cells = [cell([(row.work, ratio) for row, ratio in of_type if m in (row.m, 0)]) for m in (*ROWS, 0)]
            if of_type:
                lines.append(f"| {solver} | {dtype} | {' | '.join(cells)} | {'yes' if is_noisy else 'no'} |")
    return "\n".join(lines)


def as_json(results, device):
    return {"device": device, "solvers": {solver: {"noisy": is_noisy, "products": [
        {"problem": row.problem, "work": row.work, "one_us": one, "all_us": every,
         "ratio": [ratio.value, ratio.low, ratio.high]} for row, one, every, ratio in served]}
        for solver, (served, is_noisy) in results.items()}}
