"""Measures the overhead of measuring latency: `python benchmarks/latency.py`, or `python benchmarks/run.py latency`.

Calls an empty function through the loop that times rankers, one call at a time. What one call costs in all, and what
the clock reports for an empty call, is the most that measuring can add. Prints one Markdown table.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from recx.jobs.benchmark.timing import timed

CALLS, ROUNDS = 100_000, 7
AIM = 2_000.0  # nanoseconds


def empty(candidates: object, history: object, requests: object) -> None: ...


def measured() -> Iterator[tuple[str, str, str]]:
    """Yield (what, measured, aim), row by row."""
    arguments = [(None, None, None)] * CALLS
    whole, inside = [], []
    for _ in range(ROUNDS):
        start = time.process_time_ns()  # of this process only, whatever else runs on the machine
        _, spent = timed(empty, arguments)
        whole.append((time.process_time_ns() - start) / CALLS)
        inside.append(np.median(spent))
    yield "measuring the latency of an empty call, all in all", f"{min(whole):.0f} ns", f"< {AIM:,.0f} ns"
    yield "an empty call, as the clock sees it (median)", f"{min(inside):.0f} ns", ""


if __name__ == "__main__":
    print("| what | measured | aim |\n| --- | --- | --- |")
    for row in measured():
        print(f"| {' | '.join(row)} |", flush=True)
